#include "verify/judge/claims/pair_judge.h"

#include <algorithm>
#include <set>
#include <utility>

#include "verify/judge/judge.h"
#include "verify/judge/runs/again.h"
#include "verify/judge/runs/kept.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
namespace {

// Runs of claim repeat in sizes that are not the case's own.
constexpr int64_t kFewRuns = 5;

}  // namespace

Found PairJudge::OpenLarger(const ClaimSize& size, Larger* larger) {
  Result<Case> whole = row_.whole(*request_.request->call, size);
  if (!whole.ok() || !ValidateCase(whole.value()).ok()) return Found::kNone;
  if (EstimateBytes(whole.value()) >
      request_.materialise.max_bytes / kJudgeCopies) {
    tried_->cut_short = true;
    return Found::kNone;
  }
  larger->request = std::move(whole.value());
  Result<std::unique_ptr<Trial>> trial =
      Open(larger->request, candidate_.traits().fixed.shift);
  if (!trial.ok()) return SelfError(trial.message());
  larger->trial = std::move(trial.value());
  const bool declared =
      request_.profile == nullptr ||
      larger->trial->envelopes().WhyUndeclared(*request_.profile).empty();
  if (!declared) return Found::kNone;
  larger->asked = *request_.request;
  larger->asked.call = &larger->request;
  larger->asked.line = MinimalLine(larger->request);
  Result<OutputSet> outputs =
      larger->trial->Allocate(candidate_.traits().fixed.shift);
  if (!outputs.ok()) return SelfError(outputs.message());
  larger->outputs = std::move(outputs.value());
  return Found::kHeld;
}

std::vector<OtherCall> PairJudge::OthersOf(const ClaimSize& size,
                                           const LargerCall& at) {
  if (tried_->claim == Claim::kSplit) return SplitCalls(candidate_, at.trial);
  if (tried_->claim == Claim::kRepeat) {
    const bool own = size.length == own_length_;
    return RepeatCalls(candidate_, at, own ? request_.budget.runs : kFewRuns);
  }
  const uint64_t salt = SaltOf(at.trial.InputDigest());
  std::vector<OtherCall> calls;
  for (ClaimPart& part : row_.parts(at.trial, size, salt)) {
    calls.push_back({std::move(part.what), std::move(part.line),
                     std::move(part.make), candidate_.traits().fixed,
                     part.compared, std::move(part.zeros_alike)});
  }
  return calls;
}

// kHeld: it ran.
Found PairJudge::RunCall(const CaseRequest& asked, const Trial& trial,
                         const OtherCall& call, PoisonBits poison,
                         const OutputSet& outputs) {
  const GuardedRun run =
      RunGuarded(candidate_, asked, trial, call.how, poison, outputs);
  ++result_->runs;
  ++tried_->runs;
  std::vector<Finding> broken = GuardFindings(run, "");
  for (Finding& finding : broken) {
    finding.line = asked.line;
    result_->findings.push_back(std::move(finding));
  }
  if (!broken.empty()) return Found::kEnded;
  if (run.outcome.state == RunOutcome::State::kRan) return Found::kHeld;
  tried_->refused.push_back(call.what + ": " + run.outcome.message);
  return Found::kRefused;
}

bool PairJudge::DiffersFromItself(const CaseRequest& asked, const Trial& trial,
                                  const OutputSet& first) {
  if (!IsARace(candidate_, asked, trial, first, result_)) return false;
  result_->findings.back().line = asked.line;
  return true;
}

std::vector<std::vector<LinePair>> PairJudge::Said(
    const Trial& larger, std::vector<std::vector<LinePair>> kept) const {
  const auto open_lines = op_.pairs().open_lines;
  if (open_lines == nullptr || request_.profile == nullptr) return kept;
  for (size_t t = 0; t < kept.size(); ++t) {
    const auto lines = open_lines(larger, *request_.profile, t);
    const std::set<int64_t> open(lines.begin(), lines.end());
    std::erase_if(
        kept[t], [&](const LinePair& pair) { return open.contains(pair.own); });
  }
  return kept;
}

Found PairJudge::Compare(const Larger& larger, const OtherCall& call,
                         const LawCall& made, const OutputSet& produced) {
  const Trial& there = made.trial ? *made.trial : *larger.trial;
  const auto compared = CompareKept({.own = *larger.trial,
                                     .base = larger.outputs,
                                     .there = there,
                                     .kept = Said(*larger.trial, made.kept),
                                     .produced = produced,
                                     .profile = request_.profile,
                                     .zeros_alike = &call.zeros_alike});
  if (compared.empty()) return Found::kNone;
  ++tried_->pairs;
  const Comparison* first = nullptr;
  for (const Comparison& one : compared) {
    tried_->elements += one.expected_elements;
    tried_->differing += one.Over();
    tried_->max_ulp = std::max(tried_->max_ulp, one.max_ulp);
    if (!one.Passed() && first == nullptr) first = &one;
  }
  if (first == nullptr) return Found::kHeld;
  ++tried_->broken;
  CaseRequest asked = larger.asked;
  if (!call.line.empty()) asked.line = call.line;
  const bool race =
      DiffersFromItself(larger.asked, *larger.trial, larger.outputs) ||
      (made.trial && DiffersFromItself(asked, there, produced));
  if (race && tried_->claim != Claim::kRepeat) {
    tried_->why_not = "the same call gives other bits when it is run again";
    return Found::kEnded;
  }
  tried_->state = ClaimState::kBroken;
  tried_->pair = call.what;
  tried_->difference = *first;
  tried_->whole_line = larger.asked.line;
  tried_->part_line = asked.line;
  if (call.how.splits) tried_->begins_width = *call.how.splits;
  return race ? Found::kEnded : Found::kDiffers;
}

Found PairJudge::Hold(const Larger& larger, const OtherCall& call,
                      OutputSet* before) {
  LawCall made;
  if (call.make) {
    Result<LawCall> one = call.make();
    if (!one.ok()) return SelfError(one.message());
    made = std::move(one.value());
  } else {
    made.kept = AllLines(*larger.trial);
  }
  for (const TakenInput& taken : made.taken) {
    if (request_.profile == nullptr ||
        HasOutput(*request_.profile, taken.output)) {
      continue;
    }
    tried_->refused.push_back(call.what + ": its profile has no " +
                              taken.output + " to go on from");
    return Found::kRefused;
  }
  const Trial& trial = made.trial ? *made.trial : *larger.trial;
  if (made.take) made.take(*before);
  Result<OutputSet> outputs = trial.Allocate(call.how.shift);
  if (!outputs.ok()) return SelfError(outputs.message());
  CaseRequest asked = larger.asked;
  if (!call.line.empty()) asked.line = call.line;
  asked.taken = made.taken;
  const Found ran = RunCall(asked, trial, call, kSecondPoison, outputs.value());
  if (ran != Found::kHeld) return ran;
  const Found found = call.compared
                          ? Compare(larger, call, made, outputs.value())
                          : Found::kHeld;
  *before = std::move(outputs.value());
  return found;
}

// Twice as long where that makes sense, with other numbers.
Case PairJudge::LongerThan(ClaimSize size) const {
  const auto valid = [](const Result<Case>& c) {
    return c.ok() && ValidateCase(c.value()).ok();
  };
  Result<Case> longer = row_.whole(*request_.request->call, size);
  if (op_.pairs().grows(*request_.request->call)) {
    size.length *= 2;
    Result<Case> twice = row_.whole(*request_.request->call, size);
    if (valid(twice)) longer = std::move(twice);
  }
  ++longer->seed;
  return std::move(longer.value());
}

Found PairJudge::Try(const ClaimSize& size) {
  Larger larger;
  const Found opened = OpenLarger(size, &larger);
  if (opened != Found::kHeld) return opened;
  OtherCall itself;
  itself.what = "the larger call";
  itself.how = candidate_.traits().fixed;
  const Found ran = RunCall(larger.asked, *larger.trial, itself, kFirstPoison,
                            larger.outputs);
  if (ran != Found::kHeld) return ran;
  const LargerCall at = {
      larger.request, *larger.trial, LongerThan(size),
      [this](const Case& c, int64_t shift) { return Open(c, shift); }};
  const int64_t pairs = tried_->pairs;
  OutputSet before;
  for (const OtherCall& call : OthersOf(size, at)) {
    if (request_.stop != nullptr && *request_.stop) break;
    const Found found = Hold(larger, call, &before);
    if (found == Found::kDiffers || found == Found::kEnded) return found;
    // What follows may rest on it.
    if (found == Found::kRefused && call.make) return found;
  }
  if (tried_->pairs == pairs) return Found::kNone;
  tried_->longest = std::max(tried_->longest, size.length);
  tried_->widest = std::max(tried_->widest, size.width);
  return Found::kHeld;
}

}  // namespace lockstep::verify
