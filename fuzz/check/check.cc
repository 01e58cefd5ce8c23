#include "fuzz/check/check.h"

#include <algorithm>
#include <utility>

#include "fuzz/check/arithmetic.h"
#include "fuzz/check/shapes.h"
#include "verify/base/status_macros.h"
#include "verify/base/text.h"
#include "verify/report/words.h"

namespace lockstep::fuzz::check {
namespace {

using verify::CaseResult;
using verify::Count;
using verify::Grouped;
using verify::Verdict;

// Shares of the budget: seconds after which a step begins no further case.
constexpr double kReading = 12;
constexpr double kShapes = 20;

bool AllSkipped(const Answers& answers) {
  return std::all_of(
      answers.cases.begin(), answers.cases.end(),
      [](const CaseResult& r) { return r.verdict == Verdict::kSkipped; });
}

std::string FirstReason(const Answers& answers) {
  return answers.cases.empty() ? "nothing was judged"
                               : answers.cases.front().reason;
}

}  // namespace

double Check::Spent() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

double Check::Left() const {
  return request_.budget.seconds ? *request_.budget.seconds - Spent() : 1e6;
}

std::optional<double> Check::AtMost(double seconds) const {
  if (!request_.budget.seconds) return std::nullopt;
  return std::max(seconds, 0.0);
}

Judging Check::How(bool thorough) const {
  Judging how;
  how.spec = looked_.spec;
  how.profile = profile_;
  how.thorough = thorough;
  how.stop = request_.stop;
  return how;
}

bool Check::Refuse(const Status& why) {
  refused_ = why;
  return false;
}

Result<Outcome> Check::Run() {
  const bool whole = Read() && JudgeShapes() && JudgeOtherLanes() &&
                     JudgeGradients() && Draw() && TimeOne();
  RETURN_IF_ERROR(refused_);
  if (whole) {
    CompareBits();
    SayUnseen();
    Conclude();
  }
  outcome_.computes = looked_.computes;
  outcome_.spec = looked_.spec;
  outcome_.profile = profile_;
  outcome_.reading = looked_.is;
  return outcome_;
}

bool Check::Read() {
  Keys stated;
  if (!request_.is.empty()) {
    Result<Keys> keys = ParseStated(request_.is);
    if (!keys.ok()) return Refuse(keys.status());
    stated = std::move(keys.value());
  }
  Result<Looked> looked = Look(request_.kernel, stated);
  if (!looked.ok()) return Refuse(looked.status());
  looked_ = std::move(looked.value());
  if (!looked_.unreadable.empty() && request_.is.empty()) {
    return Refuse(Status::Error(
        looked_.name +
        ": check cannot read what it computes: " + looked_.unreadable +
        "; state it with --is, such as --is 'causal window=128'"));
  }
  lane_ = looked_.lanes.front();
  screen_.Hold();
  screen_.Say(looked_.name, looked_.place + ", " + Listed(looked_.lanes) +
                                ", returns " + looked_.returns);
  SayReading();
  return true;
}

void Check::SayReading() {
  if (looked_.unreadable.empty()) {
    screen_.Say(looked_.trouble.empty() ? "computes" : "nearest",
                looked_.computes);
  } else {
    screen_.Say("computes", "unknown: " + looked_.unreadable);
  }
  if (!looked_.told.empty() && request_.is.empty()) {
    screen_.Say("",
                "with other values of " + looked_.told + " as each case says");
  }
  if (request_.is.empty() && looked_.trouble.empty() && !looked_.takes_calls) {
    screen_.Say("", "is that what you mean?   lockstep check " +
                        verify::ShellWord(request_.kernel) + " --is " +
                        verify::ShellQuote(looked_.is));
  } else if (!request_.is.empty()) {
    screen_.Say("stated", request_.is);
  }
}

bool Check::Judge(const std::vector<std::string>& reading,
                  const std::vector<std::string>& shapes, size_t from) {
  const bool odd = !looked_.differs.empty() || !looked_.trouble.empty();
  const std::vector<Arithmetic> all = ArithmeticsOf(looked_, lane_);
  std::optional<CaseResult> wrong;
  std::string skipped;
  size_t wrong_by = from;
  bool wrong_shape = false;
  for (size_t n = from; n < all.size() && !(odd && wrong); ++n) {
    profile_ = ProfileOf(all[n], looked_);
    for (const bool thorough : {false, true}) {
      Judging how = How(thorough);
      // Shapes leave what PASS needs of drawn cases, and the steps behind them.
      how.seconds =
          AtMost(thorough ? std::max(kShapes, Left() - kShapes) : kReading);
      Result<Answers> answers = JudgeLines(thorough ? shapes : reading, how);
      if (!answers.ok()) return Refuse(answers.status());
      if (!answers->cases.empty() && AllSkipped(answers.value())) {
        skipped = FirstReason(answers.value());
        break;
      }
      if (const CaseResult* first = answers->Wrong()) {
        if (!wrong || (thorough && !wrong_shape)) {
          wrong = *first;
          wrong_by = n;
          wrong_shape = thorough;
        }
        break;
      }
      if (!thorough) continue;
      arithmetic_ = n;
      shapes_ = std::move(answers.value());
      if (shapes_.nan_laws) {
        looked_.yours.emplace_back(
            "NaN of one run reaches another (a mask multiplies by 0)");
      }
      return true;
    }
  }
  // An arithmetic that bounds nothing may be the kernel's own.
  unjudged_ = skipped;
  if (!skipped.empty() && lane_ != looked_.lanes.front()) return false;
  if (!wrong) {
    return Refuse(
        Status::Error(looked_.name + " takes no case of check: " + skipped));
  }
  arithmetic_ = wrong_by;
  profile_ = ProfileOf(all[wrong_by], looked_);
  return Fail(*wrong);
}

bool Check::Fail(const CaseResult& first) {
  const Result<Answers> answers = JudgeLines({first.line}, How(true));
  if (!answers.ok()) return Refuse(answers.status());
  const CaseResult* again = answers->Wrong();
  const CaseResult& wrong = again != nullptr ? *again : first;
  std::string cause =
      looked_.differs.empty() ? looked_.trouble : looked_.differs;
  if (again == nullptr) {
    cause =
        "wrong once, and right when it was asked again: the kernel keeps "
        "something between calls, or races";
  }
  if (cause.empty()) cause = CauseText(wrong);
  if (cause.empty()) cause = OtherwiseText(wrong, looked_.name);
  outcome_.exit_code = wrong.verdict == Verdict::kError ? verify::kExitCandidate
                                                        : verify::kExitFail;
  outcome_.verdict = "fail";
  outcome_.cause = cause;
  outcome_.line = wrong.line;
  const verify::Finding none;
  outcome_.replay =
      ReplayLine(wrong, wrong.findings.empty() ? none : wrong.findings.front());
  screen_.SayFirst("FAIL", cause);
  screen_.SayFirst("case", wrong.line);
  screen_.SayFirst("wrong", WrongText(wrong));
  screen_.SayFirst("again", outcome_.replay);
  screen_.Release();
  if (!wrong.one_field.empty()) {
    screen_.Say("if meant",
                "right with " + wrong.one_field + " in its profile");
  }
  return false;
}

bool Check::JudgeShapes() {
  const auto reading = ReadingLines(looked_, lane_);
  const auto shapes = ShapeLines(looked_, lane_);
  if (!reading.ok()) return Refuse(reading.status());
  if (!shapes.ok()) return Refuse(shapes.status());
  lines_ = shapes.value();
  outcome_.lines = lines_;
  if (!Judge(reading.value(), lines_)) return false;
  screen_.Release();
  judged_lanes_ = {lane_};
  SayShapes(shapes_, lines_.size());
  return true;
}

void Check::SayShapes(const Answers& answers, size_t shapes) {
  const verify::RunStatistics& seen = answers.statistics;
  const verify::Totals& totals = answers.totals;
  const auto all = static_cast<int64_t>(shapes);
  screen_.Say("right", Grouped(totals.pass) + " of " + Count(all, "shape") +
                           ", " + Grouped(seen.by_envelope) +
                           " outputs, each inside what " +
                           ArithmeticsOf(looked_, lane_)[arithmetic_].name +
                           " arithmetic allows");
  screen_.Say("", Count(seen.probe_inputs, "further input") +
                      " with one exact answer each: a wrong key, head or row "
                      "would have shown");
  if (seen.canaries == 1 && seen.canaries_caught == 1) {
    screen_.Say("", "a kernel with a planted bug in its place was caught");
  } else if (seen.canaries > 0) {
    screen_.Say("", Grouped(seen.canaries_caught) + " of " +
                        Count(seen.canaries, "kernel") +
                        " with a planted bug in its place were caught");
  }
  for (const CaseResult& result : answers.cases) {
    if (result.verdict == Verdict::kPass) continue;
    unseen_.push_back(result.line + " (" + result.reason + ")");
  }
  if (totals.not_run > 0) Miss(Count(totals.not_run, "shape"));
  shapes_whole_ = totals.pass == all && seen.probe_inputs > 0 &&
                  seen.canaries > 0 && seen.canaries_caught == seen.canaries;
}

bool Check::JudgeOtherLanes() {
  const std::string profile = profile_;
  const size_t arithmetic = arithmetic_;
  for (size_t n = 1; n < looked_.lanes.size(); ++n) {
    if (Left() < kDrawing) {
      unseen_.push_back(looked_.lanes[n] + " (no time left)");
      continue;
    }
    lane_ = looked_.lanes[n];
    const auto reading = ReadingLines(looked_, lane_);
    if (!reading.ok()) return Refuse(reading.status());
    const std::vector<std::string> last = {reading->back()};
    if (!Judge(reading.value(), last)) {
      if (unjudged_.empty()) return false;
      unseen_.push_back(lane_ + " (" + unjudged_ + ")");
      continue;
    }
    judged_lanes_.push_back(lane_);
    unseen_.push_back(lane_ + " in other shapes");
    screen_.Say("", lane_ + ": " +
                        Count(static_cast<int64_t>(reading->size()), "shape") +
                        " inside what " +
                        ArithmeticsOf(looked_, lane_)[arithmetic_].name +
                        " arithmetic allows");
  }
  lane_ = looked_.lanes.front();
  arithmetic_ = arithmetic;
  profile_ = profile;
  return true;
}

void Check::Conclude() {
  const bool counted = request_.budget.cases.has_value();
  const bool enough = counted ? drawn_.counts.pass > 0 : drawn_.seconds >= 5;
  const auto yours = static_cast<int64_t>(looked_.yours.size());
  const std::string under =
      yours == 0 ? "" : " under " + Count(yours, "convention");
  if (!enough) Miss("5 s of drawn cases");
  if (!shapes_whole_) Miss("a proof from every shape");
  for (const std::string& said : {looked_.differs, looked_.trouble}) {
    if (!said.empty()) Miss("a case that shows what was measured: " + said);
  }
  if (!missing_.empty()) {
    screen_.Say("THIN",
                "nothing is wrong, and too little was judged for PASS; "
                "missing: " +
                    Listed(missing_));
    outcome_.verdict = "thin";
    outcome_.exit_code = verify::kExitVacuous;
    return;
  }
  const std::string all =
      Listed(judged_lanes_) + under + ", in " + verify::Seconds(Spent());
  if (!request_.keeps) {
    screen_.Say("keep it", "lockstep check " +
                               verify::ShellWord(request_.kernel) + " --write");
  }
  if (!request_.is.empty()) {
    screen_.Say("PASS", all);
    outcome_.verdict = "pass";
    return;
  }
  screen_.Say("judged", all);
  screen_.SayLast(
      "CONSISTENT with: " + looked_.is +
      (looked_.told.empty() ? "" : "; other values of " + looked_.told));
  outcome_.verdict = "consistent";
  outcome_.exit_code =
      request_.require_stated ? verify::kExitVacuous : verify::kExitPass;
}

}  // namespace lockstep::fuzz::check
