#include "verify/ops/attention_forward/shards/parts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "reference/attention_forward.h"
#include "reference/attention_states.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/row_view.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/ops/attention_forward/claims/claims.h"
#include "verify/ops/attention_forward/shards/cut.h"
#include "verify/ops/attention_forward/ways.h"
#include "verify/ops/backends.h"

namespace lockstep::verify {
namespace {

std::vector<OutputSpec> StateSpecs(const AttentionForwardProblem& p) {
  const std::array<int64_t, 4> rows = {p.batch, p.q_heads, p.q_len, 1};
  const std::array<int64_t, 4> sums = {p.batch, p.q_heads, p.q_len,
                                       p.value_dim};
  return {{.name = "m", .shape = rows, .axes = {"b", "h", "i", nullptr}},
          {.name = "l", .shape = rows, .axes = {"b", "h", "i", nullptr}},
          {.name = "acc", .shape = sums, .axes = {"b", "h", "i", "c"}}};
}

// Collects the states of all parts. Calls for some queries fill their rows.
class StateJoin final : public PartJoin {
 public:
  StateJoin(const AttentionForwardTrial& whole,
            std::vector<AttentionShard> shards, int64_t count)
      : whole_(whole), shards_(std::move(shards)), count_(count) {}

  void Add(size_t n, int round, LawCall call, OutputSet answer) override {
    std::vector<OutputSet>& parts = rounds_[round];
    while (parts.size() < static_cast<size_t>(count_)) parts.push_back(NoKey());
    const OutputSet& part = parts[static_cast<size_t>(shards_[n].key_shard)];
    for (size_t t = 0; t < part.tensors.size(); ++t) {
      const auto channels = part.tensors[t].view.shape[3];
      for (const LinePair& pair : call.kept[t]) {
        std::copy_n(Line(answer.tensors[t], pair.here), channels,
                    Line(part.tensors[t], pair.own));
      }
    }
  }

  Result<bool> Join(const OutputSet& whole) const override {
    const AttentionForwardData& data = whole_.data();
    return reference::JoinStates(data.problem, data.inputs.sink,
                                 Views(rounds_[0]), Views(rounds_[1]),
                                 AttentionViews(whole));
  }

 private:
  // The states of a part whose rows see no key; answers overwrite them.
  OutputSet NoKey() const {
    OutputSet part;
    for (const OutputSpec& spec : StateSpecs(whole_.data().problem)) {
      Result<LaneTensor> tensor = AllocateLaneTensor(
          Lane::kF32, spec.shape, DenseStrides(spec.shape), 0);
      part.tensors.push_back(std::move(tensor.value()));
      const float value =
          spec.name == "acc" ? 0.0f : -std::numeric_limits<float>::infinity();
      std::fill_n(Line(part.tensors.back(), 0), spec.lines() * spec.shape[3],
                  value);
    }
    return part;
  }
  static float* Line(const LaneTensor& tensor, int64_t line) {
    return static_cast<float*>(tensor.view.data) + line * tensor.view.shape[3];
  }
  static std::vector<AttentionStates> Views(
      const std::vector<OutputSet>& parts) {
    std::vector<AttentionStates> views;
    for (const OutputSet& part : parts) views.push_back(StateViews(part));
    return views;
  }

  const AttentionForwardTrial& whole_;
  std::vector<AttentionShard> shards_;
  int64_t count_;
  std::array<std::vector<OutputSet>, 2> rounds_;  // by WeightSize
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

Result<LawCall> PartOf(const AttentionForwardTrial& whole,
                       const AttentionPick& pick, int round) {
  ASSIGN_OR_RETURN(LawCall call, AttentionCallOf(whole, pick));
  std::unique_ptr<AttentionForwardTrial> keys(
      static_cast<AttentionForwardTrial*>(call.trial.release()));
  call.trial = std::make_unique<AttentionPartTrial>(
      std::move(keys), round == 0 ? WeightSize::kUsual : WeightSize::kSmall);
  call.kept = {call.kept[0], call.kept[0], call.kept[0]};
  return call;
}

}  // namespace

AttentionStates StateViews(const OutputSet& outputs) {
  const auto& t = outputs.tensors;
  return {RowView(t[0].view), RowView(t[1].view), t[2].view.As<float>()};
}

AttentionPartTrial::AttentionPartTrial(
    std::unique_ptr<AttentionForwardTrial> keys, WeightSize size)
    : Trial(StateSpecs(keys->data().problem)),
      keys_(std::move(keys)),
      problem_(keys_->data().problem),
      size_(size) {
  problem_.split = 1;
}

void AttentionPartTrial::ReferenceRow(int64_t row, RowBits* bits) const {
  bits->clear();
  Result<OutputSet> all = Allocate(0);
  Execution execution;
  if (!all.ok()) return;
  (void)RunReference(all.value(), &execution);
  for (size_t t = 0; t < outputs().size(); ++t) {
    At at = LineIndex(outputs()[t], row, 0);
    std::vector<uint32_t>& line = bits->emplace_back();
    for (; at[3] < outputs()[t].shape[3]; ++at[3]) {
      line.push_back(ElementBits(all->tensors[t].const_view(), at));
    }
  }
}

RunOutcome AttentionPartTrial::RunReference(const OutputSet& outputs,
                                            Execution* execution) const {
  return RanReference(
      reference::AttentionForwardStates(problem_, keys_->data().inputs, size_,
                                        StateViews(outputs)),
      execution);
}

RunOutcome AttentionPartTrial::RunOptimized(const Variation& how,
                                            const OutputSet& outputs,
                                            Execution* execution) const {
  if (const std::string why = WhyNoKernel(problem_); !why.empty()) {
    const RunOutcome outcome = RunReference(outputs, execution);
    execution->fallback_reason = why;
    return outcome;
  }
  if (!SupportsTarget(how)) {
    return RunWithoutTarget(*this, how, outputs, execution);
  }
  const Result<optimized::Plan> plan =
      optimized::MakePlan(problem_, ToCaps(how));
  if (!plan.ok()) return Failed("no plan: " + plan.message());
  optimized::AttentionForwardExecution counts;
  const Status status = optimized::AttentionForwardStates(
      problem_, keys_->data().inputs, size_, plan.value(), StateViews(outputs),
      &counts);
  if (!status.ok()) return Failed(status.message());
  *execution = {.backend = "optimized",
                .target = counts.target,
                .threads = counts.threads,
                .plan = plan->ToString(),
                .fallback_reason = "",
                .products = counts.products,
                .counters = {}};
  return {};
}

Result<PartCalls> AttentionForwardTrial::MakeParts(
    const ShardSpec& shard) const {
  PartCalls made;
  made.why_not = WhyNoParts(data_.problem, shard);
  if (!made.why_not.empty()) return made;
  made.form = "split=" + std::to_string(shard.count);
  if (data_.problem.split != shard.count) {
    made.whole = [this, count = shard.count] { return InParts(*this, count); };
  }
  AttentionCut cut = CutAttention(data_, shard);
  for (AttentionShard& one : cut.shards) {
    one.pick.sink = true;  // its score is in the maximum of every part
    made.calls.push_back([this, pick = one.pick](int round) {
      return PartOf(*this, pick, round);
    });
  }
  made.join =
      std::make_unique<StateJoin>(*this, std::move(cut.shards), shard.count);
  return made;
}

}  // namespace lockstep::verify
