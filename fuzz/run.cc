#include "fuzz/run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fuzz/conventions.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/process/shared_core.h"

namespace lockstep::fuzz {
namespace {

using verify::Case;
using verify::Verdict;
using Lock = std::unique_lock<std::mutex>;

double SecondsSince(Progress::Clock::time_point then) {
  return std::chrono::duration<double>(Progress::Clock::now() - then).count();
}

class Loop {
 public:
  Loop(const Plan& plan, const Target& target, Observer* observer,
       Progress* progress)
      : plan_(plan),
        target_(target),
        learned_(target),
        observer_(observer),
        progress_(*progress),
        report_(progress->report),
        refusals_(plan.domain->features().size()),
        lock_(progress->mutex) {
    report_.features.resize(plan.domain->features().size());
    report_.counts = plan.before;
    report_.known_faults = plan.known_faults;
    // A condition of the user's leaves out what it leaves out.
    if (plan.learn && plan.where.empty()) {
      report_.claims = ClaimedFeatures(target, *plan.domain);
    }
  }

  Status Run() {
    Status status = Corpus();
    if (status.ok()) status = Drawn();
    NoteLeftOut();
    report_.seconds = Seconds();
    report_.judging_seconds = report_.seconds - progress_.shrinking_seconds;
    return status;
  }
  Report Take() { return std::move(report_); }

 private:
  // A kernel that has refused so many cases in a row refuses whatever is drawn.
  // To ask it costs more than to know.
  static constexpr uint64_t kMostInARow = 100000;
  static constexpr uint64_t kAsked = 50;

  double Seconds() const { return SecondsSince(progress_.start); }
  bool Stopped() {
    const bool stop = target_.stop != nullptr && *target_.stop;
    report_.interrupted = report_.interrupted || stop;
    const bool enough =
        plan_.max_signatures > 0 && report_.Findings() >= plan_.max_signatures;
    const auto& seconds = plan_.budget.seconds;
    return stop || enough || (seconds && Seconds() >= *seconds);
  }

  verify::FeatureSet FeaturesOf(const std::vector<Case>& sequence) const {
    verify::FeatureSet features;
    for (const Case& call : sequence) {
      features.Add(plan_.domain->features_of(call));
    }
    return features;
  }

  void CountFeatures(const verify::FeatureSet& features) {
    for (size_t n = 0; n < features.has.size(); ++n) {
      report_.features[n] += features.has[n] ? 1 : 0;
    }
  }

  void NoteLeftOut() {
    if (!plan_.learn) return;
    report_.left_out = refusals_.List();
    report_.put_off = refusals_.put_off();
  }

  Status Corpus() {
    uint64_t place = 0;
    for (const std::vector<Case>& sequence : plan_.corpus) {
      if (Stopped()) return {};
      RETURN_IF_ERROR(One(place++, false, sequence));
    }
    return {};
  }

  Status Drawn() {
    const auto step = static_cast<uint64_t>(plan_.shard.count);
    const auto& most = plan_.budget.cases;
    uint64_t left_out = 0, in_a_row = 0;
    for (auto index = static_cast<uint64_t>(plan_.shard.index);
         !most || index - left_out < static_cast<uint64_t>(*most);
         index += step) {
      if (Stopped()) return {};
      std::vector<Case> sequence =
          verify::DrawCase(*plan_.domain, plan_.draw, plan_.seed, index);
      if (!plan_.where.empty()) {
        auto other = WithKeys(plan_.where, sequence, index);
        if (!other) {
          left_out += step;
          ++report_.not_so;
          if (++in_a_row == kMostInARow) return {};
          continue;
        }
        sequence = std::move(*other);
      }
      if (plan_.done.contains(index)) {
        if (plan_.met.contains(index)) CountFeatures(FeaturesOf(sequence));
        continue;
      }
      if (plan_.learn && refusals_.LeavesOut(FeaturesOf(sequence))) {
        left_out += step;
        if (++in_a_row == kMostInARow) return {};
        continue;
      }
      RETURN_IF_ERROR(One(index, true, sequence));
      left_out += left_out_ ? step : 0;
      in_a_row = left_out_ ? in_a_row + kAsked : 0;
      if (in_a_row >= kMostInARow) return {};
    }
    return {};
  }

  Status One(uint64_t index, bool drawn, const std::vector<Case>& sequence) {
    progress_.judging = &sequence;
    lock_.unlock();
    if (target_.apart) core_.BetweenCases();
    const Outcome outcome =
        TryCase(sequence, learned_, static_cast<int64_t>(index) + 1);
    lock_.lock();
    progress_.judging = nullptr;
    // Interrupted inside a case: what it says is not the whole truth.
    if (Stopped() && report_.interrupted && !outcome.Found()) return {};
    const verify::FeatureSet features = FeaturesOf(sequence);
    left_out_ = false;
    if (outcome.verdict != Verdict::kSkipped) {
      refusals_.Computed(features);
      ++report_.computed;
      CountFeatures(features);
    } else if (drawn && plan_.learn && !outcome.refusal.empty()) {
      left_out_ = refusals_.Refused(features, outcome.refusal);
      NoteLeftOut();
      if (left_out_) return {};
    }
    report_.counts.Add(outcome);
    for (const std::string& law : outcome.laws) ++report_.laws[law];
    for (const std::string& canary : outcome.missed) {
      if (report_.missed.size() == kMostMissedNamed) break;
      report_.missed.push_back(
          {index, drawn, canary, verify::MinimalLine(sequence)});
    }
    ++report_.fresh;
    const bool known = report_.known_faults.contains(outcome.signature) ||
                       std::any_of(report_.faults.begin(), report_.faults.end(),
                                   [&](const Fault& fault) {
                                     return fault.shrunk.outcome.signature ==
                                            outcome.signature;
                                   });
    RETURN_IF_ERROR(
        observer_->OnCase({index, drawn, &sequence, &outcome}, report_));
    if (!outcome.Found() || known) return {};
    Fault fault = FaultOf(index, drawn, sequence, outcome);
    if (!IsConvention(sequence, &fault))
      ShrinkFault(sequence, std::move(fault));
    return {};
  }

  Fault FaultOf(uint64_t index, bool drawn, const std::vector<Case>& sequence,
                const Outcome& outcome) {
    Fault fault;
    fault.index = index;
    fault.drawn = drawn;
    fault.line = verify::MinimalLine(sequence);
    fault.seconds = Seconds() - progress_.shrinking_seconds;
    fault.shrunk.sequence = sequence;
    fault.shrunk.outcome = outcome;
    return fault;
  }

  // IsConvention tells whether it is what the kernel makes of NaN, which is
  // told once. Records of a campaign follow from the index alone: it is a fault
  // there.
  bool IsConvention(const std::vector<Case>& sequence, Fault* fault) {
    const Outcome& outcome = fault->shrunk.outcome;
    const bool wrong = outcome.verdict == Verdict::kFail;
    if (!wrong || !outcome.nan || !plan_.learn || !learned_.profile) {
      return false;
    }
    if (told_.contains(outcome.signature)) return true;
    progress_.judging = &sequence;
    lock_.unlock();
    const auto convention = ConventionOf(sequence, outcome, learned_);
    lock_.lock();
    progress_.judging = nullptr;
    if (!convention) return false;
    if (convention->profile) {
      learned_.profile = convention->profile;
    } else if (!told_.insert(outcome.signature).second || told_.size() > 1) {
      return true;  // one of those that no field states was told
    }
    fault->convention = ConventionText(*convention);
    observer_->OnFault(*fault);
    report_.conventions.push_back(std::move(*fault));
    return true;
  }

  void ShrinkFault(const std::vector<Case>& sequence, Fault fault) {
    // A line of the corpus need not meet the condition.
    Keeps keeps;
    if (fault.drawn && !plan_.where.empty()) {
      keeps = [&](const std::vector<Case>& c) { return Meets(plan_.where, c); };
    }
    const Outcome outcome = fault.shrunk.outcome;
    progress_.shrinking = fault;
    progress_.shrinking_since = Progress::Clock::now();
    lock_.unlock();
    core_.Free();
    fault.shrunk = Shrink(*plan_.domain, sequence, outcome, learned_,
                          plan_.shrink_seconds, nullptr, keeps);
    lock_.lock();
    progress_.shrinking.reset();
    progress_.shrinking_seconds += fault.shrunk.seconds;
    observer_->OnFault(fault);
    report_.faults.push_back(std::move(fault));
  }

  const Plan& plan_;
  const Target& target_;
  Target learned_;              // with the conventions that were told
  std::set<std::string> told_;  // signatures of those that no field states
  Observer* observer_;
  Progress& progress_;
  Report& report_;
  Refusals refusals_;
  bool left_out_ = false;  // the case that was tried last
  Lock lock_;              // held, but while a case runs
  verify::SharedCore core_;
};

}  // namespace

void Counts::Add(const Outcome& outcome) {
  ++cases;
  int64_t* of[] = {&pass, &fail, &suspicious, &untrusted, &skipped, &error};
  static_assert(static_cast<size_t>(Verdict::kError) + 1 == std::size(of));
  ++*of[static_cast<size_t>(outcome.verdict)];
  unsupported += outcome.unsupported ? 1 : 0;
  self_errors += outcome.self_error ? 1 : 0;
  canaries += outcome.canaries;
  canaries_missed += outcome.canaries_missed;
  found += outcome.Found() ? 1 : 0;
}

std::vector<std::string> Report::Missing(const verify::Domain& domain) const {
  std::vector<std::string> missing;
  const auto names = domain.features();
  for (size_t n = 0; n < features.size(); ++n) {
    if (features[n] == 0) missing.emplace_back(names[n]);
  }
  return missing;
}

std::vector<std::string> Report::Unproved() const {
  std::vector<std::string> unproved;
  for (const auto& [claim, shown_by] : claims) {
    const bool judged =
        std::any_of(shown_by.begin(), shown_by.end(),
                    [&](size_t feature) { return features[feature] > 0; });
    if (!judged) unproved.push_back(claim);
  }
  return unproved;
}

double WilsonUpper(int64_t hits, int64_t of) {
  if (of <= 0) return 1;
  constexpr double kZ = 1.959963984540054;  // 95 % of a normal lie within
  const auto n = static_cast<double>(of);
  const double p = static_cast<double>(hits) / n;
  const double middle = p + kZ * kZ / (2 * n);
  const double half = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  return std::min(1.0, (middle + half) / (1 + kZ * kZ / n));
}

bool CanariesHold(const Counts& counts) {
  return counts.canaries_missed == 0 ||
         WilsonUpper(counts.canaries_missed, counts.canaries) < kMostMissRate;
}

Report ReportSoFar(const Progress& progress) {
  Report report = progress.report;
  report.seconds = SecondsSince(progress.start);
  report.judging_seconds = report.seconds - progress.shrinking_seconds;
  if (progress.judging != nullptr) {
    report.unfinished = verify::MinimalLine(*progress.judging);
  }
  if (!progress.shrinking) return report;
  report.faults.push_back(*progress.shrinking);
  Shrunk& shrunk = report.faults.back().shrunk;
  shrunk.seconds = SecondsSince(progress.shrinking_since);
  shrunk.finished = false;
  report.judging_seconds -= shrunk.seconds;
  return report;
}

Result<Report> RunPlan(const Plan& plan, const Target& target,
                       Observer* observer, Progress* progress) {
  Loop loop(plan, target, observer, progress);
  RETURN_IF_ERROR(loop.Run());
  return loop.Take();
}

int ExitCode(const Report& report, const Target& target) {
  const Counts& n = report.counts;
  if (n.self_errors > 0) return verify::kExitSelf;
  if (n.error > 0) return verify::kExitCandidate;
  if (n.fail > 0) return verify::kExitFail;
  if (report.interrupted) return verify::kExitInterrupted;
  if (n.cases == n.skipped) {
    const bool unsupported = n.skipped > 0 && n.skipped == n.unsupported;
    return unsupported ? verify::kExitUnsupported : verify::kExitVacuous;
  }
  const bool proves = n.pass + n.suspicious > 0;
  if (!proves || !CanariesHold(n) || !report.Unproved().empty()) {
    return verify::kExitVacuous;
  }
  if (n.suspicious > 0 && target.suspicious) return verify::kExitSuspicious;
  return verify::kExitPass;
}

}  // namespace lockstep::fuzz
