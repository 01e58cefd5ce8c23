#include "verify/allowed/attention_forward/probes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "verify/allowed/attention_forward/probe_slack.h"
#include "verify/allowed/attention_forward/probe_sums.h"
#include "verify/allowed/rounding.h"
#include "verify/base/binary64.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {
namespace {

// What one row holds: the keys that weigh 1, everything else beside them, and
// the errors that are legal.
struct RowMass {
  double visible = 0;
  double count = 0;   // of the keys that weigh 1
  double sink = 0;    // weight of the sink, in keys
  double rest = 0;    // weight of everything else, twice: it has errors, too
  double score = 0;   // of the keys that weigh 1, natural units
  TopSlack slack;     // of sums of equal weights
  ProbeTie tie;       // beyond that
  bool open = false;  // the profile leaves too much open
};

class Expectation {
 public:
  explicit Expectation(const ProbeRequest& request)
      : kind_(request.kind),
        p_(request.problem),
        inputs_(request.inputs),
        profile_(request.profile),
        seed_(request.seed),
        zero_(MakeTopSlack(0, p_, profile_)) {}

  // The heads whose rows follow.
  void EnterHead(int64_t b, int64_t kv_head) {
    score_ = 0;
    if (ProbeRowLabel(kind_, p_, {b, kv_head * p_.group(), 0}) == kNoLabel) {
      return;
    }
    score_ = ProbeRowScore(kind_, p_, seed_, b, kv_head);
    high_ = MakeTopSlack(std::fabs(score_), p_, profile_);
  }

  void AddRow(const oracle::KeySet& keys, const ProbeSums& sums,
              const std::array<int64_t, 3>& at, ProbeAnswers* answers) const {
    RowMass mass;
    mass.visible = static_cast<double>(oracle::CountKeys(keys));
    if (mass.visible == 0) {
      AddEmptyRow(at[1], answers);
      return;
    }
    const int64_t label = ProbeRowLabel(kind_, p_, at);
    ProbeTotal total;
    if (label != kNoLabel) total = sums.Over(keys, label);
    const bool high = total.count > 0;
    if (!high) total = sums.Over(keys, kNoLabel);
    mass.count = static_cast<double>(total.count);
    mass.slack = high ? high_ : zero_;
    if (high) {
      mass.score = score_;
      mass.tie =
          MakeProbeTie(kind_, p_, profile_, std::fabs(score_), mass.count);
    }
    if (mass.visible > mass.count) {
      mass.rest = 2 * (mass.visible - mass.count) * ExpDouble(-mass.score);
    }
    AddSink(at[1], &mass);
    AddOutputs(total, mass, answers);
    answers->lse.push_back(mass.open ? kAnything : Lse(mass));
  }

 private:
  void AddSink(int64_t h, RowMass* mass) const {
    if (!p_.sink) return;
    const auto logit = static_cast<double>(inputs_.sink(h));
    const double score = std::fabs(mass->score);
    const double distance = std::fabs(logit - mass->score) + score;
    mass->sink = ExpDouble(std::min(logit - mass->score, 700.0));
    if (mass->sink < 0x1p-60) return;
    const bool fixed = profile_.max.kind == MaxPolicy::Kind::kFixed;
    const double reference = fixed ? std::fabs(profile_.max.value) : 0;
    if (distance == 0 && reference == 0) {
      // One more key of value 0; its weight is an exp(0), too.
      const bool exact = profile_.exp_zero == ExpZero::kExact;
      mass->tie.relative += exact ? 0 : 2 * profile_.exp_rel;
      return;
    }
    const double apart = ProbeScoreError(kind_, p_, profile_, score) +
                         ProbeSinkError(profile_, logit, distance);
    // Keys would underflow beside it, or their weight is anyone's.
    if (!(mass->sink < 0x1p60 && apart < 0.25)) {
      mass->open = true;
      return;
    }
    const ProbeTie tie =
        MakeProbeSinkTie(profile_, p_, distance + reference, mass->count);
    mass->tie.relative += tie.relative + 2 * apart;
    mass->tie.absolute += tie.absolute;
    mass->tie.value_sum = tie.value_sum;
    mass->tie.bits = tie.bits;
  }

  // Whether the row's sums have one term.
  static bool IsLone(const RowMass& mass) {
    return mass.visible == 1 && mass.sink < 0x1p-60 && mass.tie.relative == 0 &&
           mass.tie.absolute == 0;
  }

  void AddOutputs(const ProbeTotal& total, const RowMass& mass,
                  ProbeAnswers* answers) const {
    const double count = mass.count + mass.sink;
    const double largest = kind_ == ProbeKind::kReset ? kProbeBig : 16;
    const double most_exact = std::ldexp(1.0, 24 - mass.tie.bits);
    const ProbeError of_small = mass.slack.For({mass.visible, count, 0});
    const ProbeError of_large = mass.slack.For({mass.visible, count, kInf});
    for (size_t c = 0; c < total.sum.size(); ++c) {
      if (mass.open) {
        answers->o.push_back(kAnything);
        continue;
      }
      const double mean = static_cast<double>(total.sum[c]) / count;
      const auto abs_sum = static_cast<double>(total.abs_sum[c]);
      const ProbeError& sums =
          abs_sum < mass.slack.ExactBelow() ? of_small : of_large;
      const bool exact = abs_sum < most_exact;
      const double absolute =
          sums.absolute + mass.tie.absolute + (exact ? 0 : mass.tie.value_sum);
      double error =
          std::fabs(mean) * (sums.relative + mass.tie.relative + mass.rest) +
          absolute * abs_sum / count + mass.rest * largest;
      if (IsLone(mass)) {
        error = std::min(error, std::fabs(mean) * mass.slack.lone);
      }
      answers->o.push_back(
          RoundedSet(mean - error, mean + error, p_.lane, profile_.out_round));
    }
  }

  // Relative error of the sum of weights: its additions, weights that are not
  // quite equal, and factors exp(0) that are not 1.
  double ErrorOfL(const RowMass& mass) const {
    const ProbeError sums = mass.slack.For({mass.visible, mass.count, 0});
    double error = sums.relative - mass.slack.common + mass.tie.relative;
    if (profile_.exp_zero != ExpZero::kExact) error += profile_.exp_rel;
    if (profile_.exp_zero == ExpZero::kRel) error += sums.absolute;
    return error + mass.rest;
  }

  ValueSet Lse(const RowMass& mass) const {
    const double log = LogDouble(mass.count + mass.sink);
    const double score = std::fabs(mass.score);
    // Of l within 1 - x the logarithm is within 2 x, for x below 1/2.
    const double of_l = ErrorOfL(mass);
    if (!(of_l < 0.5)) return kAnything;
    const double error = ProbeLseError(profile_, score, std::fabs(log)) +
                         ProbeScoreError(kind_, p_, profile_, score) + 2 * of_l;
    return StoredLse(profile_, mass.score + log, error);
  }

  // N12, in the profile's convention.
  void AddEmptyRow(int64_t h, ProbeAnswers* answers) const {
    const bool open = profile_.empty_row == EmptyRow::kMeanVisited ||
                      profile_.empty_row == EmptyRow::kUnspecified;
    for (int64_t c = 0; c < p_.value_dim; ++c) {
      answers->o.push_back(open ? kAnything : ValueSet{0, 0, false});
    }
    if (open) {
      answers->lse.push_back(kAnything);
      return;
    }
    const double sink = p_.sink ? static_cast<double>(inputs_.sink(h)) : -kInf;
    if (std::isfinite(sink)) {
      const double error =
          ProbeLseError(profile_, std::fabs(sink), 0) +
          ProbeSinkError(profile_, sink, 0) +
          (profile_.exp_zero == ExpZero::kExact ? 0 : 2 * profile_.exp_rel);
      answers->lse.push_back(StoredLse(profile_, sink, error));
      return;
    }
    double none = -kInf;
    if (profile_.empty_row == EmptyRow::kZeroPosInf) none = kInf;
    if (profile_.empty_row == EmptyRow::kZeroZero) none = 0;
    answers->lse.push_back({none, none, false});
  }

  ProbeKind kind_;
  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& inputs_;
  const NumericProfile& profile_;
  uint64_t seed_;
  TopSlack zero_;
  TopSlack high_;
  double score_ = 0;
};

}  // namespace

ProbeAnswers ExpectProbe(const ProbeRequest& request,
                         const std::vector<int64_t>* rows) {
  const AttentionForwardProblem& p = request.problem;
  const int64_t all = p.batch * p.q_heads * p.q_len;
  const size_t count =
      rows != nullptr ? rows->size() : static_cast<size_t>(all);
  const oracle::Visibility visibility(p, request.inputs);
  Expectation expectation(request);
  ProbeAnswers answers;
  answers.o.reserve(count * static_cast<size_t>(p.value_dim));
  answers.lse.reserve(count);
  std::optional<ProbeSums> sums;
  int64_t sums_head = -1;
  for (size_t r = 0; r < count; ++r) {
    const int64_t row = rows != nullptr ? (*rows)[r] : static_cast<int64_t>(r);
    const int64_t i = row % p.q_len;
    const int64_t h = row / p.q_len % p.q_heads;
    const int64_t b = row / p.q_len / p.q_heads;
    const int64_t kv = h / p.group();
    if (sums_head != b * p.kv_heads + kv) {
      sums_head = b * p.kv_heads + kv;
      sums.emplace(request.kind, p, request.seed, b, kv);
      expectation.EnterHead(b, kv);
    }
    expectation.AddRow(visibility.VisibleKeys(b, h, i), *sums, {b, h, i},
                       &answers);
  }
  return answers;
}

}  // namespace lockstep::verify
