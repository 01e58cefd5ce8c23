#include "reference/attention_states.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "reference/contract/attention_checks.h"
#include "reference/contract/numerics.h"
#include "reference/elementary.h"

namespace lockstep::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// N11: the natural logarithm of l * 2^(m - shift).
float LogSumExp(float l, const Base& base) {
  if (l == 0.0f) return -kInfinity;
  const Log2Split split =
      SplitForLog2(l * std::ldexp(1.0f, -static_cast<int>(base.shift)));
  return ((base.m + split.k) + Log2Core(split.z)) * static_cast<float>(kLn2) +
         0.0f;
}

// N11: the sum of weights; the sink's is added after those of the keys.
float WithSink(const std::optional<Term>& sink, float l, const Base& base) {
  return sink ? l + sink->Weight(base) : l;
}

// N22: x * 2^exponent, where the exponent is an integer <= 0, rounded once.
// binary64 holds the product; from 2^-300 on it is zero for any f32.
float ScaledOnce(float x, float exponent) {
  const int power = static_cast<int>(std::max(exponent, -300.0f));
  return static_cast<float>(std::ldexp(static_cast<double>(x), power));
}

struct RowAt {
  int64_t b, h, i;
};

// N24: the states of the parts in which the row sees a key. `nan` is set if one
// of them makes the row NaN.
std::vector<Sums> Load(std::span<const AttentionStates> parts, const RowAt& at,
                       float shift, bool* nan) {
  const auto [b, h, i] = at;
  std::vector<Sums> rows;
  for (const AttentionStates& part : parts) {
    const float l = part.l(b, h, i);
    if (l == -kInfinity) continue;
    Sums sums{{part.m(b, h, i), shift}, l, {}};
    *nan = *nan || std::isnan(sums.base.m);
    for (int64_t c = 0; c < part.acc.shape[3]; ++c) {
      sums.acc.push_back(part.acc(b, h, i, c));
    }
    rows.push_back(std::move(sums));
  }
  return rows;
}

// Joins one row. Returns whether it needs `small` and there is none.
bool JoinRow(const AttentionForwardProblem& problem,
             const std::optional<Term>& sink,
             std::span<const AttentionStates> parts,
             std::span<const AttentionStates> small, const RowAt& at,
             std::span<float> o, float* lse) {
  bool nan = sink && sink->IsBad();
  const float shift = TakesFixedPath(problem, sink) ? 0.0f : kWeightShift;
  const std::vector<Sums> seen = Load(parts, at, shift, &nan);
  if (nan) return FinishNaNRow(o, lse), false;
  if (seen.empty()) return FinishEmptyRow(sink, o, lse), false;
  // N13: all visible scores are -inf.
  const auto nothing = [](const Sums& part) {
    return part.base.m == -kInfinity;
  };
  const bool all = std::all_of(seen.begin(), seen.end(), nothing);
  if (all) return FinishNaNRow(o, lse), false;
  const Sums sums = AddParts(seen);

  bool missing = false;
  const auto again = [&] {
    missing = small.empty();
    if (!missing) return AddParts(Load(small, at, kRedoShift, &nan));
    return Sums{{0.0f, kRedoShift}, 1.0f, std::vector<float>(o.size(), kNaN)};
  };
  FinishRow(problem.lane, sink, sums, again, o, lse);
  return missing;
}

Status CheckParts(const AttentionForwardProblem& problem,
                  const TensorView<const float, 1>& sink,
                  std::span<const AttentionStates> parts,
                  std::span<const AttentionStates> small,
                  const AttentionForwardOutputs& outputs) {
  Status status = Validate(problem);
  if (status.ok()) status = checks::CheckAttentionOutputs(problem, outputs);
  if (status.ok()) status = checks::CheckSink(problem, sink);
  if (!status.ok()) return status;
  if (!small.empty() && small.size() != parts.size()) {
    return Status::Error(
        "there are " + std::to_string(small.size()) +
        " states with small weights; want none, or one for each of " +
        std::to_string(parts.size()) + " parts");
  }
  for (const auto& states : {parts, small}) {
    for (const AttentionStates& one : states) {
      status = CheckStates(problem, one);
      if (!status.ok()) return status;
    }
  }
  return status;
}

}  // namespace

Term::Term(float score) : u(score), n(std::nearbyint(score)) {}

float Term::Weight(const Base& base) const {
  if (u == -kInfinity) return 0.0f;
  const float e = (n - base.m) + base.shift;
  if (!(e >= kMinExponent)) return 0.0f;
  return Exp2Core(u - n) * std::ldexp(1.0f, static_cast<int>(e));
}

bool Term::IsBad() const { return !(u < kInfinity); }

std::optional<Term> SinkOf(const AttentionForwardProblem& problem,
                           const TensorView<const float, 1>& sink,
                           int64_t head) {
  if (!problem.sink) return std::nullopt;
  return Term(sink(head) * static_cast<float>(kLog2E));
}

bool TakesFixedPath(const AttentionForwardProblem& problem,
                    const std::optional<Term>& sink) {
  return problem.softcap && !problem.v_scales.by_key() &&
         static_cast<float>(*problem.softcap * kLog2E) <= kFixedPathBound &&
         (!sink || sink->n <= kFixedPathBound);
}

Sums AddParts(std::span<const Sums> parts) {
  Sums sums{parts[0].base, 0.0f, std::vector<float>(parts[0].acc.size())};
  for (const Sums& part : parts) {
    sums.base.m = std::max(sums.base.m, part.base.m);
  }
  for (const Sums& part : parts) {
    const float down = part.base.m - sums.base.m;
    sums.l += ScaledOnce(part.l, down);
    for (size_t c = 0; c < sums.acc.size(); ++c) {
      sums.acc[c] += ScaledOnce(part.acc[c], down);
    }
  }
  return sums;
}

void FinishNaNRow(std::span<float> o, float* lse) {
  std::fill(o.begin(), o.end(), kNaN);
  *lse = kNaN;
}

void FinishEmptyRow(const std::optional<Term>& sink, std::span<float> o,
                    float* lse) {
  const Base base{sink ? sink->n : -kInfinity, kWeightShift};
  *lse = LogSumExp(WithSink(sink, 0.0f, base), base);
  std::fill(o.begin(), o.end(), 0.0f);
}

void FinishRow(Lane lane, const std::optional<Term>& sink, const Sums& sums,
               const std::function<Sums()>& small, std::span<float> o,
               float* lse, float value_scale) {
  const float l = WithSink(sink, sums.l, sums.base);
  *lse = LogSumExp(l, sums.base);

  const auto finite = [](float sum) { return std::isfinite(sum); };
  const bool redo = !std::all_of(sums.acc.begin(), sums.acc.end(), finite);
  const Sums again = redo ? small() : sums;
  const float again_l = WithSink(sink, again.l, again.base);

  for (size_t c = 0; c < o.size(); ++c) {
    const float acc = sums.acc[c];
    const float x = finite(acc) ? acc / l : again.acc[c] / again_l;
    o[c] = FinishElement(x * value_scale, lane);
  }
}

Result<bool> JoinStates(const AttentionForwardProblem& problem,
                        const TensorView<const float, 1>& sink,
                        std::span<const AttentionStates> parts,
                        std::span<const AttentionStates> small,
                        const AttentionForwardOutputs& outputs) {
  const Status valid = CheckParts(problem, sink, parts, small, outputs);
  if (!valid.ok()) return valid;
  bool missing = false;
  std::vector<float> o(static_cast<size_t>(problem.value_dim));
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.q_heads; ++h) {
      const std::optional<Term> own = SinkOf(problem, sink, h);
      for (int64_t i = 0; i < problem.q_len; ++i) {
        missing |= JoinRow(problem, own, parts, small, {b, h, i}, o,
                           &outputs.lse(b, h, i));
        for (size_t c = 0; c < o.size(); ++c) {
          StoreElement(outputs.o, o[c], b, h, i, c);
        }
      }
    }
  }
  return missing;
}

}  // namespace lockstep::reference
