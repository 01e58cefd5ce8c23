#include "verify/judge/shards/shards.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "verify/base/compare.h"
#include "verify/judge/answers.h"
#include "verify/judge/bounded.h"
#include "verify/judge/invariance.h"
#include "verify/judge/runs/again.h"
#include "verify/judge/runs/kept.h"
#include "verify/judge/truth.h"
#include "verify/ops/envelopes.h"
#include "verify/ops/shards.h"

namespace lockstep::verify {
namespace {

constexpr const char* kLaw = "shard";
constexpr const char* kCheck = "law_shard";

// Outputs of the whole, made of lines of calls.
struct Whole {
  OutputSet outputs;
  // Per output and line, the call that it is from; -1: none yet.
  std::vector<std::vector<int64_t>> from;
};

class ShardJudge {
 public:
  ShardJudge(const ShardsRequest& request, CaseResult* result)
      : request_(request),
        laws_(request.laws),
        trial_(*request.laws.trial),
        candidate_(*request.laws.candidate),
        shard_(*request.laws.request->call->shard),
        result_(*result),
        tried_(result->shards.emplace()) {
    tried_.shard = FormatShard(shard_);
  }

  void Run() {
    const std::optional<Whole> whole = Ask(shard_, true);
    if (laws_.rehearsal) {
      if (whole && ComparesRing()) Ask({ShardAxis::kKv, shard_.count}, false);
      return;
    }
    if (whole && merged_ != nullptr) {
      JudgeMerged(*whole);
    } else if (whole && !chained_by_profile_) {
      JudgeSideBySide(*whole);
    }
    if (LeavesParts() && result_.findings.empty()) JudgeParts();
  }

 private:
  // Makes all calls and puts their answers together. None: that was not
  // possible, or something was found. `name`: the result names the calls.
  std::optional<Whole> Ask(const ShardSpec& shard, bool name);
  // One call. False: it ended there.
  bool AskOne(const Shards& shards, size_t n, OutputSet* before, Whole* whole);
  void JudgeMerged(const Whole& whole);
  void JudgeSideBySide(const Whole& whole);
  // Whether the kernel is also asked for shards as parts.
  bool LeavesParts() const {
    const bool keys =
        shard_.axis == ShardAxis::kKv || shard_.axis == ShardAxis::kRing;
    return keys && laws_.profile == nullptr && candidate_.traits().parts;
  }
  // For our own kernels: the joined states of the shards of keys have the bits
  // of the case with as many parts.
  void JudgeParts();
  // The answer to one call that may not be refused. None: something was found.
  std::optional<OutputSet> Answer(const LawCall& call);
  // The bits are those of merged shards of keys alone, because a query's answer
  // does not depend on other queries.
  void JudgeRing(const Whole& ring);
  bool ComparesRing() const {
    return laws_.profile == nullptr && shard_.axis == ShardAxis::kRing;
  }
  void CompareBits(const Whole& whole, const OutputSet& base,
                   const std::vector<bool>& zeros_alike,
                   const std::string& with);
  void CompareAllowed(const Trial& trial, const AllowedResults& allowed,
                      const OutputSet& produced, const std::string& of);

  bool Self(const std::string& message) {
    result_.findings.push_back(
        {Tier::kSelf, kCheck, message, "", std::nullopt});
    return false;
  }
  bool NotTried(const std::string& why) {
    tried_.why_not = why;
    return false;
  }

  const ShardsRequest& request_;
  const LawsRequest& laws_;
  const Trial& trial_;
  const Candidate& candidate_;
  const ShardSpec shard_;
  CaseResult& result_;
  ShardsTried& tried_;
  std::unique_ptr<ShardMerge> merged_;
  std::vector<bool> zeros_alike_;
  // Calls of a profile's kernel that go on from carries are judged one by one.
  bool chained_by_profile_ = false;
};

std::optional<Whole> ShardJudge::Ask(const ShardSpec& shard, bool name) {
  Result<Shards> made = trial_.laws().MakeShards({shard, laws_.profile});
  if (!made.ok()) return Self(made.message()), std::nullopt;
  Shards& shards = made.value();
  if (!shards.why_not.empty()) return NotTried(shards.why_not), std::nullopt;
  if (name) {
    tried_.empty = shards.empty;
    zeros_alike_ = shards.zeros_alike;
  }
  chained_by_profile_ = shards.chained && laws_.profile != nullptr;
  Result<OutputSet> outputs = trial_.Allocate(0);
  if (!outputs.ok()) return Self(outputs.message()), std::nullopt;
  Whole whole{std::move(outputs.value()), {}};
  for (const OutputSpec& spec : trial_.outputs()) {
    whole.from.emplace_back(static_cast<size_t>(spec.lines()), -1);
  }
  OutputSet before;
  for (size_t n = 0; n < shards.calls.size(); ++n) {
    if (laws_.stop != nullptr && *laws_.stop) {
      return NotTried("interrupted"), std::nullopt;
    }
    if (name) tried_.calls.push_back(shards.calls[n].what);
    if (!AskOne(shards, n, &before, &whole)) return std::nullopt;
  }
  merged_ = std::move(shards.merge);
  if (merged_ == nullptr || laws_.rehearsal) return whole;
  const Status status = merged_->Merge(whole.outputs);
  if (!status.ok()) return Self(status.message()), std::nullopt;
  return whole;
}

bool ShardJudge::AskOne(const Shards& shards, size_t n, OutputSet* before,
                        Whole* whole) {
  const std::string& what = shards.calls[n].what;
  Result<LawCall> made = shards.calls[n].make();
  if (!made.ok()) return Self(made.message());
  LawCall& call = made.value();
  if (call.take) {
    const bool files = laws_.rehearsal || !laws_.candidate->traits().computes;
    if (files && call.taken.empty()) {
      return NotTried(what +
                      ": answers from files hand over whole carries, "
                      "and here a run begins or ends");
    }
    call.take(*before);
  }
  Result<OutputSet> outputs =
      call.trial->Allocate(laws_.candidate->traits().fixed.shift);
  if (!outputs.ok()) return Self(outputs.message());
  RunOutcome outcome;
  switch (
      AskLaw(laws_, kLaw, call, false, outputs.value(), &outcome, &result_)) {
    case LawAnswer::kAnswered:
      break;
    case LawAnswer::kBroken:
      return NotTried("something else was found");
    case LawAnswer::kRefused:
      return NotTried(what + ": " + outcome.message);
    case LawAnswer::kAbsent:
      NoteUnanswered(kCheck, outcome, &result_);
      return NotTried(what + ": " + outcome.message);
  }
  CopyKept(call, outputs.value(), trial_, whole->outputs);
  for (size_t t = 0; t < call.kept.size(); ++t) {
    for (const LinePair& pair : call.kept[t]) {
      whole->from[t][static_cast<size_t>(pair.own)] = static_cast<int64_t>(n);
    }
  }
  if (!laws_.rehearsal && chained_by_profile_) {
    const auto allowed = call.trial->envelopes().Envelope(
        *laws_.profile, RowsToCompare(*call.trial, false), laws_.threads);
    CompareAllowed(*call.trial, *allowed, outputs.value(), what);
  }
  if (shards.chained) {
    *before = std::move(outputs.value());
  } else if (shards.merge != nullptr) {
    shards.merge->Add(n, std::move(call), std::move(outputs.value()));
  }
  return true;
}

void ShardJudge::CompareBits(const Whole& whole, const OutputSet& base,
                             const std::vector<bool>& zeros_alike,
                             const std::string& with) {
  const auto compared = CompareKept({.own = trial_,
                                     .base = base,
                                     .there = trial_,
                                     .kept = AllLines(trial_),
                                     .produced = whole.outputs,
                                     .profile = laws_.profile,
                                     .zeros_alike = &zeros_alike});
  for (const Comparison& comparison : compared) {
    if (!comparison.Passed() && IsARace(*laws_.candidate, *laws_.request,
                                        trial_, *laws_.base, &result_)) {
      return;
    }
    NoteCheck(&result_, kCheck, comparison.Passed());
    tried_.elements += comparison.Compared();
    if (comparison.Passed()) continue;
    result_.findings.push_back(
        {Tier::kInvariance, kCheck,
         "shard=" + tried_.shard + " has other bits than " + with + ": " +
             DescribeComparison(OutputNamed(trial_, comparison.tensor),
                                comparison),
         "", comparison});
  }
}

void ShardJudge::CompareAllowed(const Trial& trial,
                                const AllowedResults& allowed,
                                const OutputSet& produced,
                                const std::string& of) {
  for (EnvelopeResult& found : allowed.Judge(produced)) {
    // A comparison that no answer could have failed is no pass.
    if (found.Passed() && found.MostlyOpen()) {
      NotTried("the profile bounds next to nothing of " + found.tensor +
               " in " + of);
      continue;
    }
    NoteCheck(&result_, kCheck, found.Passed());
    tried_.elements += found.expected - found.Open();
    if (found.Passed()) continue;
    const std::string message =
        "shard=" + tried_.shard + " is outside the envelope of " + of + ": " +
        DescribeEnvelope(OutputNamed(trial, found.tensor), found);
    result_.findings.push_back({Tier::kEnvelope, kCheck, message, "",
                                std::nullopt, "", std::move(found)});
  }
}

void ShardJudge::JudgeMerged(const Whole& whole) {
  Result<std::unique_ptr<AllowedResults>> allowed =
      merged_->Allowed(request_.rows, laws_.threads);
  if (!allowed.ok()) {
    Self(allowed.message());
    return;
  }
  CompareAllowed(trial_, *allowed.value(), whole.outputs, "merged shards");
  if (ComparesRing() && result_.findings.empty()) JudgeRing(whole);
}

void ShardJudge::JudgeRing(const Whole& ring) {
  const std::optional<Whole> keys = Ask({ShardAxis::kKv, shard_.count}, false);
  if (!keys) return;
  CompareBits(ring, keys->outputs, {}, "shards of keys that have all queries");
}

std::optional<OutputSet> ShardJudge::Answer(const LawCall& call) {
  Result<OutputSet> outputs =
      call.trial->Allocate(candidate_.traits().fixed.shift);
  if (!outputs.ok()) return Self(outputs.message()), std::nullopt;
  RunOutcome outcome;
  switch (
      AskLaw(laws_, kLaw, call, false, outputs.value(), &outcome, &result_)) {
    case LawAnswer::kAnswered:
      return std::move(outputs.value());
    case LawAnswer::kBroken:
      return std::nullopt;
    default:
      Self("our own kernel leaves no sums of parts: " + outcome.message);
      return std::nullopt;
  }
}

void ShardJudge::JudgeParts() {
  Result<PartCalls> made = trial_.laws().MakeParts(shard_);
  Result<OutputSet> joined = trial_.Allocate(0);
  if (!made.ok() || !joined.ok()) {
    Self(made.ok() ? joined.message() : made.message());
    return;
  }
  PartCalls& parts = made.value();
  if (!parts.why_not.empty()) {
    tried_.parts = parts.why_not;
    return;
  }
  const auto ask = [&](Result<LawCall> call) -> std::optional<LawCall> {
    if (!call.ok()) return Self(call.message()), std::nullopt;
    return std::move(call.value());
  };
  std::optional<OutputSet> whole;
  if (parts.whole) {
    const std::optional<LawCall> call = ask(parts.whole());
    if (call) whole = Answer(*call);
    if (!whole) return;
  }
  bool more = true;
  for (int round = 0; more; ++round) {
    for (size_t n = 0; n < parts.calls.size(); ++n) {
      std::optional<LawCall> call = ask(parts.calls[n](round));
      std::optional<OutputSet> answer;
      if (call) answer = Answer(*call);
      if (!answer) return;
      parts.join->Add(n, round, std::move(*call), std::move(*answer));
    }
    const Result<bool> again = parts.join->Join(joined.value());
    if (!again.ok()) {
      Self(again.message());
      return;
    }
    more = again.value();
  }
  tried_.parts = "the bits of " + parts.form;
  if (!tried_.why_not.empty()) {
    tried_.parts += "; merged by their lse: " + tried_.why_not;
    tried_.why_not.clear();  // bits prove more than any bound
  }
  CompareBits({std::move(joined.value()), {}}, whole ? *whole : *laws_.base, {},
              "the case with " + parts.form + " where its parts are joined");
}

void ShardJudge::JudgeSideBySide(const Whole& whole) {
  for (size_t t = 0; t < whole.from.size(); ++t) {
    const std::string& name = trial_.outputs()[t].name;
    for (const int64_t from : whole.from[t]) {
      if (from >= 0) continue;
      Self("no shard has a line of " + name);
      return;
    }
  }
  if (laws_.profile == nullptr) {
    CompareBits(whole, *laws_.base, zeros_alike_, "the case");
  } else {
    CompareAllowed(trial_, *request_.allowed, whole.outputs, "the case");
  }
}

}  // namespace

void JudgeShards(const ShardsRequest& request, CaseResult* result) {
  ShardJudge(request, result).Run();
}

}  // namespace lockstep::verify
