#include "verify/emulator/attention_merge/kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/emulator/attention_merge/arithmetic.h"
#include "verify/emulator/attention_merge/parts.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

// Where a wrong maximum starts.
constexpr float kFiniteStart = -10000;

// What came of the parts of a row, o not yet rounded to its lane.
struct Merged {
  std::vector<float> o;
  float lse = -kFloatInf;
};

class RowMerge {
 public:
  RowMerge(const MergeArithmetic& arithmetic, const MergeVariant& variant,
           MergeFault fault, std::vector<RowPart> all, float head_max,
           std::vector<float> start)
      : a_(arithmetic),
        variant_(variant),
        fault_(fault),
        all_(std::move(all)),
        head_max_(head_max),
        start_(std::move(start)) {
    for (const RowPart& part : all_) {
      if (part.seen) seen_.push_back(part);
    }
  }

  Merged Run() const {
    if (seen_.empty()) return Empty();
    if (Is(MergeFault::kEmptyFirstNan) && !all_[0].seen) return NaN();
    Merged merged;
    switch (variant_.form) {
      case MergeForm::kTwoPass:
      case MergeForm::kOfMerged:
      case MergeForm::kDivided:
        merged = OfMaximum();
        break;
      case MergeForm::kOnline:
        merged = Online();
        break;
      case MergeForm::kPairs:
      case MergeForm::kDifferences:
        merged = Pairs();
        break;
      case MergeForm::kTree:
        merged = Tree();
        break;
    }
    if (variant_.reads_empty || Is(MergeFault::kEmptyRead)) AddEmpty(&merged);
    return merged;
  }

 private:
  bool Is(MergeFault fault) const { return fault_ == fault; }

  Merged NaN() const {
    return {std::vector<float>(start_.size(), kFloatNaN), kFloatNaN};
  }

  // No part saw a key.
  Merged Empty() const {
    if (Is(MergeFault::kEmptyNan) || Is(MergeFault::kEmptyFirstNan)) {
      return NaN();
    }
    Merged merged{std::vector<float>(start_.size(), 0.0f), -kFloatInf};
    switch (variant_.numeric.empty_row) {
      case EmptyRow::kZeroPosInf:
        merged.lse = kFloatInf;
        break;
      case EmptyRow::kZeroZero:
        merged.lse = 0;
        break;
      default:
        break;
    }
    if (Is(MergeFault::kEmptyZeroLse)) merged.lse = 0;
    if (Is(MergeFault::kEmptyLseFinite)) {
      merged.lse = std::numeric_limits<float>::lowest();
    }
    if (Is(MergeFault::kEmptyMean)) {
      for (const RowPart& part : all_) {
        for (size_t c = 0; c < part.o.size(); ++c) {
          merged.o[c] += part.o[c] / static_cast<float>(all_.size());
        }
      }
    }
    if (variant_.reads_empty) AddEmpty(&merged);
    return merged;
  }

  // Zero times an o that must not be read.
  void AddEmpty(Merged* merged) const {
    for (const RowPart& part : all_) {
      for (size_t c = 0; !part.seen && c < part.o.size(); ++c) {
        merged->o[c] += 0.0f * part.o[c];
      }
    }
  }

  float Maximum() const {
    using enum MaxPolicy::Kind;
    if (Is(MergeFault::kNoMax) || variant_.numeric.max.kind == kNone) return 0;
    if (variant_.numeric.max.kind == kFixed) {
      return static_cast<float>(variant_.numeric.max.value);
    }
    if (Is(MergeFault::kMaxOfFirst)) return all_[0].lse;
    if (Is(MergeFault::kMaxOfHead)) return head_max_;
    float m = -kFloatInf;
    if (Is(MergeFault::kMaxFromZero)) m = 0;
    if (Is(MergeFault::kMaxFromFinite)) m = kFiniteStart;
    for (const RowPart& part : seen_) m = std::max(m, part.lse);
    return m;
  }

  // The part whose lse makes the weight of part n.
  size_t WeightOf(size_t n) const {
    if (Is(MergeFault::kWeightOfPrevious) && n > 0) return n - 1;
    if (Is(MergeFault::kWeightsReversed)) return seen_.size() - 1 - n;
    return n;
  }

  float DividedBy(float sum) const {
    if (Is(MergeFault::kNotNormalised)) return 1;
    if (Is(MergeFault::kDividedByCount)) {
      return static_cast<float>(seen_.size());
    }
    return Is(MergeFault::kNormalisedTwice) ? sum * sum : sum;
  }

  float LseOf(float m, float sum) const {
    if (Is(MergeFault::kLseIsMax)) return m;
    if (Is(MergeFault::kLseOfLast)) return seen_.back().lse;
    if (Is(MergeFault::kLseOfCount)) {
      sum = static_cast<float>(seen_.size());
    }
    return a_.Lse(m, sum);
  }

  // All weights by one maximum.
  Merged OfMaximum() const {
    const float m = Maximum();
    std::vector<float> weights;
    float sum = 0;
    for (size_t n = 0; n < seen_.size(); ++n) {
      const float w = Is(MergeFault::kUnweighted)
                          ? 1
                          : a_.Weight(seen_[WeightOf(n)].lse, m);
      weights.push_back(w);
      sum = a_.AddWeight(sum, w);
    }
    if (Is(MergeFault::kSinkAgain)) sum = a_.AddWeight(sum, a_.Weight(0, m));
    const float lse = LseOf(m, sum);
    const float divisor = DividedBy(sum);
    Merged merged{start_, lse};
    for (size_t n = 0; n < seen_.size(); ++n) {
      float w = weights[n];
      if (variant_.form == MergeForm::kOfMerged) {
        w = a_.Weight(seen_[WeightOf(n)].lse, lse);
      }
      if (variant_.form == MergeForm::kDivided) w = a_.Divide(w, divisor);
      a_.AddProducts(a_.Rounded(w), seen_[n].o, &merged.o);
    }
    if (variant_.form == MergeForm::kTwoPass) {
      for (float& x : merged.o) x = a_.Divide(x, divisor);
    }
    return merged;
  }

  Merged Online() const {
    float m = -kFloatInf;
    float sum = 0;
    Merged merged{start_, 0};
    for (const RowPart& part : seen_) {
      const float top = std::max(m, part.lse);
      const float factor = m == -kFloatInf ? 0 : a_.Weight(m, top);
      const auto rescale = [&] {
        if (!Is(MergeFault::kSumNotRescaled)) sum = sum * factor;
        if (Is(MergeFault::kRescaleMissing)) return;
        for (float& x : merged.o) x = a_.State(x * factor);
      };
      if (!Is(MergeFault::kRescaleLate) && m != -kFloatInf) rescale();
      const float w = a_.Weight(part.lse, top);
      sum = a_.AddWeight(sum, w);
      a_.AddProducts(a_.Rounded(w), part.o, &merged.o);
      if (Is(MergeFault::kRescaleLate) && m != -kFloatInf) rescale();
      m = std::isnan(part.lse) ? part.lse : top;
    }
    const float divisor = DividedBy(sum);
    for (float& x : merged.o) x = a_.Divide(x, divisor);
    merged.lse = LseOf(m, sum);
    return merged;
  }

  // o - sigmoid(b - a) (o - o_b), lse - log(sigmoid(a - b)).
  Merged ByDifference(const Merged& a, const Merged& b) const {
    const float x = b.lse - a.lse;
    // Weight(y, 0) is base^y.
    const float w = 1.0f / a_.AddWeight(1.0f, a_.Weight(-x, 0));
    const float smaller = a_.Weight(-std::fabs(x), 0);
    const float log = a_.Lse(0, a_.AddWeight(1.0f, smaller));
    Merged merged{std::vector<float>(a.o.size()),
                  a.lse + (std::max(x, 0.0f) + log)};
    if (std::isnan(x)) merged.lse = kFloatNaN;
    for (size_t c = 0; c < a.o.size(); ++c) {
      const float step = w * (a.o[c] - b.o[c]);
      merged.o[c] = a_.State(a.o[c] - step);
    }
    return merged;
  }

  // Two into one, normalised again.
  Merged Two(const Merged& a, const Merged& b) const {
    if (variant_.form == MergeForm::kDifferences) return ByDifference(a, b);
    const float m = std::isnan(a.lse) ? a.lse : std::max(a.lse, b.lse);
    const float wa = a_.Weight(a.lse, m);
    const float wb = a_.Weight(b.lse, m);
    const float sum = a_.AddWeight(wa, wb);
    Merged merged{std::vector<float>(a.o.size(), 0.0f), a_.Lse(m, sum)};
    a_.AddProducts(a_.Divide(wa, sum), a.o, &merged.o);
    a_.AddProducts(a_.Divide(wb, sum), b.o, &merged.o);
    for (float& x : merged.o) x = a_.State(x);
    if (Is(MergeFault::kPairLseUnmerged)) merged.lse = b.lse;
    if (Is(MergeFault::kPairLseMax)) merged.lse = m;
    return merged;
  }

  static Merged Alone(const RowPart& part) { return {part.o, part.lse}; }

  Merged Pairs() const {
    std::vector<RowPart> parts = seen_;
    if (Is(MergeFault::kPairEmptyReplaces)) {
      parts.clear();
      for (const RowPart& part : all_) {
        if (!part.seen) parts.clear();
        if (part.seen) parts.push_back(part);
      }
      if (parts.empty()) {
        return {std::vector<float>(start_.size(), 0.0f), -kFloatInf};
      }
    }
    Merged merged = Alone(parts[0]);
    for (size_t n = 1; n < parts.size(); ++n) {
      merged = Two(merged, Alone(parts[n]));
    }
    return merged;
  }

  Merged Tree() const {
    std::vector<Merged> level;
    for (const RowPart& part : seen_) level.push_back(Alone(part));
    while (level.size() > 1) {
      std::vector<Merged> next;
      for (size_t n = 0; n + 1 < level.size(); n += 2) {
        next.push_back(Two(level[n], level[n + 1]));
      }
      if (level.size() % 2 == 1) next.push_back(level.back());
      level = std::move(next);
    }
    return level[0];
  }

  const MergeArithmetic& a_;
  const MergeVariant& variant_;
  MergeFault fault_;
  std::vector<RowPart> all_;
  std::vector<RowPart> seen_;
  float head_max_;
  std::vector<float> start_;
};

// Largest finite lse of a head, for the fault that shares it.
float MaxOfHead(const AttentionMergeProblem& p,
                const AttentionMergeInputs& inputs, int64_t head) {
  float m = -kFloatInf;
  for (int64_t s = 0; s < p.parts; ++s) {
    for (int64_t n = 0; n < p.rows; ++n) {
      const float lse = inputs.lse(s, head, n);
      if (std::isfinite(lse)) m = std::max(m, lse);
    }
  }
  return m;
}

}  // namespace

MergeEmulator::MergeEmulator(MergeVariant variant, MergeFault fault)
    : variant_(std::move(variant)), fault_(fault) {}

void MergeEmulator::Run(const AttentionMergeProblem& problem,
                        const AttentionMergeInputs& inputs,
                        const AttentionMergeOutputs& outputs) const {
  const MergeArithmetic arithmetic(problem.base, variant_, fault_);
  const auto& shape = outputs.o.shape;
  const auto& strides = outputs.o.strides;
  const MutableLaneView o = {outputs.o.data,
                             outputs.o.lane,
                             {1, shape[0], shape[1], shape[2]},
                             {0, strides[0], strides[1], strides[2]}};
  const LaneView held = {o.data, o.lane, o.shape, o.strides};
  for (int64_t h = 0; h < problem.heads; ++h) {
    const bool shared = fault_ == MergeFault::kMaxOfHead;
    const float head_max = shared ? MaxOfHead(problem, inputs, h) : 0;
    for (int64_t n = 0; n < problem.rows; ++n) {
      auto parts = PartsOfRow(problem, inputs, variant_, fault_, h, n);
      const bool any = std::any_of(parts.begin(), parts.end(),
                                   [](const RowPart& p) { return p.seen; });
      if (!any && fault_ == MergeFault::kEmptyUntouched) continue;
      std::vector<float> start(static_cast<size_t>(problem.value_dim), 0.0f);
      for (size_t c = 0; fault_ == MergeFault::kStaleOutput && c < start.size();
           ++c) {
        const At at{0, h, n, static_cast<int64_t>(c)};
        start[c] =
            static_cast<float>(ElementValue(o.lane, ElementBits(held, at)));
      }
      const Merged merged =
          RowMerge(arithmetic, variant_, fault_, std::move(parts), head_max,
                   std::move(start))
              .Run();
      for (size_t c = 0; c < merged.o.size(); ++c) {
        SetElement(o, {0, h, n, static_cast<int64_t>(c)},
                   BitsOf(o.lane, double{arithmetic.Flushed(merged.o[c])}));
      }
      outputs.lse(h, n) = arithmetic.StoredLse(merged.lse);
    }
  }
}

}  // namespace lockstep::verify
