// The fills caps, drift and low: kernels that are wrong only in a corner are
// found with them, and pass with the default fill, which never goes there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "reference/mask.h"
#include "tests/verify/judge_line.h"
#include "verify/base/elements.h"
#include "verify/case/attention_forward/case.h"
#include "verify/inputs/attention_forward.h"
#include "verify/ops/envelopes.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kTile = 64;

// An online kernel in tiles of 64 keys: exact but for exp and rescaled sums in
// f32, whose range is what a wrong maximum leaves.
struct Kernel {
  double clip = kInfinity;    // |score| is cut to so many caps
  double start = -kInfinity;  // of the running maximum
  enum class Maximum : uint8_t {
    kRunning,
    kFirstTile,  // the first tile's serves all tiles
    kMaskedToo,  // of the keys that the row does not see, too
  } maximum = Maximum::kRunning;
  // Keys behind the last one, up to a whole tile, are set to -inf before the
  // cap, come back as -cap and meet the values of the tile before.
  bool padded_through_cap = false;
};

struct RowResult {
  std::vector<double> o;
  double lse = 0;
};

class KernelRun {
 public:
  KernelRun(const AttentionForwardData& data, const Kernel& kernel)
      : data_(data), p_(data.problem), kernel_(kernel) {}

  RowResult Row(int64_t b, int64_t h, int64_t i) const {
    std::vector<double> s(static_cast<size_t>(p_.kv_len));
    std::vector<bool> seen(s.size());
    for (int64_t j = 0; j < p_.kv_len; ++j) {
      const auto at = static_cast<size_t>(j);
      s[at] = Score(b, h, i, j);
      seen[at] = reference::IsVisible(p_, data_.inputs, b, h, i, j);
    }
    double max = kernel_.start, l = 0;
    std::vector<double> acc(static_cast<size_t>(p_.value_dim));
    for (int64_t from = 0; from < p_.kv_len; from += kTile) {
      const int64_t to = std::min(from + kTile, p_.kv_len);
      double next = max;
      for (int64_t j = from; j < to; ++j) {
        const auto at = static_cast<size_t>(j);
        if (kernel_.maximum == Kernel::Maximum::kFirstTile && from > 0) break;
        if (seen[at] || kernel_.maximum == Kernel::Maximum::kMaskedToo) {
          next = std::max(next, s[at]);
        }
      }
      if (next == -kInfinity) continue;
      const double rescale = Exp(max - next);
      max = next;
      l = Narrow(l * rescale);
      for (double& sum : acc) sum = Narrow(sum * rescale);
      for (int64_t j = from; j < to; ++j) {
        const auto at = static_cast<size_t>(j);
        if (!seen[at]) continue;
        const double weight = Exp(s[at] - max);
        l += weight;
        for (size_t c = 0; c < acc.size(); ++c) {
          acc[c] += weight * Value(data_.inputs.v, {b, h / p_.group(), j,
                                                    static_cast<int64_t>(c)});
        }
      }
    }
    if (kernel_.padded_through_cap) AddPadding(b, h, max, &l, &acc);
    for (double& sum : acc) sum /= l;
    return {acc, max + std::log(l)};
  }

 private:
  void AddPadding(int64_t b, int64_t h, double max, double* l,
                  std::vector<double>* acc) const {
    const double weight = Exp(-p_.softcap.value_or(kInfinity) - max);
    for (int64_t j = p_.kv_len; j % kTile != 0; ++j) {
      *l += weight;
      for (size_t c = 0; c < acc->size() && j >= kTile; ++c) {
        (*acc)[c] +=
            weight * Value(data_.inputs.v, {b, h / p_.group(), j - kTile,
                                            static_cast<int64_t>(c)});
      }
    }
  }

  static double Narrow(double x) {
    return static_cast<double>(static_cast<float>(x));
  }
  static double Exp(double x) {
    return static_cast<double>(std::exp(static_cast<float>(x)));
  }
  static double Value(const LaneView& view, const std::array<int64_t, 4>& at) {
    return ElementValue(view.lane, ElementBits(view, at));
  }

  double Score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t d = 0; d < p_.head_dim; ++d) {
      sum += Value(data_.inputs.q, {b, h, i, d}) *
             Value(data_.inputs.k, {b, h / p_.group(), j, d});
    }
    const double z = sum * p_.scale;
    if (!p_.softcap) return z;
    const double caps = z / *p_.softcap;
    return *p_.softcap *
           std::tanh(std::clamp(caps, -kernel_.clip, kernel_.clip));
  }

  const AttentionForwardData& data_;
  const AttentionForwardProblem& p_;
  const Kernel& kernel_;
};

// Elements of o and lse outside the profile's envelope.
int64_t Outside(const std::string& line, const char* profile,
                const Kernel& kernel) {
  const auto c = ParseCase("attention_forward " + line);
  EXPECT_TRUE(c.ok()) << line << ": " << c.message();
  const auto data = Materialise(c.value(), {});
  EXPECT_TRUE(data.ok()) << data.message();
  const auto trial = TrialRowOf(c.value())->open(c.value(), {});
  EXPECT_TRUE(trial.ok()) << trial.message();
  const Result<OutputSet> outputs = trial.value()->Allocate(0);
  EXPECT_TRUE(outputs.ok()) << outputs.message();
  const KernelRun run(data.value(), kernel);
  std::vector<int64_t> rows(static_cast<size_t>(trial.value()->rows()));
  std::iota(rows.begin(), rows.end(), 0);
  const AttentionForwardProblem& p = data->problem;
  for (const int64_t row : rows) {
    const int64_t b = row / (p.q_heads * p.q_len),
                  h = row / p.q_len % p.q_heads, i = row % p.q_len;
    const RowResult result = run.Row(b, h, i);
    const auto& tensors = outputs->tensors;
    for (size_t channel = 0; channel < result.o.size(); ++channel) {
      SetElement(tensors[0].view, {b, h, i, static_cast<int64_t>(channel)},
                 BitsOf(p.lane, result.o[channel]));
    }
    const auto& lse = tensors[1].view;
    SetElement(lse, LineIndex(trial.value()->outputs()[1], row, 0),
               BitsOf(lse.lane, result.lse));
  }
  const auto allowed = trial.value()->envelopes().Envelope(
      LoadProfile(profile).value(), rows, 1);
  int64_t outside = 0;
  for (const EnvelopeResult& result : allowed->Judge(outputs.value())) {
    EXPECT_GT(result.expected, 0);
    outside += result.outside;
  }
  return outside;
}

struct Arithmetic {
  const char* profile;
  const char* lane;
};
constexpr Arithmetic kArithmetics[] = {{"cpu-f32", ""},
                                       {"flash-bf16", " lane=bf16 p=bf16"}};

// `defect` passes on the default fill and is found on `fill`, where the kernel
// without it passes.
void ExpectFoundOnlyBy(const std::string& fill, const std::string& shape,
                       const Kernel& defect) {
  for (const Arithmetic& a : kArithmetics) {
    const std::string line = shape + a.lane;
    SCOPED_TRACE(std::string(a.profile) + ": " + line);
    EXPECT_EQ(Outside(line, a.profile, defect), 0) << "with the default fill";
    EXPECT_EQ(Outside(line + fill, a.profile, {}), 0) << "a correct kernel";
    EXPECT_GT(Outside(line + fill, a.profile, defect), 0) << "not found";
  }
}

TEST(CornerFills, ACapWrongInSaturationIsSeen) {
  for (const char* cap : {"5", "30", "50"}) {
    ExpectFoundOnlyBy(" fill=normal:1+caps:0.1,20",
                      "sq=40 skv=100 d=16 seed=1 cap=" + std::string(cap),
                      {.clip = 4});
  }
}

TEST(CornerFills, AMaximumThatStartsAtAFiniteSentinelIsSeen) {
  ExpectFoundOnlyBy(" fill=normal:1+low:1e5,16", "sq=40 skv=100 d=16 seed=2",
                    {.start = -5e4});
}

TEST(CornerFills, AMaximumOfAnotherTileIsSeen) {
  ExpectFoundOnlyBy(" fill=normal:1+drift:200,150", "sq=40 skv=200 d=16 seed=3",
                    {.maximum = Kernel::Maximum::kFirstTile});
}

TEST(CornerFills, AMaximumOverMaskedKeysIsSeen) {
  ExpectFoundOnlyBy(" fill=normal:1+drift:200,150",
                    "sq=40 skv=200 d=16 mask=causal seed=4",
                    {.maximum = Kernel::Maximum::kMaskedToo});
}

// Kernels with defects that were live in public ones, on the lines for foreign
// kernels that are there for them.
TEST(ForeignCases, LinesFindTheDefectTheyAreThereFor) {
  for (const Arithmetic& a : kArithmetics) {
    const std::string lane = *a.lane == 0 ? "f32" : "bf16";
    const auto file =
        ReadCaseFile("data/cases/foreign-attention-" + lane + ".cases", Ops());
    ASSERT_TRUE(file.ok()) << file.message();
    int padded = 0, low = 0;
    for (const CaseFileEntry& entry : file->entries) {
      const AttentionForwardCase& c =
          entry.sequence[0].Get<AttentionForwardCase>();
      const std::string line =
          MinimalLine(entry.sequence)
              .substr(std::string("attention_forward ").size());
      const FillKind fill = c.fill.back().kind;
      const int64_t work = c.q_heads * c.q_len * c.kv_len * c.head_dim;
      if (c.softcap && c.softcap->value <= 5 && fill == FillKind::kNormal &&
          c.mask.kind == MaskExpr::Kind::kFull && c.q_len >= 64 &&
          c.kv_len % kTile != 0 && c.batch == 1 && work < 3000000) {
        ++padded;
        EXPECT_GT(Outside(line, a.profile, {.padded_through_cap = true}), 0)
            << line;
      }
      if (fill == FillKind::kLow && c.fill.back().a.value == 1e5) {
        ++low;
        EXPECT_GT(Outside(line, a.profile, {.start = -5e4}), 0) << line;
      }
    }
    EXPECT_GE(padded, 8) << a.profile;
    EXPECT_GE(low, 2) << a.profile;
  }
}

}  // namespace
}  // namespace lockstep::verify
