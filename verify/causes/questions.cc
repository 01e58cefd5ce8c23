#include "verify/causes/questions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/emulated.h"
#include "verify/causes/explain.h"
#include "verify/causes/hypotheses.h"
#include "verify/ops/envelopes.h"
#include "verify/ops/faults.h"

namespace lockstep::verify {
namespace {

// Factors that are tried first, 2^(n / 2) for |n| up to this.
constexpr int kSteps = 10;
constexpr double kHalfOctave = 0x1.62e42fefa39efp-2;
// The share of the error from which a number is worth fitting, and how often.
constexpr double kWorthFitting = 0.2;
// The share from which an answer that lies within the envelope is claimed: the
// rest may be roundings of a narrow lane.
constexpr double kLeastClaimed = 0.8;
constexpr int kRounds = 8;
// Differences are taken over a step of the logarithm: so many roundings of the
// lane (2^-9 in bf16), and at least the second number. kFitted ends the fit.
constexpr double kDifferenceRoundings = 16;
constexpr double kLeastDifference = 0x1p-10;
constexpr double kFitted = 1e-9;
// The smallest step among the factors with equal numbers.
constexpr double kRefined = 0x1p-20;
// What a row's envelope costs more than an emulated row.
constexpr double kEnvelopeWork = 8;

// One question with its best number.
struct Asked {
  const Question* question;
  double factor = 1;
  double explained = 0;
  Fit fit;
};

// A fitted factor this near to one with a name is that one.
constexpr double kKnownFactor = 5e-3;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

bool IsScalar(const OutputSpec& output) { return output.axes[3] == nullptr; }

// Numbers are fitted in f32: narrower weights would pull them away.
std::string KernelOf(const AskedOtherwise& from) {
  const NumericProfile wide = LoadProfile("cpu-f32").value();
  return RightKernelOf(OpName(from.call),
                       from.profile == nullptr ? nullptr : &wide);
}

class Asker {
 public:
  Asker(const AskedOtherwise& from, double* work)
      : from_(from),
        work_(*work),
        kernel_(KernelOf(from)),
        difference_(
            std::max(kLeastDifference,
                     kDifferenceRoundings *
                         LaneRowOf(from.trial.outputs()[0].lane).roundoff)),
        produced_(NumbersOf(from.trial, from.produced, from.profile,
                            from.rows.fitted)) {
    DropScalars(&produced_);
  }

  std::vector<Explanation> Run() {
    const auto right = Answer(nullptr, 1);
    if (!right) return {};
    right_ = *right;
    std::vector<Asked> all;
    std::vector<Question> near = AttentionQuestions(from_.call);
    std::ranges::move(ScanQuestions(from_.call), std::back_inserter(near));
    for (const Question& question : near) {
      Asked asked{&question, 1, 0, {}};
      if (question.measured) Search(&asked);
      if (!Weigh(&asked) || asked.explained < kLeastClaimed) continue;
      if (question.measured && !Refine(&asked)) continue;
      all.push_back(std::move(asked));
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.explained > b.explained;
    });
    std::vector<Explanation> causes;
    for (const Asked& asked : all) Add(asked, &causes);
    return causes;
  }

 private:
  // An lse has conventions of its own: numbers are fitted to what has channels.
  void DropScalars(Numbers* numbers) const {
    for (size_t t = 0; t < numbers->size(); ++t) {
      if (IsScalar(from_.trial.outputs()[t])) (*numbers)[t].clear();
    }
  }

  Result<std::unique_ptr<Trial>> TrialOf(const Question& question,
                                         double factor) const {
    if (question.make) return question.make(from_.trial, factor);
    Case other = from_.call;
    question.ask(factor, &other);
    return from_.trial.faults().AskedAs(other);
  }

  // The emulated kernel's; null: to the case's own question.
  std::optional<Numbers> Answer(const Question* question, double factor) {
    std::unique_ptr<Trial> other;
    if (question != nullptr) {
      Result<std::unique_ptr<Trial>> made = TrialOf(*question, factor);
      if (!made.ok()) return std::nullopt;
      other = std::move(made.value());
    }
    const Trial& trial = other != nullptr ? *other : from_.trial;
    work_ -= WorkOfRows(trial, from_.rows.fitted);
    if (work_ < 0) return std::nullopt;
    const auto kernel = ParseCandidate(kernel_);
    Result<OutputSet> outputs = trial.Allocate(0);
    if (!kernel.ok() || !outputs.ok()) return std::nullopt;
    auto* const emulated =
        dynamic_cast<EmulatedCandidate*>(kernel.value().get());
    if (emulated == nullptr) return std::nullopt;
    Execution execution;
    const RunOutcome ran = emulated->RunRows(trial, from_.rows.fitted,
                                             outputs.value(), &execution);
    if (ran.state != RunOutcome::State::kRan) return std::nullopt;
    Numbers numbers =
        NumbersOf(trial, outputs.value(), from_.profile, from_.rows.fitted);
    DropScalars(&numbers);
    return numbers;
  }

  bool Weigh(Asked* asked) {
    const auto answer = Answer(asked->question, asked->factor);
    if (!answer) return false;
    asked->fit =
        FitOf(from_.trial, right_, produced_, *answer, from_.rows.fitted);
    asked->explained = 1 - Left(asked->fit.all);
    return true;
  }

  // The best factor: of many, then by least squares from there.
  void Search(Asked* asked) {
    double best = 0, at = 0;
    for (int n = -kSteps; n <= kSteps; ++n) {
      asked->factor = ExpDouble(n * kHalfOctave);
      if (n == 0 || !Weigh(asked) || asked->explained <= best) continue;
      best = asked->explained;
      at = n * kHalfOctave;
    }
    for (int round = 0; round < kRounds && best > kWorthFitting; ++round) {
      const double step = StepFrom(*asked->question, at);
      at += std::clamp(step, -kHalfOctave, kHalfOctave);
      if (!(std::fabs(step) > kFitted)) break;
    }
    asked->factor = ExpDouble(at);
  }

  // Least squares cannot see below the roundings of a narrow lane. Of factors
  // near theirs, the one with most equal numbers is taken. False: no work left.
  bool Refine(Asked* asked) {
    if (from_.trial.outputs()[0].lane == Lane::kF32) return true;
    int64_t most = -1;
    double at = 0;
    const double fitted = asked->factor;
    const auto look = [&](double there) {
      const auto answer = Answer(asked->question, fitted * ExpDouble(there));
      const int64_t equal = answer ? Equal(*answer) : -1;
      if (equal <= most) return;
      most = equal;
      at = there;
    };
    look(0);
    for (double step = difference_ / 2; step > kRefined; step /= 2) {
      const double from = at;
      look(from - step);
      look(from + step);
    }
    asked->factor = fitted * ExpDouble(at);
    return Weigh(asked);
  }

  int64_t Equal(const Numbers& answer) const {
    int64_t equal = 0;
    for (size_t t = 0; t < answer.size(); ++t) {
      for (size_t n = 0; n < answer[t].size(); ++n) {
        equal += answer[t][n] == produced_[t][n] ? 1 : 0;
      }
    }
    return equal;
  }

  // What least squares add to the logarithm of the factor; NaN: nothing known.
  double StepFrom(const Question& question, double at) {
    const auto here = Answer(&question, ExpDouble(at));
    const auto there = Answer(&question, ExpDouble(at + difference_));
    if (!here || !there) return 0;
    double product = 0, square = 0;
    for (size_t t = 0; t < here->size(); ++t) {
      for (size_t n = 0; n < (*here)[t].size(); ++n) {
        const double from = double{(*here)[t][n]};
        const double slope = (double{(*there)[t][n]} - from) / difference_;
        const double left = double{produced_[t][n]} - from;
        if (!std::isfinite(slope) || !std::isfinite(left)) continue;
        product += slope * left;
        square += slope * slope;
      }
    }
    return square > 0 ? product / square : 0;
  }

  // How many outputs, with channels and without, are not within what is allowed
  // there; none: nothing is known.
  struct Wrong {
    int64_t channels = 0, scalars = 0;
  };
  std::optional<Wrong> Outside(const Trial& other) const {
    const NumericProfile profile =
        from_.profile != nullptr
            ? *from_.profile
            : LoadProfile(other.outputs()[0].lane == Lane::kF32 ? "cpu-f32"
                                                                : "flash-bf16")
                  .value();
    if (!other.envelopes().WhyUndeclared(profile).empty()) return std::nullopt;
    std::vector<int64_t> rows = from_.rows.judged;
    for (int64_t n = 0; rows.empty() && n < other.rows(); ++n) {
      rows.push_back(n);
    }
    const auto allowed = other.envelopes().Envelope(profile, rows, 1);
    if (allowed == nullptr) return std::nullopt;
    Wrong wrong;
    for (const EnvelopeResult& found : allowed->Judge(from_.produced)) {
      if (found.Passed() && !found.MostlyOpen()) continue;
      const auto output = std::find_if(
          other.outputs().begin(), other.outputs().end(),
          [&](const auto& spec) { return spec.name == found.tensor; });
      ++(IsScalar(*output) ? wrong.scalars : wrong.channels);
    }
    return wrong;
  }

  // "dv, dk, dq".
  std::string WithChannels() const {
    std::string names;
    for (const OutputSpec& output : from_.trial.outputs()) {
      if (IsScalar(output)) continue;
      names += (names.empty() ? "" : ", ") + output.name;
    }
    return names;
  }

  void Add(const Asked& asked, std::vector<Explanation>* causes) {
    const auto other = TrialOf(*asked.question, asked.factor);
    if (!other.ok()) return;
    Explanation cause;
    cause.bug = "asked." + asked.question->name;
    cause.what = asked.question->say(asked.factor);
    cause.explained = asked.explained;
    cause.doubt = DoubtOf(asked.fit.all);
    if (cause.doubt.empty()) {
      work_ -= kEnvelopeWork * WorkOfRows(*other.value(), from_.rows.judged);
      const auto wrong = Outside(*other.value());
      const auto own = Outside(from_.trial);
      if (own && own->channels + own->scalars == 0) {
        cause.doubt = "the rows looked at are right for the case, too";
      } else if (!wrong || wrong->channels > 0) {
        cause.doubt = "not all of the answer is right for that";
      } else if (wrong->scalars > 0) {
        cause.where = WithChannels();
      }
    }
    if (!cause.Proved() && asked.explained < kCauseReproduced) return;
    if (!causes->empty() && !cause.Proved()) return;
    if (!causes->empty() && !causes->front().Proved() && cause.Proved()) {
      causes->clear();
    }
    if (!causes->empty() && cause.Proved()) {
      causes->front().alike.push_back(cause.what);
    } else {
      causes->push_back(std::move(cause));
    }
  }

  const AskedOtherwise& from_;
  double& work_;
  const std::string kernel_;
  const double difference_;
  Numbers produced_;
  Numbers right_;
};

}  // namespace

std::string BaseText(double factor) {
  if (std::fabs(factor / kLn2 - 1) < kKnownFactor) {
    return ", as exp2 without log2(e) makes them";
  }
  if (std::fabs(factor * kLn2 - 1) < kKnownFactor) {
    return ", as exp of scores times log2(e) makes them";
  }
  return "";
}

std::vector<Explanation> FindQuestions(const AskedOtherwise& from,
                                       double* work) {
  return Asker(from, work).Run();
}

}  // namespace lockstep::verify
