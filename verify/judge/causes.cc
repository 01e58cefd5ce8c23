#include "verify/judge/causes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/format.h"
#include "verify/causes/detail.h"
#include "verify/causes/explain.h"
#include "verify/causes/hypotheses.h"
#include "verify/causes/questions.h"
#include "verify/causes/twin.h"
#include "verify/judge/bounded.h"
#include "verify/judge/pictures/ask_again.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
namespace {

// Multiply-adds of a row up to which all known bugs are held against a sample
// of the case itself; longer rows are made shorter first, if the kernel can be
// asked: to one of these sides, the first on which it fails. Where rows are not
// apart, all of a case has to be short.
constexpr int64_t kShortRow = int64_t{1} << 16;
constexpr int64_t kTwinSides[] = {256, 1024};
constexpr int64_t kWholeTwinSides[] = {256, 128, 64, 32, 16};
// Multiply-adds of the smaller cases that are asked for, at most.
constexpr int64_t kTwinWork = int64_t{1} << 28;
// Where no smaller case can be asked for, part of that goes to the given one.
constexpr double kAnswersAlone = 1.25;
// Rows of a smaller case that tell whether it fails, and that tell whether the
// answer is right for another question.
constexpr int64_t kTwinRows = 96;
// The part of the budget that other questions get beside the known bugs, and
// that these get where a question was answered: they only name it then.
constexpr double kQuestions = 0.25;

std::span<const int64_t> SidesOf(bool apart) {
  if (apart) return kTwinSides;
  return kWholeTwinSides;
}

// Every so many-th row, kTwinRows about.
LookedAt EvenRows(const Trial& trial) {
  LookedAt rows;
  const int64_t step = std::max<int64_t>(trial.rows() / kTwinRows, 1);
  for (int64_t row = 0; row < trial.rows(); row += step) rows.push_back(row);
  return rows;
}

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
      const auto worth = [&](const Trial& trial) {
        explainer_.Spend(static_cast<double>(WorkToExplain(trial)));
        return true;
      };
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
      AskOtherwise(scene);
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
    AskOtherwise(scene);
    const LookedAt first = SampleRows(*scene.trial, scene.errors, size);
    if (first.empty()) return;
    explainer_.AddWrong(*scene.trial, *scene.produced, first);
    const LookedAt second = SampleRows(*scene.trial, scene.errors,
                                       SecondSampleOf(*scene.trial), first);
    if (second.empty() || explainer_.Causes().empty()) return;
    explainer_.AddWrong(*scene.trial, *scene.produced, second);
  }

  // Whether the answer is right for another question than this scene's.
  void AskOtherwise(const Scene& scene) {
    AskedRows rows;
    if (ComputesRowByRow(op_)) {
      rows.fitted =
          SampleRows(*scene.trial, scene.errors, FirstSampleOf(*scene.trial));
      if (rows.fitted.empty()) return;
      std::set<int64_t> judged(rows.fitted.begin(), rows.fitted.end());
      for (const int64_t row : EvenRows(*scene.trial)) judged.insert(row);
      rows.judged.assign(judged.begin(), judged.end());
    }
    const double all = from_.options.explain_seconds * kWorkOfSecond;
    double work = kQuestions * all;
    questions_ = FindQuestions({.call = *scene.call,
                                .trial = *scene.trial,
                                .produced = *scene.produced,
                                .profile = profile_,
                                .rows = std::move(rows)},
                               &work);
    const bool answered = !questions_.empty() && questions_[0].Proved();
    if (answered) explainer_.Spend((1 - kQuestions) * all);
  }

  // What a smaller case shows has to hold on the large one, too.
  bool LookAtTwin(const Scene& large, bool apart) {
    if (!from_.candidate.traits().repeatable) return false;
    int64_t work = kTwinWork;
    std::string before;
    for (const int64_t side : SidesOf(apart)) {
      const std::optional<Case> twin = TwinOf(*large.call, side);
      if (!twin) continue;
      const std::string line = MinimalLine(*twin);
      if (line == std::exchange(before, line)) continue;
      bool too_large = false;
      const auto worth = [&](const Trial& trial) {
        const int64_t own = WorkToExplain(trial);
        too_large = own > work || (!apart && TooLargeToExplain(*twin, trial));
        if (too_large) return false;
        work -= own;
        explainer_.Spend(static_cast<double>(own));
        return true;
      };
      if (!AskAgain(from_.request, from_.candidate, line, worth, &twin_)) {
        if (too_large) continue;
        return false;
      }
      passed_ = !TwinFails();
      if (passed_) continue;
      const Scene scene = SceneOf(
          twin_, ComputeTruth(*twin_.trial, false, from_.options.threads));
      if (apart) {
        AddSamples(scene, SampleOfTwin());
      } else {
        AskOtherwise(scene);
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
    std::vector<int64_t> rows = EvenRows(trial);
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
    AddQuestions();
    if (!failed_.causes.empty()) return;
    if (!looked_) {
      failed_.no_cause = "not looked for on a case this large";
      if (passed_) {
        failed_.no_cause += "; smaller ones pass";
      } else if (!from_.candidate.traits().computes) {
        failed_.no_cause += ", whose kernel cannot be asked for a smaller one";
      }
    } else if (explainer_.IsSpent()) {
      failed_.no_cause = Format(
          "no known bug found within %g s (--explain-budget looks longer)",
          from_.options.explain_seconds);
    } else {
      failed_.no_cause = UnlikeText(explainer_.Nearest());
    }
  }

  // A known bug that is proved has the number as a detail; beside one that is
  // not, a question that is answered comes first.
  void AddQuestions() {
    if (questions_.empty()) return;
    std::vector<Explanation>& causes = failed_.causes;
    const bool known = !causes.empty() && causes[0].Proved();
    if (!questions_[0].Proved() && !causes.empty()) return;
    if (known) {
      causes[0].what += " (" + questions_[0].what + ")";
      return;
    }
    causes.insert(causes.begin(), questions_.begin(), questions_.end());
  }

  const CauseRequest& from_;
  CaseResult& failed_;
  const NumericProfile* profile_;
  const std::string op_;
  std::vector<Explanation> questions_;
  AskedAgain twin_;  // before what refers to it
  Explainer explainer_;
  bool looked_ = true;
  bool passed_ = false;  // a smaller case that was asked for
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
  if (ComputesRowByRow(OpName(call))) return TwinOf(call, kTwinSides[0]);
  const Result<TrialRow> op = TrialRowOf(call);
  for (const int64_t side : kWholeTwinSides) {
    const std::optional<Case> twin = TwinOf(call, side);
    if (!twin || !op.ok()) continue;
    const auto trial = op->open(*twin, {});
    if (trial.ok() && !TooLargeToExplain(*twin, *trial.value())) return twin;
  }
  return std::nullopt;
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
