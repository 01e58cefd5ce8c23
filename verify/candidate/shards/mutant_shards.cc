#include "verify/candidate/shards/mutant_shards.h"

#include <algorithm>
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
#include "verify/ops/attention_forward/shards/shards.h"
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
      const Result<Shards> shards =
          attention != nullptr ? Cut(*attention)
                               : trial.laws().MakeShards({shard_, nullptr});
      status = shards.ok()
                   ? PutTogether(request, trial, shards.value(), outputs)
                   : shards.status();
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

  Shards Cut(const AttentionForwardTrial& whole) const;
  void DropLastStep(AttentionCut* cut) const;
  AttentionPick Mispicked(const AttentionForwardTrial& whole,
                          AttentionPick pick) const;
  void Misinform(const AttentionForwardTrial& whole, const AttentionPick& pick,
                 AttentionForwardData* data) const;
  Status PutTogether(const CaseRequest& request, const Trial& whole,
                     const Shards& shards, const OutputSet& outputs);
  void Misread(const OutputSet& answer) const;
  void HandOver(size_t n, OutputSet answer, OutputSet* handed) const;
  void Misfinish(const OutputSet& parts, const OutputSet& outputs) const;

  const ShardBug bug_;  // its texts are constants
  std::string spec_;
  ShardSpec shard_;
  std::unique_ptr<Candidate> usual_;
};

// The calls of all shards, each with what it has that is not its own.
Shards ShardedKernel::Cut(const AttentionForwardTrial& whole) const {
  AttentionCut cut = CutAttention(whole.data(), shard_);
  DropLastStep(&cut);
  Shards shards = CallsOf(cut, [this, &whole](const AttentionPick& pick) {
    const AttentionPick other = Mispicked(whole, pick);
    return AttentionCallOf(whole, other, [&](AttentionForwardData* data) {
      Misinform(whole, other, data);
    });
  });
  if (shard_.axis != ShardAxis::kHeads) {
    MergeKeys(whole, cut, shard_.count, &*usual_->traits().claims, &shards);
  }
  return shards;
}

// In place of the last step of a ring, nothing, or the first one once more.
void ShardedKernel::DropLastStep(AttentionCut* cut) const {
  const bool twice = bug_.glue == Glue::kStepTwice;
  if (!twice && bug_.glue != Glue::kLastStepDropped) return;
  const auto count = static_cast<size_t>(shard_.count);
  const size_t calls = cut->shards.size();
  for (size_t n = 0; n < calls; ++n) {
    if (n * count / calls != count - 1) continue;
    if (!twice) return cut->shards.resize(n);
    cut->shards[n].pick = cut->shards[n % (calls / count)].pick;
  }
}

AttentionPick ShardedKernel::Mispicked(const AttentionForwardTrial& whole,
                                       AttentionPick pick) const {
  if (bug_.glue == Glue::kSinkInEach) pick.sink = true;
  if (bug_.glue == Glue::kOtherKeyHead) {
    const int64_t heads = whole.data().problem.kv_heads;
    for (int64_t& head : pick.kv_heads) {
      head = (head + std::ssize(pick.kv_heads)) % heads;
    }
  }
  return pick;
}

void ShardedKernel::Misinform(const AttentionForwardTrial& whole,
                              const AttentionPick& pick,
                              AttentionForwardData* data) const {
  const AttentionForwardInputs& in = whole.data().inputs;
  if (bug_.glue == Glue::kOffsetOfWhole) {
    data->problem.align = {Alignment::Kind::kOffset,
                           in.Offset(whole.data().problem, pick.rows.front())};
  }
  if (bug_.glue == Glue::kCountsOfWhole) {
    for (size_t b = 0; b < data->inputs.valid_kv.size(); ++b) {
      const auto row = static_cast<size_t>(pick.rows[b]);
      data->inputs.valid_kv[b] = std::min(in.valid_kv[row], pick.keys);
    }
  }
  if (bug_.glue == Glue::kIdsOfFirst && data->problem.segments) {
    auto* ids = reinterpret_cast<int32_t*>(data->kv_seg.data());
    for (const int64_t b : pick.rows) {
      for (int64_t j = 0; j < pick.keys; ++j) *ids++ = in.kv_seg(b, j);
    }
  }
}

Status ShardedKernel::PutTogether(const CaseRequest& request,
                                  const Trial& whole, const Shards& shards,
                                  const OutputSet& outputs) {
  if (!shards.why_not.empty()) return Status::Error(shards.why_not);
  OutputSet parts, handed;
  if (shards.merge) {
    ASSIGN_OR_RETURN(parts, AllocateAnswers(shards, whole));
  }
  for (size_t n = 0; n < shards.calls.size(); ++n) {
    ASSIGN_OR_RETURN(LawCall call, shards.calls[n].make());
    if (call.take) call.take(handed);
    ASSIGN_OR_RETURN(OutputSet answer, Ask(request, *call.trial));
    if (shards.merge) Misread(answer);
    CopyKept(call, answer, shards.calls[n].part,
             shards.merge ? parts : outputs);
    HandOver(n, std::move(answer), &handed);
  }
  if (!shards.merge) return {};
  RETURN_IF_ERROR(shards.merge({&parts, 1}, outputs).status());
  Misfinish(parts, outputs);
  return {};
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

// Keeps the answer that the next shard goes on from.
void ShardedKernel::HandOver(size_t n, OutputSet answer,
                             OutputSet* handed) const {
  if (n > 0 && bug_.glue == Glue::kCarryOfFirst) return;
  *handed = std::move(answer);
  if (bug_.glue != Glue::kNoCarry) return;
  for (size_t t = 1; t < handed->tensors.size(); ++t) {
    const MutableLaneView& view = handed->tensors[t].view;
    ForElements(view.shape, [&](const At& at) { SetElement(view, at, 0); });
  }
}

// What is done to the merged rows.
void ShardedKernel::Misfinish(const OutputSet& parts,
                              const OutputSet& outputs) const {
  const MutableLaneView& o = outputs.tensors[0].view;
  const int64_t heads = o.shape[1], queries = o.shape[2];
  ForElements({o.shape[0], heads, queries, 1}, [&](const At& at) {
    const int64_t row = (at[0] * heads + at[1]) * queries + at[2];
    float most = -kInf;
    for (int64_t part = 0; part < shard_.count; ++part) {
      most = std::max(most, LseOf(parts, {part, 0, row, 0}));
    }
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

}  // namespace

Result<std::unique_ptr<Candidate>> MakeShardedKernel(const ShardBug& bug,
                                                     const std::string& cut,
                                                     const std::string& base) {
  std::string spec = bug.name;
  if (!cut.empty()) spec += ",shard=" + cut;
  if (!base.empty()) spec += ",base=" + base;
  ASSIGN_OR_RETURN(auto usual,
                   ParseVariantCandidate(base.empty() ? bug.usual : base));
  if (!usual->traits().claims) {
    return Status::Error("base=" + base +
                         ": answers of the exact contract are not merged; "
                         "want a variant with a profile, such as base=cpu");
  }
  const ShardAxis axis = ReadShard(bug.shard)->axis;
  ASSIGN_OR_RETURN(const ShardSpec shard,
                   ReadShard(cut.empty() ? bug.shard : cut));
  if (shard.axis != axis) {
    return Status::Error("shard=" + cut + ": the bug is of " +
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
  std::string cut, base;
  name.remove_prefix(comma);
  while (!name.empty()) {
    name.remove_prefix(1);
    const std::string_view one = name.substr(0, name.find(','));
    name.remove_prefix(one.size());
    if (one.starts_with("shard=")) {
      cut = one.substr(6);
    } else if (one.starts_with("base=")) {
      base = one.substr(5);
    } else {
      return Status::Error("candidate argument '" + std::string(one) +
                           "': want shard=AXIS:N or base=VARIANT");
    }
  }
  return MakeShardedKernel(*bug, cut, base);
}

}  // namespace lockstep::verify
