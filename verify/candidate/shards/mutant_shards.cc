#include "verify/candidate/shards/mutant_shards.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/base/binary64.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/emulated.h"
#include "verify/case/shards/shard.h"
#include "verify/ops/attention_forward/claims/claims.h"
#include "verify/ops/attention_forward/shards/cut.h"
#include "verify/ops/attention_forward/shards/merge.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/ops/shards.h"

namespace lockstep::verify {
namespace {

using Glue = ShardGlue;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kLn2 = 0x1.62e43p-1f;

// An lse of an answer: [b, h, i, 0].
float& LseOf(const OutputSet& outputs, const At& at) {
  return outputs.tensors[1].view.As<float>()(at[0], at[1], at[2], 0);
}

class ShardedKernel final : public EmulatedCandidate {
 public:
  ShardedKernel(const ShardBug& bug, std::string spec, const ShardSpec& shard,
                std::unique_ptr<Candidate> usual)
      : EmulatedCandidate("mutant", spec, bug.op(), *usual->traits().claims),
        bug_(bug),
        spec_(std::move(spec)),
        shard_(shard),
        usual_(std::move(usual)) {}

  std::unique_ptr<Candidate> Copy() const override {
    return std::make_unique<ShardedKernel>(bug_, spec_, shard_, usual_->Copy());
  }

  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation&, const OutputSet& outputs,
                 Execution* execution) override {
    const auto* attention = dynamic_cast<const AttentionForwardTrial*>(&trial);
    const auto* scan = dynamic_cast<const Mamba3ScanTrial*>(&trial);
    if (bug_.scan ? scan == nullptr : attention == nullptr) {
      return Refuse(" computes " + bug_.op() + " only");
    }
    // It cuts what a line with this shard= may ask for, and nothing else.
    Case cut = attention != nullptr ? attention->request() : scan->request();
    cut.shard = shard_;
    Status status = ValidateCase(cut);
    if (status.ok()) {
      status = attention != nullptr ? RunAttention(request, *attention, outputs)
                                    : RunScan(request, trial, outputs);
    }
    if (!status.ok()) return Refuse(": " + status.message());
    return Ran("in " + FormatShard(shard_), execution);
  }

 private:
  // The answer of the usual kernel.
  Result<OutputSet> Ask(const CaseRequest& request, const Trial& part) {
    Result<OutputSet> outputs = part.Allocate(0);
    if (!outputs.ok()) return outputs;
    Execution execution;
    const RunOutcome ran =
        usual_->Run(request, part, {}, outputs.value(), &execution);
    if (ran.state == RunOutcome::State::kRan) return outputs;
    return Status::Error(ran.message);
  }

  Status RunScan(const CaseRequest& request, const Trial& trial,
                 const OutputSet& outputs);
  Status RunAttention(const CaseRequest& request,
                      const AttentionForwardTrial& trial,
                      const OutputSet& outputs);
  void Miscut(const AttentionForwardTrial& whole, size_t n,
              AttentionCut* cut) const;
  Result<LawCall> CallOf(const AttentionForwardTrial& whole,
                         const AttentionPick& pick) const;
  void Misread(const OutputSet& answer) const;
  void Misfinish(const std::vector<OutputSet>& answers,
                 const std::vector<std::vector<LinePair>>& lines,
                 const OutputSet& outputs) const;
  bool Left(const AttentionCut& cut, size_t n) const {
    const int64_t step =
        static_cast<int64_t>(n * static_cast<size_t>(shard_.count) /
                             std::max<size_t>(cut.shards.size(), 1));
    return (bug_.glue == Glue::kLastStepDropped ||
            bug_.glue == Glue::kStepTwice) &&
           step == shard_.count - 1;
  }

  const ShardBug bug_;  // its texts are constants
  std::string spec_;
  ShardSpec shard_;
  std::unique_ptr<Candidate> usual_;
};

Status ShardedKernel::RunScan(const CaseRequest& request, const Trial& trial,
                              const OutputSet& outputs) {
  ASSIGN_OR_RETURN(Shards shards, trial.laws().MakeShards({shard_, nullptr}));
  if (!shards.why_not.empty()) return Status::Error(shards.why_not);
  OutputSet handed;
  for (size_t n = 0; n < shards.calls.size(); ++n) {
    ASSIGN_OR_RETURN(LawCall call, shards.calls[n].make());
    if (call.take) call.take(handed);
    ASSIGN_OR_RETURN(OutputSet answer, Ask(request, *call.trial));
    CopyKept(call, answer, trial, outputs);
    if (n > 0 && bug_.glue == Glue::kCarryOfFirst) continue;
    handed = std::move(answer);
    if (bug_.glue != Glue::kNoCarry) continue;
    for (size_t t = 1; t < handed.tensors.size(); ++t) {
      const MutableLaneView& view = handed.tensors[t].view;
      ForElements(view.shape, [&](const At& at) { SetElement(view, at, 0); });
    }
  }
  return {};
}

// What a shard has that is not its own.
void ShardedKernel::Miscut(const AttentionForwardTrial& whole, size_t n,
                           AttentionCut* cut) const {
  AttentionPick& pick = cut->shards[n].pick;
  if (bug_.glue == Glue::kSinkInEach) pick.sink = true;
  if (bug_.glue == Glue::kOtherKeyHead) {
    const int64_t heads = whole.data().problem.kv_heads;
    for (int64_t& head : pick.kv_heads) {
      head = (head + static_cast<int64_t>(pick.kv_heads.size())) % heads;
    }
  }
}

Result<LawCall> ShardedKernel::CallOf(const AttentionForwardTrial& whole,
                                      const AttentionPick& pick) const {
  Result<LawCall> call = AttentionCallOf(whole, pick);
  if (!call.ok()) return call;
  Case request = whole.request();
  ASSIGN_OR_RETURN(
      AttentionForwardData data,
      PickAttention(whole.data(), pick, &request.Get<AttentionForwardCase>()));
  const AttentionForwardInputs& in = whole.data().inputs;
  if (bug_.glue == Glue::kOffsetOfWhole) {
    data.problem.align = {Alignment::Kind::kOffset,
                          in.Offset(whole.data().problem, pick.rows.front())};
  }
  if (bug_.glue == Glue::kCountsOfWhole) {
    for (size_t b = 0; b < data.inputs.valid_kv.size(); ++b) {
      const auto row = static_cast<size_t>(pick.rows[b]);
      data.inputs.valid_kv[b] = std::min(in.valid_kv[row], pick.keys);
    }
  }
  if (bug_.glue == Glue::kIdsOfFirst && data.problem.segments) {
    auto* ids = reinterpret_cast<int32_t*>(data.kv_seg.data());
    for (const int64_t b : pick.rows) {
      for (int64_t j = 0; j < pick.keys; ++j) *ids++ = in.kv_seg(b, j);
    }
  }
  call->trial =
      std::make_unique<AttentionForwardTrial>(request, std::move(data));
  return call;
}

// How its answer is taken.
void ShardedKernel::Misread(const OutputSet& answer) const {
  const At shape = answer.tensors[1].view.shape;
  ForElements(shape, [&](const At& at) {
    float& lse = LseOf(answer, at);
    if (bug_.glue == Glue::kBasesMixed) lse *= kLn2;
    if (bug_.glue == Glue::kMeanOfShards && lse > -kInf) lse = 0;
    if (bug_.glue == Glue::kEmptyWeighsOne && lse == -kInf) lse = 0;
  });
}

// What is done to the merged rows.
void ShardedKernel::Misfinish(const std::vector<OutputSet>& answers,
                              const std::vector<std::vector<LinePair>>& lines,
                              const OutputSet& outputs) const {
  const MutableLaneView& o = outputs.tensors[0].view;
  const int64_t heads = o.shape[1], queries = o.shape[2];
  std::vector<float> top(static_cast<size_t>(o.shape[0] * heads * queries),
                         -kInf);
  for (size_t n = 0; n < answers.size(); ++n) {
    const At shape = answers[n].tensors[1].view.shape;
    for (const LinePair& pair : lines[n]) {
      const At here = {pair.here / (shape[1] * shape[2]),
                       pair.here / shape[2] % shape[1], pair.here % shape[2],
                       0};
      float& most = top[static_cast<size_t>(pair.own)];
      most = std::max(most, LseOf(answers[n], here));
    }
  }
  ForElements({o.shape[0], heads, queries, 1}, [&](const At& at) {
    const float most =
        top[static_cast<size_t>((at[0] * heads + at[1]) * queries + at[2])];
    float& lse = LseOf(outputs, at);
    if (bug_.glue == Glue::kBasesMixed) lse /= kLn2;
    if (bug_.glue == Glue::kUnnormalised && most > -kInf) {
      const double sum = ExpDouble(lse - most);
      for (At c = at; c[3] < o.shape[3]; ++c[3]) {
        const double x = ElementValue(
            o.lane, ElementBits(outputs.tensors[0].const_view(), c));
        SetElement(o, c, BitsOf(o.lane, sum * x));
      }
    }
    if (bug_.glue == Glue::kLseOfLargest) lse = most;
  });
}

Status ShardedKernel::RunAttention(const CaseRequest& request,
                                   const AttentionForwardTrial& trial,
                                   const OutputSet& outputs) {
  AttentionCut cut = CutAttention(trial.data(), shard_);
  const bool merges = shard_.axis != ShardAxis::kHeads;
  AttentionShardMerge merge(trial, cut.shards, shard_.count,
                            &*usual_->traits().claims);
  std::vector<OutputSet> answers;
  std::vector<std::vector<LinePair>> lines;
  for (size_t n = 0; n < cut.shards.size(); ++n) {
    // In place of the last step, the first one comes once more.
    if (Left(cut, n)) {
      if (bug_.glue == Glue::kLastStepDropped) continue;
      const size_t steps =
          cut.shards.size() / static_cast<size_t>(shard_.count);
      cut.shards[n].pick = cut.shards[n % steps].pick;
    }
    Miscut(trial, n, &cut);
    ASSIGN_OR_RETURN(LawCall call, CallOf(trial, cut.shards[n].pick));
    ASSIGN_OR_RETURN(OutputSet answer, Ask(request, *call.trial));
    if (!merges) {
      CopyKept(call, answer, trial, outputs);
      continue;
    }
    Misread(answer);
    lines.push_back(call.kept[0]);
    merge.Add(n, std::move(call), std::move(answer));
  }
  if (!merges) return {};
  RETURN_IF_ERROR(merge.Merge(outputs));
  for (OutputSet& answer : merge.TakeAnswers()) {
    answers.push_back(std::move(answer));
  }
  Misfinish(answers, lines, outputs);
  return {};
}

}  // namespace

Result<std::unique_ptr<Candidate>> MakeShardedKernel(const ShardBug& bug,
                                                     const ShardedAs& as) {
  std::string spec = bug.name;
  if (!as.shard.empty()) spec += ",shard=" + as.shard;
  if (!as.usual.empty()) spec += ",base=" + as.usual;
  ASSIGN_OR_RETURN(
      auto usual,
      ParseVariantCandidate(as.usual.empty() ? bug.usual : as.usual.c_str()));
  if (!usual->traits().claims) {
    return Status::Error("base=" + as.usual +
                         ": answers of the exact contract are not merged; "
                         "want a variant with a profile, such as base=cpu");
  }
  const ShardAxis axis = ReadShard(bug.shard)->axis;
  ASSIGN_OR_RETURN(const ShardSpec shard,
                   ReadShard(as.shard.empty() ? bug.shard : as.shard));
  if (shard.axis != axis) {
    return Status::Error("shard=" + as.shard + ": the bug is of " +
                         std::string(kShardAxes[static_cast<size_t>(axis)]) +
                         ":N");
  }
  return std::unique_ptr<Candidate>(std::make_unique<ShardedKernel>(
      bug, std::move(spec), shard, std::move(usual)));
}

// "shard.NAME[,shard=AXIS:N][,base=VARIANT]".
Result<std::unique_ptr<Candidate>> ParseShardMutant(std::string_view name) {
  const size_t comma = std::min(name.find(','), name.size());
  ASSIGN_OR_RETURN(const ShardBug* bug, FindShardBug(name.substr(0, comma)));
  ShardedAs as;
  name.remove_prefix(comma);
  while (!name.empty()) {
    name.remove_prefix(1);
    const std::string_view one = name.substr(0, name.find(','));
    name.remove_prefix(one.size());
    if (one.starts_with("shard=")) {
      as.shard = one.substr(6);
    } else if (one.starts_with("base=")) {
      as.usual = one.substr(5);
    } else {
      return Status::Error("candidate argument '" + std::string(one) +
                           "': want shard=AXIS:N or base=VARIANT");
    }
  }
  return MakeShardedKernel(*bug, as);
}

}  // namespace lockstep::verify
