#include "verify/ops/attention_forward/shards/merge.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "reference/attention_merge.h"
#include "reference/contract/numerics.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/ops/attention_forward/shards/allowed.h"

namespace lockstep::verify {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// N9's bound of scores, in bits, up to which no maximum is subtracted.
bool FixedPath(const AttentionForwardProblem& p) {
  return p.softcap && !p.v_scales.by_key() &&
         *p.softcap * kLog2E <= kFixedPathBound;
}

// Whether the sink of a head takes its rows to the maximum path all the same.
bool LargeSink(const AttentionForwardData& data) {
  for (int64_t h = 0; data.problem.sink && h < data.problem.q_heads; ++h) {
    if (!(data.inputs.sink(h) * kLog2E < kFixedPathBound - 1)) return true;
  }
  return false;
}

// What is claimed; of exact bits, the contract's arithmetic.
NumericProfile ProfileOf(const AttentionForwardTrial& whole,
                         const NumericProfile* claims) {
  if (claims != nullptr) return *claims;
  const AttentionForwardProblem& p = whole.data().problem;
  NumericProfile profile =
      LoadProfile(std::string("exact-") + LaneName(p.lane)).value();
  if (FixedPath(p)) profile.max.kind = MaxPolicy::Kind::kNone;
  return profile;
}

// One batch row of all parts, in the order of their keys.
class RowMerge {
 public:
  static Result<RowMerge> Make(const AttentionForwardTrial& whole,
                               int64_t count, LseBase base) {
    const AttentionForwardProblem& p = whole.data().problem;
    RowMerge row;
    row.problem_ = {count,  p.q_heads, p.q_len, p.value_dim,
                    p.lane, p.lane,    base};
    const std::array<int64_t, 4> shape = {count, p.q_heads, p.q_len,
                                          p.value_dim};
    ASSIGN_OR_RETURN(row.parts_,
                     AllocateLaneTensor(p.lane, shape, DenseStrides(shape), 0));
    const std::array<int64_t, 4> one = {1, p.q_heads, p.q_len, p.value_dim};
    ASSIGN_OR_RETURN(row.merged_,
                     AllocateLaneTensor(p.lane, one, DenseStrides(one), 0));
    const auto lines = static_cast<size_t>(p.q_heads * p.q_len);
    row.lse_.resize(static_cast<size_t>(count) * lines);
    row.merged_lse_.resize(lines);
    return row;
  }

  void Begin() { std::fill(lse_.begin(), lse_.end(), -kInfinity); }

  // Line `here` of a part is line `line` of the batch row.
  void Put(const ShardAnswer& part, int64_t here, int64_t line,
           bool empty_is_posinf) {
    const LaneView o = part.answer.tensors[0].const_view();
    const LaneView lse = part.answer.tensors[1].const_view();
    auto from = LineIndex(part.o, here, 0);
    float value =
        static_cast<float>(ElementValue(Lane::kF32, ElementBits(lse, from)));
    if (empty_is_posinf && value == kInfinity) value = -kInfinity;
    const int64_t shard = part.shard.key_shard;
    lse_[static_cast<size_t>(shard * Lines() + line)] = value;
    At to = {shard, line / problem_.rows, line % problem_.rows, 0};
    for (; to[3] < problem_.value_dim; ++to[3]) {
      from[3] = to[3];
      SetElement(parts_.view, to, ElementBits(o, from));
    }
  }

  // To batch row `b` of the whole's outputs.
  Status Run(int64_t b, const OutputSet& whole) {
    const auto [count, heads, rows, channels, lane, out, base] = problem_;
    const TensorView<const float, 3> lse = {
        lse_.data(), {count, heads, rows}, {heads * rows, rows, 1}};
    const BasicLaneView<void, 3> o = {merged_.view.data,
                                      lane,
                                      {heads, rows, channels},
                                      {rows * channels, channels, 1}};
    const TensorView<float, 2> merged_lse = {
        merged_lse_.data(), {heads, rows}, {rows, 1}};
    RETURN_IF_ERROR(reference::AttentionMerge(
        problem_, {parts_.const_view(), lse}, {o, merged_lse}));
    ForElements({1, heads, rows, channels}, [&](const At& at) {
      SetElement(whole.tensors[0].view, {b, at[1], at[2], at[3]},
                 ElementBits(merged_.const_view(), at));
    });
    ForElements({1, heads, rows, 1}, [&](const At& at) {
      SetElement(whole.tensors[1].view, {b, at[1], at[2], 0},
                 std::bit_cast<uint32_t>(merged_lse(at[1], at[2])));
    });
    return {};
  }

 private:
  int64_t Lines() const { return problem_.heads * problem_.rows; }

  AttentionMergeProblem problem_;
  LaneTensor parts_;   // [key shard, h, i, c]
  LaneTensor merged_;  // [1, h, i, c]
  std::vector<float> lse_;
  std::vector<float> merged_lse_;
};

}  // namespace

std::string WhyNotMerged(const AttentionForwardTrial& whole,
                         const ShardSpec& shard, const NumericProfile* claims) {
  const int64_t elements =
      whole.rows() * (whole.data().problem.value_dim + 1) * shard.count;
  if (elements > kMostShardElements) {
    return "the answers to so many shards take " + std::to_string(elements) +
           " elements, and the most is " + std::to_string(kMostShardElements);
  }
  if (claims == nullptr) {
    const ProductOrder order = whole.data().problem.order;
    if (order != ProductOrder::kChain) {
      return std::string("no bound is derived for merged parts under order=") +
             OrderName(order);
    }
    if (!FixedPath(whole.data().problem) || !LargeSink(whole.data())) return "";
    return "no bound is derived for merged parts where a sink beyond 2^80 "
           "stands beside a softcap below it";
  }
  if (!HasLse(*claims)) {
    return "the kernel has no lse, by which answers to parts of the keys are "
           "merged";
  }
  if (claims->lse != LseLane::kF32) {
    return "an lse that is rounded to bf16 is too inexact to merge answers by";
  }
  return "";
}

AttentionShardMerge::AttentionShardMerge(const AttentionForwardTrial& whole,
                                         std::vector<AttentionShard> shards,
                                         int64_t count,
                                         const NumericProfile* claims)
    : whole_(whole),
      shards_(std::move(shards)),
      count_(count),
      profile_(ProfileOf(whole, claims)) {}

Status AttentionShardMerge::Merge(const OutputSet& whole) const {
  const LseBase base =
      profile_.lse_base == ExpBase::kTwo ? LseBase::kTwo : LseBase::kE;
  ASSIGN_OR_RETURN(RowMerge row, RowMerge::Make(whole_, count_, base));
  const AttentionForwardProblem& p = whole_.data().problem;
  const int64_t lines = p.q_heads * p.q_len;
  for (int64_t b = 0; b < p.batch; ++b) {
    row.Begin();
    for (const ShardAnswer& part : parts_) {
      for (const LinePair& pair : part.lines) {
        if (pair.own / lines != b) continue;
        row.Put(part, pair.here, pair.own % lines,
                profile_.empty_row == EmptyRow::kZeroPosInf);
      }
    }
    RETURN_IF_ERROR(row.Run(b, whole));
  }
  return {};
}

Result<std::unique_ptr<AllowedResults>> AttentionShardMerge::Allowed(
    std::vector<int64_t> rows, int threads) const {
  return MergedAttention::Make(whole_, parts_, profile_, std::move(rows),
                               threads);
}

}  // namespace lockstep::verify
