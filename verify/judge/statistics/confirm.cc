#include "verify/judge/statistics/confirm.h"

#include <algorithm>
#include <optional>
#include <string>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/mixing.h"
#include "verify/judge/bounded.h"
#include "verify/judge/invariance.h"
#include "verify/judge/truth.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
namespace {

// Alarms that a second draw is asked about.
constexpr size_t kMostConfirmed = 3;

// "1e-29", of a natural logarithm.
std::string Probability(double log_p) {
  return Format("1e%.0f", log_p / LogDouble(10));
}

class SecondDraw {
 public:
  SecondDraw(const StatisticsRequest& request, CaseResult* result)
      : request_(request), result_(result), call_(*request.request->call) {
    call_.seed = Mix(request.salt ^ call_.seed) >> 1;
    asked_ = *request.request;
    asked_.call = &call_;
    asked_.line = MinimalLine(call_);
  }

  // The errors there; none where the candidate could not be asked, or the
  // answer proves something by itself, which is added.
  std::optional<ErrorSample> Errors() {
    const Result<TrialRow> op = TrialRowOf(call_);
    if (!op.ok() || !request_.candidate->traits().repeatable)
      return std::nullopt;
    auto trial = op->open(call_, *request_.materialise);
    if (!trial.ok()) return std::nullopt;
    const int64_t shift = request_.candidate->traits().fixed.shift;
    auto outputs = trial.value()->Allocate(shift);
    if (!outputs.ok()) return std::nullopt;
    const GuardedRun run = RunGuarded(
        *request_.candidate, asked_, *trial.value(),
        request_.candidate->traits().fixed, kFirstPoison, outputs.value());
    ++result_->runs;
    for (Finding& broke : GuardFindings(run, "")) {
      broke.line = asked_.line;
      result_->findings.push_back(broke);
    }
    if (run.outcome.state != RunOutcome::State::kRan) return std::nullopt;
    const auto allowed = trial.value()->envelopes().Envelope(
        *request_.profile, request_.allowed->rows(), request_.threads);
    JudgeByAllowed(*trial.value(), *allowed, outputs.value(), Tier::kEnvelope,
                   asked_.line, result_);
    return allowed->Errors(outputs.value());
  }

  uint64_t seed() const { return call_.seed; }

 private:
  const StatisticsRequest& request_;
  CaseResult* result_;
  Case call_;
  CaseRequest asked_;
};

std::string Told(const Statistic& s) {
  return DescribeStatistic(s) + ", of a correct kernel with probability " +
         Probability(s.log_p) + " at most";
}

// "; of all places most at key 1023 -8.0 in 64 rows": the place that alarms
// most, where most rows agree on it: a bias of everything is at no place.
std::string PlaceOf(const StatisticsResult& found) {
  for (const Statistic& s : found.alarms) {
    const bool place =
        s.name == "key" || s.name == "offset" || s.name == "tile";
    if (place && s.value * s.value > static_cast<double>(s.rows) / 2)
      return "; of all places most at " + DescribeStatistic(s);
  }
  return "";
}

}  // namespace

void JudgeStatistics(const StatisticsRequest& request, CaseResult* result) {
  result->statistics = JudgeErrors(request.allowed->Errors(*request.produced));
  const StatisticsResult& found = *result->statistics;
  if (!found.why_not.empty()) return;
  const size_t count = std::min(found.alarms.size(), kMostConfirmed);
  result->checks.push_back({"statistics", count == 0, 1});
  if (count == 0) return;
  SecondDraw draw(request, result);
  const std::optional<ErrorSample> again = draw.Errors();
  const double limit = LogDouble(kStatisticsRate / static_cast<double>(count));
  std::string all;
  for (size_t n = 0; n < count; ++n) {
    const Statistic& alarm = found.alarms[n];
    const double log_p = again ? LogBoundAgain(alarm, *again) : 0;
    if (log_p < limit) {
      result->findings.push_back(
          {Tier::kStatistics, found.tensor,
           Told(alarm) +
               "; again on a second draw (seed=" + std::to_string(draw.seed()) +
               "): " + Probability(log_p) + PlaceOf(found),
           "", std::nullopt});
      return;
    }
    all += (all.empty() ? "" : "; ") + Told(alarm);
  }
  result->findings.push_back(
      {Tier::kStatisticsOnce, found.tensor,
       all + (again ? "; not so on a second draw (seed=" +
                          std::to_string(draw.seed()) + ")"
                    : "; a second draw cannot be answered"),
       "", std::nullopt});
}

}  // namespace lockstep::verify
