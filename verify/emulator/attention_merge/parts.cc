#include "verify/emulator/attention_merge/parts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "verify/base/binary64.h"
#include "verify/base/compare.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kGroup = 4;  // of parts, rows or channels
constexpr int64_t kMostParts = 32;
constexpr double kCap = 30;

class PartReader {
 public:
  PartReader(const AttentionMergeProblem& problem,
             const AttentionMergeInputs& inputs, const MergeVariant& variant,
             MergeFault fault, int64_t head, int64_t row)
      : problem_(problem),
        inputs_(inputs),
        variant_(variant),
        fault_(fault),
        head_(head),
        row_(row) {}

  std::vector<RowPart> All() const {
    std::vector<RowPart> parts;
    const int64_t count = Count();
    bool skip = false;
    for (int64_t s = Is(MergeFault::kFirstPartDropped) ? 1 : 0; s < count;
         ++s) {
      RowPart part = Read(s);
      if (skip) {
        skip = false;
        continue;
      }
      if (!part.seen && Is(MergeFault::kEmptyEndsLoop)) break;
      skip = !part.seen && Is(MergeFault::kEmptySkipsNext);
      if (Dropped(part)) continue;
      parts.push_back(std::move(part));
    }
    if (Is(MergeFault::kPartTwice)) parts.push_back(parts.back());
    if (variant_.descending) std::reverse(parts.begin(), parts.end());
    return parts;
  }

 private:
  bool Is(MergeFault fault) const { return fault_ == fault; }

  int64_t Count() const {
    const int64_t n = problem_.parts;
    if (Is(MergeFault::kLastPartDropped)) return std::max<int64_t>(n - 1, 1);
    if (Is(MergeFault::kPartLimit)) return std::min(n, kMostParts);
    if (Is(MergeFault::kPartTail) && n > kGroup) return n / kGroup * kGroup;
    if (Is(MergeFault::kOddTail) && n > 1) return n / 2 * 2;
    return n;
  }

  bool Dropped(const RowPart& part) const {
    return (std::isnan(part.lse) && Is(MergeFault::kNanHidden)) ||
           (part.lse == kFloatInf && Is(MergeFault::kPosInfDropped));
  }

  RowPart Read(int64_t s) const {
    RowPart part;
    part.lse = Lse(s);
    const bool mark = variant_.numeric.empty_row == EmptyRow::kZeroPosInf &&
                      part.lse == kFloatInf;
    part.seen = part.lse != -kFloatInf && !mark;
    if (Is(MergeFault::kEmptyWeighsOne) && !part.seen) {
      part.seen = true;
      part.lse = 0;
    }
    if (Is(MergeFault::kLseInBf16)) {
      part.lse = RoundTo(part.lse, NumberType::kBf16);
    }
    if (Is(MergeFault::kLseCapped) && part.seen) {
      part.lse = static_cast<float>(kCap * TanhDouble(double{part.lse} / kCap));
    }
    const int64_t from =
        Is(MergeFault::kPartOfNext) ? std::min(s + 1, problem_.parts - 1) : s;
    for (int64_t c = 0; c < problem_.value_dim; ++c) {
      const bool stays = Is(MergeFault::kChannelTail) &&
                         c >= problem_.value_dim / kGroup * kGroup;
      part.o.push_back(Value(stays ? 0 : from, c));
    }
    return part;
  }

  float Lse(int64_t s) const {
    const auto& lse = inputs_.lse;
    if (Is(MergeFault::kHeadZero)) return lse(s, 0, row_);
    if (Is(MergeFault::kRowTail)) {
      const bool tail = row_ >= problem_.rows / kGroup * kGroup && row_ > 0;
      return lse(s, head_, row_ - (tail ? 1 : 0));
    }
    if (Is(MergeFault::kLseTransposed)) {
      const int64_t at = row_ * problem_.heads + head_;
      return lse(s, at / problem_.rows, at % problem_.rows);
    }
    return lse(s, head_, row_);
  }

  float Value(int64_t s, int64_t c) const {
    LaneView o = inputs_.o;
    if (Is(MergeFault::kStrideOfOne)) o.strides = DenseStrides(o.shape);
    return static_cast<float>(
        ElementValue(o.lane, ElementBits(o, {s, head_, row_, c})));
  }

  const AttentionMergeProblem& problem_;
  const AttentionMergeInputs& inputs_;
  const MergeVariant& variant_;
  MergeFault fault_;
  int64_t head_;
  int64_t row_;
};

}  // namespace

std::vector<RowPart> PartsOfRow(const AttentionMergeProblem& problem,
                                const AttentionMergeInputs& inputs,
                                const MergeVariant& variant, MergeFault fault,
                                int64_t head, int64_t row) {
  return PartReader(problem, inputs, variant, fault, head, row).All();
}

}  // namespace lockstep::verify
