#include "verify/judge/causes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "verify/base/format.h"
#include "verify/causes/detail.h"
#include "verify/causes/explain.h"
#include "verify/causes/hypotheses.h"
#include "verify/causes/twin.h"
#include "verify/judge/bounded.h"
#include "verify/judge/pictures/ask_again.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
namespace {

// Multiply-adds of a row up to which all known bugs are held against a sample
// of the case itself; longer rows are made shorter first, if the kernel can be
// asked: to one of these sides, the first on which it fails.
constexpr int64_t kShortRow = int64_t{1} << 16;
constexpr int64_t kTwinSides[] = {256, 1024};
// Multiply-adds of the smaller cases that are asked for, at most.
constexpr int64_t kTwinWork = int64_t{1} << 28;
// Where no smaller case can be asked for, part of that goes to the given one.
constexpr double kAnswersAlone = 1.25;
// Rows of a smaller case that tell whether it fails.
constexpr int64_t kTwinRows = 96;

// What other arithmetic may be off by in an element, about.
double NoiseOf(Lane lane, double truth, double scale) {
  const double own = std::fabs(truth);
  if (lane == Lane::kF32) return 0x1p-16 * (own + scale);
  const double unit = LaneRowOf(lane).roundoff;
  return 4 * unit * own + 2 * unit * scale;
}

double RootMeanSquare(const OutputSpec& spec,
                      const std::vector<uint32_t>& bits) {
  double sum = 0, count = 0;
  for (const uint32_t one : bits) {
    const double x = ElementValue(spec.lane, one);
    if (!std::isfinite(x)) continue;
    sum += x * x;
    ++count;
  }
  return sum > 0 ? std::sqrt(sum / count) : 1;
}

double SizeOf(double produced, double truth, double noise) {
  if (produced == truth) return 0;
  if (std::isnan(produced) && std::isnan(truth)) return 0;
  const double size = std::fabs(produced - truth) / noise;
  return std::isnan(size) ? std::numeric_limits<double>::infinity() : size;
}

// Row by row, in one output.
std::vector<RowError> ErrorsOf(const Trial& trial, const Truth& truth,
                               const OutputSet& produced, size_t output) {
  const OutputSpec& spec = trial.outputs()[output];
  const LaneView view = produced.tensors[output].const_view();
  const double scale = RootMeanSquare(spec, truth.bits[output]);
  std::vector<RowError> errors;
  for (size_t n = 0; n < truth.rows.size(); ++n) {
    RowError& row = errors.emplace_back(RowError{truth.rows[n], 0});
    size_t at = 0;
    for (const int64_t line : trial.Lines(output, row.row)) {
      for (int64_t c = 0; c < spec.shape[3]; ++c, ++at) {
        const double right = ElementValue(spec.lane, truth.Row(output, n)[at]);
        const double found = ElementValue(
            spec.lane, ElementBits(view, LineIndex(spec, line, c)));
        row.size = std::max(
            row.size, SizeOf(found, right, NoiseOf(spec.lane, right, scale)));
      }
    }
  }
  return errors;
}

// A wrong answer that bugs are held against.
struct Scene {
  const Case* call = nullptr;
  const Trial* trial = nullptr;
  const OutputSet* produced = nullptr;
  std::vector<RowError> errors;
};

class CauseFinder {
 public:
  CauseFinder(const CauseRequest& from, CaseResult* failed)
      : from_(from),
        failed_(*failed),
        profile_(failed->claims ? &*failed->claims : nullptr),
        op_(OpName(*from.request.call)),
        explainer_(op_, profile_, from.options.stop,
                   from.options.explain_seconds *
                       (from.candidate.traits().repeatable ? 1 : kAnswersAlone),
                   from.request.call->shard) {}

  void Run(const Finding& finding) {
    AskedAgain asked;
    Scene scene{from_.request.call, &from_.trial, &from_.produced,
                from_.errors};
    if (!OnOwnInputs(failed_, finding)) {
      const auto worth = [](const Trial&) { return true; };
      if (!AskAgain(from_.request, from_.candidate, finding.line, worth,
                    &asked)) {
        return;
      }
      scene = SceneOf(asked,
                      ComputeTruth(*asked.trial, false, from_.options.threads));
    }
    Look(scene);
    Take();
  }

 private:
  Scene SceneOf(const AskedAgain& asked, const Truth& truth) const {
    return {&asked.call, asked.trial.get(), &asked.outputs,
            ErrorsOfRows(*asked.trial, truth, profile_, asked.outputs)};
  }

  void Look(const Scene& scene) {
    if (!TooLargeToExplain(*scene.call, *scene.trial)) {
      explainer_.AddWrong(*scene.trial, *scene.produced);
      return;
    }
    const bool apart = ComputesRowByRow(op_);
    if (apart && scene.trial->RowCost() <= kShortRow) {
      AddSamples(scene, FirstSampleOf(*scene.trial));
    } else if (!LookAtTwin(scene, apart)) {
      if (apart) AddSamples(scene, FirstSampleOf(*scene.trial));
      looked_ = apart;
    }
  }

  // A sample for all bugs, then one for those that are left.
  void AddSamples(const Scene& scene, const SampleSize& size) {
    const LookedAt first = SampleRows(*scene.trial, scene.errors, size);
    if (first.empty()) return;
    explainer_.AddWrong(*scene.trial, *scene.produced, first);
    const LookedAt second = SampleRows(*scene.trial, scene.errors,
                                       SecondSampleOf(*scene.trial), first);
    if (second.empty() || explainer_.Causes().empty()) return;
    explainer_.AddWrong(*scene.trial, *scene.produced, second);
  }

  // What a smaller case shows has to hold on the large one, too.
  bool LookAtTwin(const Scene& large, bool apart) {
    if (!from_.candidate.traits().repeatable) return false;
    int64_t work = kTwinWork;
    std::string before;
    for (const int64_t side : kTwinSides) {
      const std::optional<Case> twin = TwinOf(*large.call, side);
      if (!twin) return false;
      const std::string line = MinimalLine(*twin);
      if (line == std::exchange(before, line)) return false;
      const auto worth = [&](const Trial& trial) {
        if (WorkToExplain(trial) > work) return false;
        work -= WorkToExplain(trial);
        return apart || !TooLargeToExplain(*twin, trial);
      };
      if (!AskAgain(from_.request, from_.candidate, line, worth, &twin_)) {
        return false;
      }
      if (!TwinFails()) continue;
      const Scene scene = SceneOf(
          twin_, ComputeTruth(*twin_.trial, false, from_.options.threads));
      if (apart) {
        AddSamples(scene, SampleOfTwin());
      } else {
        explainer_.AddWrong(*scene.trial, *scene.produced);
      }
      const LookedAt rows =
          SampleRows(*large.trial, large.errors, FirstSampleOf(*large.trial));
      if (!apart || rows.empty() || explainer_.Causes().empty()) return true;
      explainer_.AddWrong(*large.trial, *large.produced, rows);
      return true;
    }
    return false;
  }

  bool TwinFails() const {
    const Trial& trial = *twin_.trial;
    std::vector<int64_t> rows;
    const int64_t step = std::max<int64_t>(trial.rows() / kTwinRows, 1);
    for (int64_t row = 0; row < trial.rows(); row += step) rows.push_back(row);
    if (profile_ == nullptr) {
      for (const Comparison& comparison : CompareWithTruth(
               trial, ComputeTruth(trial, false, from_.options.threads),
               twin_.outputs, nullptr)) {
        if (!comparison.Passed()) return true;
      }
      return false;
    }
    auto allowed = trial.envelopes().Probe(*profile_, rows);
    if (allowed == nullptr) {
      allowed = trial.envelopes().Envelope(*profile_, std::move(rows),
                                           from_.options.threads);
    }
    if (allowed == nullptr) return false;
    CaseResult judged;
    JudgeByAllowed(trial, *allowed, twin_.outputs, Tier::kEnvelope, "",
                   &judged);
    return std::any_of(
        judged.findings.begin(), judged.findings.end(),
        [](const Finding& finding) { return !IsSuspicion(finding.tier); });
  }

  void Take() {
    failed_.causes = explainer_.Causes();
    failed_.cause_kernels = explainer_.tried();
    for (Explanation& cause : failed_.causes) {
      cause.what += DetailOf(cause.bug, *from_.request.call);
    }
    if (!failed_.causes.empty()) return;
    if (!looked_) {
      failed_.no_cause =
          from_.candidate.traits().computes
              ? "not looked for on a case this large; smaller ones pass"
              : "not looked for on a case this large, whose kernel cannot be "
                "asked for a smaller one";
    } else if (explainer_.IsSpent()) {
      failed_.no_cause = Format(
          "no known bug found within %g s (--explain-budget looks longer)",
          from_.options.explain_seconds);
    } else {
      failed_.no_cause = UnlikeText(explainer_.Nearest());
    }
  }

  const CauseRequest& from_;
  CaseResult& failed_;
  const NumericProfile* profile_;
  const std::string op_;
  AskedAgain twin_;  // before what refers to it
  Explainer explainer_;
  bool looked_ = true;
};

// The first that counts, if wrong numbers are what it shows: one by one, or in
// all errors of the case together.
const Finding* FindingToExplain(const CaseResult& failed) {
  for (const Finding& finding : failed.findings) {
    if (!Counts(failed, finding)) continue;
    if (finding.tier == Tier::kStatistics) return &finding;
    break;
  }
  return FindingOfNumbers(failed);
}

// CPU time of this thread so far, in seconds.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

bool TooLargeToExplain(const Case& call, const Trial& trial) {
  const auto bugs = std::ssize(HypothesesOf(OpName(call), nullptr));
  return WorkToExplain(trial) > kReplaysOfVerdict / std::max<int64_t>(bugs, 1);
}

std::vector<RowError> ErrorsOfRows(const Trial& trial, const Truth& truth,
                                   const NumericProfile* profile,
                                   const OutputSet& produced) {
  std::vector<RowError> errors;
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    if (profile != nullptr && !HasOutput(*profile, spec.name)) continue;
    errors = ErrorsOf(trial, truth, produced, t);
    if (std::any_of(errors.begin(), errors.end(),
                    [](const RowError& row) { return row.size > 1; })) {
      break;
    }
  }
  return errors;
}

std::optional<Case> FirstTwinOf(const Case& call) {
  return TwinOf(call, kTwinSides[0]);
}

std::optional<Case> TwinToAsk(const Case& call, const Trial& trial) {
  const bool itself =
      !TooLargeToExplain(call, trial) ||
      (ComputesRowByRow(OpName(call)) && trial.RowCost() <= kShortRow);
  return itself ? std::nullopt : FirstTwinOf(call);
}

void FindCauses(const CauseRequest& from, CaseResult* failed) {
  const Finding* finding = FindingToExplain(*failed);
  if (finding == nullptr) return;
  const double start = CpuSeconds();
  CauseFinder(from, failed).Run(*finding);
  failed->cause_seconds = CpuSeconds() - start;
}

}  // namespace lockstep::verify
