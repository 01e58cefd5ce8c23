#include "tests/power/stages.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/status_macros.h"
#include "verify/case/probe_kind.h"
#include "verify/ops/envelopes.h"
#include "verify/registry/ops.h"
#include "verify/selftest/trialist.h"

namespace lockstep::verify {
namespace {

// Last places by which an answer may differ and be called rounded: the judge's
// own measure for answers that know nothing.
constexpr double kRoundedPlaces = 4;

Difference CompareLine(const OutputSpec& spec, int64_t line,
                       const LaneView& right, const LaneView& produced) {
  double largest = 0;
  double apart = 0;
  bool same = true;
  for (int64_t c = 0; c < spec.shape[3]; ++c) {
    const auto at = LineIndex(spec, line, c);
    const uint32_t want = ElementBits(right, at);
    const uint32_t have = ElementBits(produced, at);
    if (want == have) {
      const double size = std::fabs(ElementValue(spec.lane, want));
      if (std::isfinite(size)) largest = std::max(largest, size);
      continue;
    }
    same = false;
    const double x = ElementValue(spec.lane, want);
    const double y = ElementValue(spec.lane, have);
    if (!std::isfinite(x) || !std::isfinite(y)) return Difference::kWrong;
    largest = std::max(largest, std::fabs(x));
    apart = std::max(apart, std::fabs(x - y));
  }
  if (same) return Difference::kNone;
  const LaneRow& lane = LaneRowOf(spec.lane);
  const int exponent = largest > 0
                           ? std::max(std::ilogb(largest), lane.min_exponent)
                           : lane.min_exponent;
  const double place = std::ldexp(1.0, exponent - (lane.digits - 1));
  return apart <= kRoundedPlaces * place ? Difference::kRounded
                                         : Difference::kWrong;
}

}  // namespace

Difference Compare(const Trial& trial, const AllowedResults* allowed,
                   const OutputSet& right, const OutputSet& produced) {
  Difference most = Difference::kNone;
  for (int64_t row = 0; row < trial.rows(); ++row) {
    if (allowed != nullptr && !allowed->Bounds(static_cast<size_t>(row))) {
      continue;
    }
    for (size_t n = 0; n < right.tensors.size(); ++n) {
      for (const int64_t line : trial.Lines(n, row)) {
        most = std::max(most, CompareLine(trial.outputs()[n], line,
                                          right.tensors[n].const_view(),
                                          produced.tensors[n].const_view()));
      }
    }
  }
  return most;
}

Difference Stage::DifferenceOf(const OutputSet& outputs) const {
  return Compare(*trial_, allowed_.get(), right_, outputs);
}

Status Stage::Open() {
  std::call_once(once_, [this] {
    status_ = OpenOnce();
    opened_ = status_.ok();
  });
  return status_;
}

Status Stage::OpenOnce() {
  ASSIGN_OR_RETURN(trial_, OpenTrial(call_, profile_));
  if (tier_ == "bits") {
    ASSIGN_OR_RETURN(right_, trial_->Allocate(0));
    Execution execution;
    const RunOutcome ran = trial_->kernels().RunReference(right_, &execution);
    return ran.state == RunOutcome::State::kRan ? Status()
                                                : Status::Error(ran.message);
  }
  allowed_ = tier_ == "envelope"
                 ? trial_->envelopes().Envelope(profile_, AllRows(*trial_), 1)
                 : trial_->envelopes().Probe(profile_, AllRows(*trial_));
  if (allowed_ == nullptr) {
    return Status::Error("the probe " + tier_ +
                         " proves nothing: " + MinimalLine({call_}));
  }
  if (base_.empty()) return {};
  ASSIGN_OR_RETURN(auto honest, ParseCandidate("variant:" + base_));
  ASSIGN_OR_RETURN(right_, Run(honest.get()));
  return {};
}

bool Stage::Allows(const OutputSet& outputs) const {
  if (allowed_ == nullptr) {
    return DifferenceOf(outputs) == Difference::kNone;
  }
  const auto results = allowed_->Judge(outputs);
  return std::all_of(results.begin(), results.end(),
                     [](const EnvelopeResult& r) { return r.Passed(); });
}

Result<OutputSet> Stage::Run(Candidate* candidate) const {
  auto outputs = trial_->Allocate(0);
  if (!outputs.ok()) return outputs.status();
  Execution execution;
  const CaseRequest request{&call_, "", 1, 1};
  const RunOutcome ran =
      candidate->Run(request, *trial_, {}, outputs.value(), &execution);
  if (ran.state != RunOutcome::State::kRan) return Status::Error(ran.message);
  return outputs;
}

Result<NumericProfile> ProfileOfBase(const std::string& base) {
  Status status = Status::Error("no op has a zoo");
  for (const SelftestRow* op : SelftestRows()) {
    const Result<Subject> subject = op->correct(base);
    if (subject.ok()) return subject->profile;
    status = subject.status();
  }
  return status;
}

Result<std::unique_ptr<Stages>> Stages::Make(
    const std::string& line, const std::string& base,
    const std::vector<std::string>& without) {
  ASSIGN_OR_RETURN(const NumericProfile profile, ProfileOfBase(base));
  return MakeBy(line, base, profile, without);
}

Result<std::unique_ptr<Stages>> Stages::MakeBy(
    const std::string& line, const std::string& base,
    const NumericProfile& profile, const std::vector<std::string>& without) {
  const Result<Case> parsed = ParseCase(line);
  if (!parsed.ok()) {
    return Status::Error("'" + line + "': " + parsed.message());
  }
  const Status valid = ValidateCase(parsed.value());
  if (!valid.ok()) return Status::Error("'" + line + "': " + valid.message());
  auto all = std::make_unique<Stages>();
  all->profile_ = profile;
  const Case call = InLane(parsed.value(), all->profile_);
  const bool exact = all->profile_.exact;
  all->stages_.push_back(std::make_unique<Stage>(call, base, all->profile_,
                                                 exact ? "bits" : "envelope"));
  if (exact) return all;
  ASSIGN_OR_RETURN(const TrialRow op, TrialRowOf(call));
  for (Case& probe : op.probe_cases(call, all->profile_)) {
    const std::string name = ProbeName(*probe.op->text.probe(probe));
    if (std::find(without.begin(), without.end(), name) != without.end()) {
      continue;
    }
    all->stages_.push_back(
        std::make_unique<Stage>(std::move(probe), base, all->profile_, name));
  }
  return all;
}

}  // namespace lockstep::verify
