#include "verify/judge/shards/shards.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "verify/base/compare.h"
#include "verify/judge/answers.h"
#include "verify/judge/runs/kept.h"
#include "verify/judge/truth.h"
#include "verify/ops/envelopes.h"
#include "verify/ops/shards.h"

namespace lockstep::verify {
namespace {

constexpr const char* kLaw = "shard";
constexpr const char* kCheck = "law_shard";

// A cut of the case, and its outputs, made of the answers.
struct Whole {
  Shards shards;
  OutputSet outputs;
};

class ShardJudge {
 public:
  ShardJudge(const ShardsRequest& request, CaseResult* result)
      : request_(request),
        laws_(request.laws),
        trial_(*request.laws.trial),
        shard_(*request.laws.request->call->shard),
        result_(*result),
        tried_(result->shards.emplace()) {
    tried_.shard = FormatShard(shard_);
  }

  void Run() {
    const std::optional<Whole> whole = AskFor(shard_);
    named_ = true;
    if (whole && laws_.rehearsal && ComparesRing()) AskForKeys();
    if (laws_.rehearsal) return;
    if (whole) Judge(*whole);
    if (LeavesSums() && result_.findings.empty()) JudgeSums();
  }

 private:
  // Makes all calls and puts their answers together. None: that was not
  // possible, or something was found.
  std::optional<Whole> AskFor(const ShardSpec& shard);
  std::optional<Whole> AskForKeys() {
    return AskFor({ShardAxis::kKv, shard_.count});
  }
  // The answers to all calls. None: it ended there.
  std::optional<OutputSet> AskAll(const Shards& shards);
  std::optional<OutputSet> Ask(const LawCall& call, const std::string& what);
  void Judge(const Whole& whole);
  void JudgeMerged(const Whole& whole);
  // The bits of a ring are those of shards of keys alone, because a query's
  // answer does not depend on other queries.
  bool ComparesRing() const {
    return laws_.profile == nullptr && shard_.axis == ShardAxis::kRing;
  }
  // Tells whether the kernel is also asked for the sums of parts of the keys.
  bool LeavesSums() const {
    const bool keys =
        shard_.axis == ShardAxis::kKv || shard_.axis == ShardAxis::kRing;
    return keys && laws_.profile == nullptr && laws_.candidate->traits().parts;
  }
  // For our own kernels: the joined sums of the shards of keys have the bits of
  // the case with as many parts.
  void JudgeSums();
  // The case's outputs, joined of these sums. `split`: the answer to the case
  // with as many parts, where that is another.
  std::optional<Whole> AskForSums(std::optional<OutputSet>* split);
  // Tells whether each line of the whole is some shard's.
  bool IsWhole();
  void CompareBits(const OutputSet& outputs, const OutputSet& base,
                   const std::vector<bool>& zeros_alike,
                   const std::string& with);
  void CompareAllowed(const Trial& trial, const AllowedResults& allowed,
                      const OutputSet& produced, const std::string& of);

  // Both return none, of whatever ended there.
  std::nullopt_t Self(const std::string& message) {
    result_.findings.push_back(
        {Tier::kSelf, kCheck, message, "", std::nullopt});
    return std::nullopt;
  }
  std::nullopt_t NotTried(const std::string& why) {
    tried_.why_not = why;
    return std::nullopt;
  }

  const ShardsRequest& request_;
  const LawsRequest& laws_;
  const Trial& trial_;
  const ShardSpec shard_;
  CaseResult& result_;
  ShardsTried& tried_;
  bool named_ = false;  // the result names the calls and the empty shards
  bool sums_ = false;   // our own kernel is asked for sums
  // Per output, the lines of the whole that shards have answered.
  std::vector<std::vector<bool>> answered_;
};

std::optional<Whole> ShardJudge::AskFor(const ShardSpec& shard) {
  Result<Shards> made = trial_.laws().MakeShards({shard, laws_.profile});
  if (!made.ok()) return Self(made.message());
  Whole whole{std::move(made.value()), {}};
  const Shards& shards = whole.shards;
  if (!shards.why_not.empty()) return NotTried(shards.why_not);
  if (!named_) tried_.empty = shards.empty;
  std::optional<OutputSet> answers = AskAll(shards);
  if (!answers) return std::nullopt;
  if (!shards.merge) {
    whole.outputs = std::move(*answers);
  } else if (!laws_.rehearsal) {
    Result<OutputSet> outputs = trial_.Allocate(0);
    if (!outputs.ok()) return Self(outputs.message());
    whole.outputs = std::move(outputs.value());
    const Result<bool> merged = shards.merge({&*answers, 1}, whole.outputs);
    if (!merged.ok()) return Self(merged.message());
  }
  return whole;
}

std::optional<OutputSet> ShardJudge::AskAll(const Shards& shards) {
  Result<OutputSet> answers = AllocateAnswers(shards, trial_);
  if (!answers.ok()) return Self(answers.message());
  answered_.clear();
  for (const OutputSpec& spec : trial_.outputs()) {
    answered_.emplace_back(static_cast<size_t>(spec.lines()), false);
  }
  OutputSet before;
  for (const ShardCall& one : shards.calls) {
    if (laws_.stop != nullptr && *laws_.stop) return NotTried("interrupted");
    if (!named_) tried_.calls.push_back(one.what);
    Result<LawCall> made = one.make();
    if (!made.ok()) return Self(made.message());
    const LawCall& call = made.value();
    if (call.take) {
      const bool files = laws_.rehearsal || !laws_.candidate->traits().computes;
      if (files && call.taken.empty()) {
        return NotTried(one.what +
                        ": answers from files hand over whole carries, "
                        "and here a run begins or ends");
      }
      call.take(before);
    }
    std::optional<OutputSet> answer = Ask(call, one.what);
    if (!answer) return std::nullopt;
    CopyKept(call, *answer, one.part, answers.value());
    for (size_t t = 0; t < answered_.size(); ++t) {
      for (const LinePair& pair : call.kept[t]) {
        answered_[t][static_cast<size_t>(pair.own)] = true;
      }
    }
    if (!shards.chained) continue;
    // From the carry that it really got, whether that is right or not.
    if (!laws_.rehearsal && laws_.profile != nullptr) {
      const auto allowed = call.trial->envelopes().Envelope(
          *laws_.profile, RowsToCompare(*call.trial, false), laws_.threads);
      CompareAllowed(*call.trial, *allowed, *answer, one.what);
    }
    before = std::move(*answer);
  }
  return std::move(answers.value());
}

std::optional<OutputSet> ShardJudge::Ask(const LawCall& call,
                                         const std::string& what) {
  Result<OutputSet> outputs =
      call.trial->Allocate(laws_.candidate->traits().fixed.shift);
  if (!outputs.ok()) return Self(outputs.message());
  RunOutcome outcome;
  const LawAnswer answer =
      AskLaw(laws_, kLaw, call, false, outputs.value(), &outcome, &result_);
  if (answer == LawAnswer::kAnswered) return std::move(outputs.value());
  const bool broken = answer == LawAnswer::kBroken;
  if (sums_ && broken) return std::nullopt;
  if (sums_) {
    return Self("our own kernel leaves no sums of parts: " + outcome.message);
  }
  if (answer == LawAnswer::kAbsent) NoteUnanswered(kCheck, outcome, &result_);
  return NotTried(broken ? "something else was found"
                         : what + ": " + outcome.message);
}

void ShardJudge::CompareBits(const OutputSet& outputs, const OutputSet& base,
                             const std::vector<bool>& zeros_alike,
                             const std::string& with) {
  const auto compared = CompareKept({.own = trial_,
                                     .base = base,
                                     .there = trial_,
                                     .kept = AllLines(trial_),
                                     .produced = outputs,
                                     .profile = laws_.profile,
                                     .zeros_alike = &zeros_alike});
  for (const Comparison& comparison : compared) {
    tried_.elements += comparison.Compared();
  }
  NoteBits(laws_, kLaw,
           "shard=" + tried_.shard + " has other bits than " + with, compared,
           &result_);
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
    tried_.elements += found.expected - found.Open();
    NoteBounds(trial, kLaw,
               "shard=" + tried_.shard + " is outside the envelope of " + of,
               std::move(found), &result_);
  }
}

bool ShardJudge::IsWhole() {
  for (size_t t = 0; t < answered_.size(); ++t) {
    for (const bool answered : answered_[t]) {
      if (answered) continue;
      Self("no shard has a line of " + trial_.outputs()[t].name);
      return false;
    }
  }
  return true;
}

void ShardJudge::Judge(const Whole& whole) {
  const bool exact = laws_.profile == nullptr;
  if (whole.shards.merge) {
    JudgeMerged(whole);
  } else if (whole.shards.chained && !exact) {
    // Each call was judged when it was answered.
  } else if (!IsWhole()) {
    // The judge is broken.
  } else if (exact) {
    CompareBits(whole.outputs, *laws_.base, whole.shards.zeros_alike,
                "the case");
  } else {
    CompareAllowed(trial_, *request_.allowed, whole.outputs, "the case");
  }
}

void ShardJudge::JudgeMerged(const Whole& whole) {
  const auto allowed = whole.shards.allowed(request_.rows, laws_.threads);
  if (!allowed.ok()) {
    Self(allowed.message());
    return;
  }
  CompareAllowed(trial_, *allowed.value(), whole.outputs, "merged shards");
  if (!ComparesRing() || !result_.findings.empty()) return;
  const std::optional<Whole> keys = AskForKeys();
  if (!keys) return;
  CompareBits(whole.outputs, keys->outputs, {},
              "shards of keys that have all queries");
}

std::optional<Whole> ShardJudge::AskForSums(std::optional<OutputSet>* split) {
  Result<OutputSet> joined = trial_.Allocate(0);
  if (!joined.ok()) return Self(joined.message());
  std::vector<OutputSet> rounds;
  for (const ShardAnswer asked :
       {ShardAnswer::kSums, ShardAnswer::kSmallSums}) {
    Result<Shards> made = trial_.laws().MakeShards({shard_, nullptr, asked});
    if (!made.ok()) return Self(made.message());
    const Shards& shards = made.value();
    tried_.parts = shards.why_not;
    if (!tried_.parts.empty()) return std::nullopt;
    if (rounds.empty() && shards.whole) {
      const Result<LawCall> call = shards.whole();
      if (!call.ok()) return Self(call.message());
      *split = Ask(call.value(), shards.form);
      if (!*split) return std::nullopt;
    }
    std::optional<OutputSet> sums = AskAll(shards);
    if (!sums) return std::nullopt;
    rounds.push_back(std::move(*sums));
    const Result<bool> more = shards.merge(rounds, joined.value());
    if (!more.ok()) return Self(more.message());
    if (more.value()) continue;
    return Whole{std::move(made.value()), std::move(joined.value())};
  }
  return Self("the sums of parts want more than small weights");
}

void ShardJudge::JudgeSums() {
  sums_ = true;
  std::optional<OutputSet> split;
  const std::optional<Whole> joined = AskForSums(&split);
  if (!joined) return;
  const std::string& form = joined->shards.form;
  tried_.parts = "the bits of " + form;
  if (!tried_.why_not.empty()) {
    tried_.parts += "; merged by their lse: " + tried_.why_not;
    tried_.why_not.clear();  // bits prove more than any bound
  }
  CompareBits(joined->outputs, split ? *split : *laws_.base, {},
              "the case with " + form + " where its parts are joined");
}

}  // namespace

void JudgeShards(const ShardsRequest& request, CaseResult* result) {
  ShardJudge(request, result).Run();
}

}  // namespace lockstep::verify
