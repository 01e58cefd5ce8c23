#include "verify/allowed/attention_forward/probe_slack.h"

#include <algorithm>
#include <cmath>

#include "verify/allowed/rounding.h"
#include "verify/base/binary64.h"
#include "verify/case/attention_forward/probe.h"

namespace lockstep::verify {
namespace {

bool SumsInF32(const Accumulator& how) {
  return how.kind != Accumulator::Kind::kBf16 &&
         how.kind != Accumulator::Kind::kF16;
}

// Whether a query, or what it is with the scale in it, is held in f16 and too
// large for it.
bool LeavesF16(double query, const AttentionForwardProblem& p,
               const NumericProfile& profile) {
  const bool held =
      profile.operand_qk == NumberType::kF16 ||
      (profile.scale_at == ScaleAt::kQLane && p.lane == Lane::kF16);
  return held && !(query * std::max(std::fabs(p.scale), 1.0) < 0x1p15);
}

// The queries of probes all of whose keys have one score that is not 0.
std::string WhyNotTied(ProbeKind kind, const AttentionForwardProblem& p,
                       const NumericProfile& profile) {
  const double scale = std::fabs(p.scale);
  const bool deep = kind == ProbeKind::kDeep;
  const double query =
      deep ? std::fabs(ProbeDeepQuery(p)) : 2 * ProbeHoleUnit(p);
  if (LeavesF16(query, p, profile)) return "the query leaves f16";
  // Channels weigh 1 or 2, less 1 for the hole.
  const auto channels = static_cast<double>(ProbeChannels(p));
  double least = deep ? query * scale : (channels - 1) * query / 2 * scale;
  double most = deep ? query * scale : 2 * channels * query / 2 * scale;
  const double unscaled =
      profile.score_round == ScoreRound::kOnce ? 0 : most / scale;
  if (p.softcap) {
    least = *p.softcap * TanhDouble(least / *p.softcap);
    most = *p.softcap * TanhDouble(most / *p.softcap);
  }
  if (profile.score == NumberType::kF16 &&
      !(std::max(most, unscaled) < 0x1p15)) {
    return "the scores leave f16";
  }
  const std::string why = WhyNotTop(least, true, p, profile);
  return why.empty() ? WhyNotTop(most, true, p, profile) : why;
}

}  // namespace

ProbeSlack MakeProbeSlack(const AttentionForwardProblem& p,
                          const NumericProfile& profile) {
  return {MakeTopSlack(0, p, profile),
          MakeTopSlack(ProbeHighScore(p), p, profile)};
}

std::string WhyNotProbe(ProbeKind kind, const AttentionForwardProblem& problem,
                        const NumericProfile& profile) {
  std::string why = WhyNotProbe(kind, problem);
  if (!why.empty()) return why;
  if (!SumsInF32(profile.acc_pv) || !SumsInF32(profile.acc_l) ||
      (profile.state != NumberType::kF32)) {
    return "the profile's sums are not in f32";
  }
  // Rows that see no high key have them all at score 0.
  why = WhyNotTop(0, true, problem, profile);
  if (!why.empty()) return why;
  if (kind == ProbeKind::kHoles || kind == ProbeKind::kDeep) {
    return WhyNotTied(kind, problem, profile);
  }
  if (!HasHighKeys(kind)) return "";
  if (LeavesF16(std::fabs(ProbeQueryValue(problem)), problem, profile)) {
    return "the high query leaves f16";
  }
  const bool several = kind != ProbeKind::kSelect && kind != ProbeKind::kAim;
  return WhyNotTop(ProbeHighScore(problem), several, problem, profile);
}

namespace {

bool IsPowerOfTwo(double x) {
  int exponent = 0;
  return std::frexp(std::fabs(x), &exponent) == 0.5;
}

// Whether q holds the scale in 24 bits when the dot product is formed: sums of
// its multiples then round, in an order of the kernel's own.
bool ScaledQueriesRound(const AttentionForwardProblem& p,
                        const NumericProfile& profile) {
  if (profile.scale_at == ScaleAt::kRoots) {
    return !IsPowerOfTwo(std::sqrt(std::fabs(p.scale)));
  }
  const bool wide =
      profile.scale_at == ScaleAt::kQF32 ||
      (profile.scale_at == ScaleAt::kQLane && p.lane == Lane::kF32);
  return wide && !IsPowerOfTwo(p.scale);
}

// Scores of holes are sums over all channels; the others have one product.
double SumOverChannels(ProbeKind kind, const AttentionForwardProblem& p,
                       const NumericProfile& profile) {
  const bool rounds =
      kind == ProbeKind::kHoles && ScaledQueriesRound(p, profile);
  return rounds ? static_cast<double>(p.head_dim) * StepOf(profile.acc_qk) : 0;
}

}  // namespace

ProbeTie MakeProbeTie(ProbeKind kind, const AttentionForwardProblem& p,
                      const NumericProfile& profile, double score, double n) {
  ProbeTie tie;
  const double apart = SumOverChannels(kind, p, profile) * score;
  if (apart == 0) return tie;
  // Weights of one sum and of both sums, and what their conversion adds.
  const double weights = 2 * apart + ConversionOf(p, profile).unit;
  tie.absolute = weights + n * StepOf(profile.acc_pv);
  tie.relative = weights + n * StepOf(profile.acc_l);
  return tie;
}

ProbeTie MakeProbeSinkTie(const NumericProfile& profile,
                          const AttentionForwardProblem& p, double distance,
                          double n) {
  ProbeTie tie;
  const double u = ConversionOf(p, profile).unit;
  // An exponential each, their division, the logits' way to another base.
  tie.relative = u + 2 * profile.exp_rel + 0x1p-19 + 8 * kU * distance +
                 n * StepOf(profile.acc_l);
  tie.value_sum = n * StepOf(profile.acc_pv);
  // Multiples of one number's last place, unless tiles multiply them again.
  if (u > 0 && profile.exp_zero != ExpZero::kRel &&
      profile.normalise != Normalise::kBefore) {
    const bool nearest = profile.p_round == Rounding::kNearest;
    tie.bits = -std::ilogb(nearest ? u : u / 2);
  }
  // Vector bodies and scalar tails may convert to neighbours.
  if (profile.exp_zero != ExpZero::kExact) {
    tie.absolute += u + 2 * profile.exp_rel;
  }
  // The sink takes part in one split only: weights there are rounded, the
  // others' are 1.
  if (profile.splits != 1) tie.absolute += u;
  if (profile.p == NumberType::kF16 || profile.p == NumberType::kE4m3) {
    const double smallest = profile.p == NumberType::kE4m3
                                ? ConversionOf(p, profile).lost
                            : profile.ftz ? 0x1p-14
                                          : 0x1p-25;
    tie.relative += smallest * ExpDouble(std::min(distance, 700.0));
  }
  return tie;
}

double ProbeScoreError(ProbeKind kind, const AttentionForwardProblem& p,
                       const NumericProfile& profile, double score) {
  // Constants, their product, the conversion of the base, the cap's product.
  double relative = 8 * kU + SumOverChannels(kind, p, profile);
  if (profile.scale_at == ScaleAt::kQLane && p.lane != Lane::kF32 &&
      !IsPowerOfTwo(p.scale)) {
    relative += 0x1.01p0 * LaneRowOf(p.lane).roundoff;
  }
  if (profile.score != NumberType::kF32 && profile.score != NumberType::kCase) {
    // The product, the scale, the quotient by the cap, tanh, the cap.
    const double steps = profile.score_round == ScoreRound::kOnce ? 1
                         : p.softcap                              ? 5.1
                                                                  : 2.1;
    relative += steps * UnitRoundoff(profile.score);
  }
  if (profile.operand_qk != NumberType::kF32 && !IsPowerOfTwo(p.scale)) {
    relative += 2 * UnitRoundoff(profile.operand_qk);
  }
  // The rounding of m * factor, which is in l.
  if (profile.shift == Shift::kFma) relative += 4 * kU;
  if (p.softcap) relative += profile.tanh_rel;
  return relative * score;
}

double ProbeSinkError(const NumericProfile& profile, double logit,
                      double distance) {
  const bool stepwise = profile.score_round != ScoreRound::kOnce;
  const bool shifted = profile.score_round == ScoreRound::kShift;
  const double of_type = ConversionTo(profile.score);
  return (ConversionTo(profile.sink) + (stepwise ? of_type : 0)) *
             std::fabs(logit) +
         (shifted ? 1.1 * of_type * distance : 0);
}

double ProbeLseError(const NumericProfile& profile, double score,
                     double log_l) {
  // Five roundings on the way to natural units, one of the sum.
  const double rounding = 6 * kU * (score + log_l);
  const bool shifted = profile.max.kind == MaxPolicy::Kind::kRunning ||
                       profile.max.kind == MaxPolicy::Kind::kTwoPass;
  const double function =
      (profile.log_rel + kU) * (1 + log_l + (shifted ? 0 : score));
  double error = rounding + function;
  // Parts merged by their lse: each part's error, then the sum's own.
  if (profile.splits != 1) error = 2 * error + profile.exp_rel + 16 * kU;
  return error + (profile.ftz ? 0x1p-125 : 0x1p-140);
}

}  // namespace lockstep::verify
