// Shards of keys as parts (N22, N24). Our own kernels return the sums of rows
// in place of o and lse. Joined, they have the bits of the case with split=N.
#include <array>
#include <utility>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "reference/attention_forward.h"
#include "reference/attention_states.h"
#include "reference/contract/attention_states.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/ops/attention_forward/claims/claims.h"
#include "verify/ops/attention_forward/shards/shards.h"
#include "verify/ops/attention_forward/ways.h"
#include "verify/ops/backends.h"

namespace lockstep::verify {
namespace {

using Rows = std::array<int64_t, 3>;

std::vector<OutputSpec> SumSpecs(const AttentionForwardProblem& p) {
  const std::array<int64_t, 4> rows = {p.batch, p.q_heads, p.q_len, 1};
  const std::array<int64_t, 4> sums = {p.batch, p.q_heads, p.q_len,
                                       p.value_dim};
  return {{.name = "m", .shape = rows, .axes = {"b", "h", "i", nullptr}},
          {.name = "l", .shape = rows, .axes = {"b", "h", "i", nullptr}},
          {.name = "acc", .shape = sums, .axes = {"b", "h", "i", "c"}}};
}

// Views the sums of a part of the keys as the contract does.
AttentionStates StatesOf(const OutputSet& sums,
                         const AttentionForwardProblem& p, int64_t part) {
  const int64_t rows = p.batch * p.q_heads * p.q_len, c = p.value_dim;
  const auto at = [&](size_t t, int64_t width) {
    return static_cast<float*>(sums.tensors[t].view.data) + part * rows * width;
  };
  const Rows shape = {p.batch, p.q_heads, p.q_len};
  const Rows strides = {p.q_heads * p.q_len, p.q_len, 1};
  return {{at(0, 1), shape, strides},
          {at(1, 1), shape, strides},
          {at(2, c),
           {p.batch, p.q_heads, p.q_len, c},
           {strides[0] * c, strides[1] * c, c, 1}}};
}

// A trial of one part's keys, in f32: m and l [b, h, i], acc [b, h, i, c].
class SumsTrial final : public Trial, public TrialKernels {
 public:
  // `keys`: the part as a case of its own.
  SumsTrial(std::unique_ptr<Trial> keys, const AttentionForwardData& data,
            WeightSize size)
      : Trial(SumSpecs(data.problem)),
        keys_(std::move(keys)),
        inputs_(data.inputs),
        problem_(data.problem),
        size_(size) {
    problem_.split = 1;
  }

  KernelInputs Inputs() const override { return keys_->Inputs(); }
  std::string StorageDigest() const override { return keys_->StorageDigest(); }
  // Sums are compared once they are joined: no truth of a row is asked for.
  void ReferenceRow(int64_t, RowBits* bits) const override { bits->clear(); }
  int64_t RowCost() const override { return keys_->RowCost(); }
  RunOutcome RunReference(const OutputSet& outputs,
                          Execution* execution) const override {
    return RanReference(
        reference::AttentionForwardStates(problem_, inputs_, size_,
                                          StatesOf(outputs, problem_, 0)),
        execution);
  }
  RunOutcome RunOptimized(const Variation& how, const OutputSet& outputs,
                          Execution* execution) const override {
    return RunPlanned(*this, problem_, how, outputs, execution,
                      [&](const optimized::Plan& plan,
                          optimized::AttentionForwardExecution* counts) {
                        return optimized::AttentionForwardStates(
                            problem_, inputs_, size_, plan,
                            StatesOf(outputs, problem_, 0), counts);
                      });
  }

 private:
  TrialParts parts() const override { return {.kernels = this}; }

  std::unique_ptr<Trial> keys_;
  const AttentionForwardInputs& inputs_;
  AttentionForwardProblem problem_;
  WeightSize size_;
};

// The reason why shards of that width are not N22's parts; empty: they are.
std::string WhyNoParts(const AttentionForwardProblem& p,
                       const ShardSpec& shard) {
  const int64_t rows = p.batch * p.q_heads * p.q_len;
  if (rows * (p.value_dim + 2) * shard.count > kMostShardElements) {
    return "the sums of so many parts have more than " +
           std::to_string(kMostShardElements) + " elements";
  }
  AttentionForwardProblem split = p;
  split.split = shard.count;
  const int64_t width = ShardWidth(p.kv_len, shard.count);
  const std::string form = "split=" + std::to_string(shard.count);
  if (p.split != 1 && p.split != shard.count) {
    return "the case has split=" + std::to_string(p.split) + ", not " + form;
  }
  if (width != split.part_width() && width < p.kv_len) {
    return form + " has parts of " + std::to_string(split.part_width()) +
           " keys, and a shard has " + std::to_string(width);
  }
  if (p.order == ProductOrder::kAmx && width % kProductBlock != 0) {
    return "a block of order=amx lies in two shards";
  }
  return "";
}

// The whole case with that split.
Result<LawCall> InParts(const AttentionForwardTrial& whole, int64_t split) {
  ASSIGN_OR_RETURN(AttentionForwardData data, Clone(whole.data()));
  Case request = whole.request();
  request.Get<AttentionForwardCase>().split = split;
  data.problem.split = split;
  LawCall call;
  call.trial =
      std::make_unique<AttentionForwardTrial>(request, std::move(data));
  call.kept = AllLines(*call.trial);
  return call;
}

Result<LawCall> SumsOf(const AttentionForwardTrial& whole, AttentionPick pick,
                       WeightSize size) {
  pick.sink = true;  // its score is in the maximum of every part
  ASSIGN_OR_RETURN(LawCall call, AttentionCallOf(whole, pick));
  const AttentionForwardData& data =
      static_cast<const AttentionForwardTrial&>(*call.trial).data();
  call.trial = std::make_unique<SumsTrial>(std::move(call.trial), data, size);
  call.kept = {call.kept[0], call.kept[0], call.kept[0]};
  return call;
}

}  // namespace

Shards SumsOfKeys(const AttentionForwardTrial& whole,
                  const ShardsAsked& asked) {
  const AttentionForwardProblem& p = whole.data().problem;
  const int64_t count = asked.shard.count;
  Shards made;
  made.why_not = WhyNoParts(p, asked.shard);
  if (!made.why_not.empty()) return made;
  const WeightSize size = asked.answer == ShardAnswer::kSums
                              ? WeightSize::kUsual
                              : WeightSize::kSmall;
  made = CallsOf(CutAttention(whole.data(), asked.shard),
                 [&whole, size](const AttentionPick& pick) {
                   return SumsOf(whole, pick, size);
                 });
  made.form = "split=" + std::to_string(count);
  if (p.split != count) {
    made.whole = [&whole, count] { return InParts(whole, count); };
  }
  made.parts = PartsOf(SumSpecs(p), count);
  made.merge = [&whole, count](std::span<const OutputSet> rounds,
                               const OutputSet& outputs) {
    const AttentionForwardData& data = whole.data();
    std::vector<AttentionStates> states[2];  // by WeightSize
    for (size_t round = 0; round < rounds.size(); ++round) {
      for (int64_t part = 0; part < count; ++part) {
        states[round].push_back(StatesOf(rounds[round], data.problem, part));
      }
    }
    return reference::JoinStates(data.problem, data.inputs.sink, states[0],
                                 states[1], AttentionViews(outputs));
  };
  return made;
}

}  // namespace lockstep::verify
