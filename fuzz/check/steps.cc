// The steps of check behind the shapes: drawn cases, pairs of calls, what was
// not looked at.
#include <algorithm>
#include <utility>

#include "fuzz/check/arithmetic.h"
#include "fuzz/check/check.h"
#include "fuzz/check/shapes.h"
#include "verify/base/format.h"
#include "verify/report/words.h"

namespace lockstep::fuzz::check {
namespace {

using verify::CaseResult;
using verify::Count;
using verify::Grouped;

constexpr double kClaims = 5;  // seconds, of pairs of calls

}  // namespace

bool Check::JudgeGradients() {
  if (looked_.gradients.empty()) {
    unseen_.emplace_back("backward");
    return true;
  }
  const auto lines = GradientLines(looked_);
  if (!lines.ok() || Left() < kDrawing) {
    unseen_.emplace_back("backward (no time left)");
    return true;
  }
  Judging how = How(true);
  how.spec = looked_.gradients;
  how.profile += "; grad.from = own";
  if (looked_.lse_base.empty()) how.profile += "; lse = none";
  how.seconds = AtMost(Left() / 4);
  const Result<Answers> answers = JudgeLines(lines.value(), how);
  if (!answers.ok()) return Refuse(answers.status());
  const CaseResult* wrong = answers->Wrong();
  if (wrong != nullptr) {
    looked_.spec = how.spec;
    profile_ = how.profile;
    return Fail(*wrong);
  }
  if (answers->totals.pass > 0) {
    screen_.Say("backward",
                Count(answers->totals.pass, "shape") +
                    " by autograd in f32, each gradient inside "
                    "what " +
                    ArithmeticsOf(looked_, lane_)[arithmetic_].name +
                    " arithmetic allows");
  }
  for (const CaseResult& result : answers->cases) {
    if (result.verdict == verify::Verdict::kPass) continue;
    unseen_.push_back(result.line + " (" + result.reason + ")");
  }
  return true;
}

bool Check::Draw() {
  Drawing how;
  how.stop = request_.stop;
  for (;;) {
    how.profile = profile_;
    if (request_.budget.cases) {
      how.cases = *request_.budget.cases;
    } else {
      // Pairs of calls come behind it; a third where there is more than 60 s.
      how.seconds =
          std::min(Left() - 2 * kClaims - 2, std::max(20.0, Left() / 3));
      if (*how.seconds < 1) return true;
    }
    Result<Drawn> drawn = DrawCases(looked_, how);
    if (!drawn.ok()) return Refuse(drawn.status());
    drawn_ = std::move(drawn.value());
    if (drawn_.faults.empty()) break;
    CaseResult first;
    const Fault& fault = drawn_.faults.front();
    first.line = verify::MinimalLine(fault.shrunk.sequence);
    first.verdict = fault.shrunk.outcome.verdict;
    first.reason = fault.shrunk.outcome.message;
    first.replay_case = first.line;
    first.replay_candidate = looked_.spec;
    if (!Widen(first.line)) return Fail(first);
  }
  SayDrawn();
  return true;
}

bool Check::Widen(const std::string& line) {
  const std::vector<Arithmetic> all = ArithmeticsOf(looked_, lane_);
  const std::string before = profile_;
  std::vector<std::string> lines = lines_;
  lines.push_back(line);
  for (size_t n = arithmetic_ + 1; n < all.size(); ++n) {
    profile_ = ProfileOf(all[n], looked_);
    Judging how = How(true);
    how.seconds = std::max(Left(), 1.0);
    const Result<Answers> answers = JudgeLines(lines, how);
    if (!answers.ok() || answers->Wrong() != nullptr) continue;
    arithmetic_ = n;
    screen_.Say("", "a drawn case needs " + all[n].name +
                        " arithmetic, which all shapes are judged by now");
    return true;
  }
  profile_ = before;
  return false;
}

void Check::SayDrawn() {
  const Counts& n = drawn_.counts;
  std::string text = Count(n.pass, "drawn case") + " right in " +
                     verify::Seconds(drawn_.seconds);
  if (n.untrusted > 0)
    text += ", " + Grouped(n.untrusted) +
            (n.untrusted == 1 ? " proves little" : " prove little");
  if (n.skipped > 0) text += ", " + Grouped(n.skipped) + " not taken";
  screen_.Say("drawn", text + "; " + drawn_.sizes);
  if (looked_.reach > 0 && drawn_.past == 0) {
    unseen_.emplace_back("drawn cases past the mask's bound");
  } else if (looked_.reach > 0) {
    screen_.Say("", Count(drawn_.past, "case") + " of more than " +
                        Count(looked_.reach, "key") +
                        ", where the mask's bound acts");
  }
  for (const Fault& told : drawn_.conventions) {
    screen_.Say("", "NaN: " + told.convention);
  }
  for (const std::string& word : drawn_.never) {
    Miss("a drawn case with " + word);
  }
}

bool Check::TimeOne() {
  const auto lines = TimedLines(looked_, lane_);
  double longest = 0;
  for (const CaseResult& result : shapes_.cases) {
    longest = std::max(longest, result.candidate_seconds);
  }
  // The timed call has some 200 times the work of the largest shape.
  const bool slow =
      request_.budget.seconds && (Left() < kClaims || 200 * longest > kClaims);
  if (!lines.ok() || slow) {
    unseen_.emplace_back("speed");
    return true;
  }
  const Result<Answers> answers = JudgeLines(lines.value(), How(false));
  if (!answers.ok()) return Refuse(answers.status());
  if (const CaseResult* wrong = answers->Wrong()) return Fail(*wrong);
  const CaseResult& timed = answers->cases.front();
  if (timed.verdict == verify::Verdict::kSkipped) return true;
  screen_.Say("speed", verify::Format("%.3g ms a call of ",
                                      1000 * timed.candidate_seconds) +
                           timed.line + ", right as well");
  return true;
}

void Check::CompareBits() {
  if (Left() < 2 * kClaims) {
    return unseen_.push_back("same bits (no time left)");
  }
  const auto lines = ClaimLines(looked_, lane_);
  const Result<verify::ClaimSet> claims =
      verify::ParseClaims("repeat, batch, heads");
  if (!lines.ok() || !claims.ok()) return;
  Judging how = How(true);
  how.profile =
      ProfileOf(ArithmeticsOf(looked_, lane_)[arithmetic_], looked_, true);
  how.claims = claims.value();
  how.seconds = kClaims;
  const Result<Answers> answers = JudgeLines(lines.value(), how);
  if (!answers.ok()) return;
  std::vector<std::string> kept, broken;
  for (const CaseResult& result : answers->cases) {
    for (const verify::ClaimTried& tried : result.claims_tried) {
      const std::string name =
          tried.claim == verify::Claim::kRepeat  ? "run again"
          : tried.claim == verify::Claim::kBatch ? "in other batches"
                                                 : "among other heads";
      if (tried.state == verify::ClaimState::kKept) kept.push_back(name);
      if (tried.state == verify::ClaimState::kBroken) broken.push_back(name);
    }
  }
  if (kept.empty() && broken.empty()) unseen_.emplace_back("same bits");
  if (!kept.empty()) screen_.Say("same bits", Listed(kept));
  if (!broken.empty()) {
    screen_.Say(
        kept.empty() ? "same bits" : "",
        "not " + Listed(broken) + " (within what is allowed, each time)");
  }
}

void Check::SayUnseen() {
  for (size_t n = 0; n < looked_.yours.size(); ++n) {
    screen_.Say(n == 0 ? "yours" : "", looked_.yours[n]);
  }
  std::vector<std::string> words;
  if (looked_.op == "attention_forward" && looked_.lse_base.empty()) {
    words.emplace_back("lse (none is returned)");
  }
  if (!looked_.beside.empty()) words.push_back(looked_.beside);
  if (looked_.longest > 0) {
    words.push_back("a window above " + Count(looked_.longest, "key"));
  }
  for (const auto* list : {&looked_.unseen, &unseen_}) {
    words.insert(words.end(), list->begin(), list->end());
  }
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : "; ") + word;
  }
  screen_.Say("not seen", text);
  for (size_t n = 0; n < looked_.limits.size(); ++n) {
    screen_.Say(n == 0 ? "not taken" : "", looked_.limits[n]);
  }
}

}  // namespace lockstep::fuzz::check
