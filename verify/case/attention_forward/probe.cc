#include "verify/case/attention_forward/probe.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "verify/base/binary64.h"

namespace lockstep::verify {
namespace {

// Natural logits: e^-kGap vanishes beside 2^-149, the contract's 2^-189 too.
constexpr double kGap = 160;

// Why the problem does not have what the probe looks at; empty if it has.
std::string WhyNotShape(ProbeKind kind, const AttentionForwardProblem& p) {
  if (kind == ProbeKind::kSink && !p.sink) return "the problem has no sinks";
  const int64_t channels = ProbeChannels(p);
  const bool scored = HasHighKeys(kind) || kind == ProbeKind::kHoles ||
                      kind == ProbeKind::kDeep;
  if (scored && channels == 0) return "v is all of k";
  if (kind == ProbeKind::kComb && channels < 2) {
    return "keys of one channel cannot be told apart";
  }
  if (kind == ProbeKind::kThirds && channels < 5) {
    return "with fewer than 5 channels comb has at most 3 classes itself";
  }
  if (kind == ProbeKind::kThirdsNext &&
      (channels < 3 || p.q_len * p.group() > 1)) {
    return "it replaces a second row where a kv head has only one, and needs 3 "
           "channels";
  }
  if (kind == ProbeKind::kHoles && channels < 2) {
    return "one channel cannot tie with others";
  }
  return "";
}

// The same for probes all of whose keys have one score that is not 0.
std::string WhyNotTied(ProbeKind kind, const AttentionForwardProblem& p) {
  const double scale = std::fabs(p.scale);
  if (!(scale > 0x1p-60 && scale < 0x1p60)) return "the scale is extreme";
  if (kind == ProbeKind::kDeep && p.softcap) return "a cap limits every score";
  return p.softcap && *p.softcap > 0x1p40 ? "the cap is extreme" : "";
}

// Whether the query of a probe, `most` times it too, is no number of the lane.
std::string WhyNotInLane(const AttentionForwardProblem& p, double query,
                         double most) {
  const LaneRow& lane = LaneRowOf(p.query_lane());
  const double size = std::fabs(query);
  const bool in_range =
      size >= std::ldexp(1.0, lane.min_exponent) && most * size <= lane.largest;
  return in_range ? "" : std::string("the query leaves ") + lane.name;
}

}  // namespace

bool HasHighKeys(ProbeKind kind) {
  return kind == ProbeKind::kSelect || kind == ProbeKind::kAim ||
         kind == ProbeKind::kReset || kind == ProbeKind::kShift ||
         kind == ProbeKind::kComb || kind == ProbeKind::kThirds ||
         kind == ProbeKind::kThirdsNext;
}

double ProbeQueryValue(const AttentionForwardProblem& p) {
  const double wanted = std::max(kGap, 20 * p.softcap.value_or(0.0));
  // No scale and tiny ones: WhyNotProbe refuses them, and ilogb of infinity is
  // the largest integer.
  const double ratio = std::min(wanted / std::fabs(p.scale), 0x1p1000);
  const int exponent = std::ilogb(ratio) + 1;
  return std::copysign(std::ldexp(1.0, exponent), p.scale);
}

double ProbeHighScore(const AttentionForwardProblem& p) {
  return p.softcap ? *p.softcap : ProbeQueryValue(p) * p.scale;
}

int64_t ProbeChannels(const AttentionForwardProblem& p) {
  return p.v_in_k ? p.head_dim - p.value_dim : p.head_dim;
}

int64_t ProbeClasses(ProbeKind kind, int64_t channels) {
  if (kind != ProbeKind::kComb) return 3;
  // Asked for every element: the last one is kept.
  thread_local int64_t asked = 0;
  thread_local int64_t classes = 0;
  if (asked == channels) return classes;
  const auto prime = [](int64_t n) {
    for (int64_t d = 2; d * d <= n; ++d) {
      if (n % d == 0) return false;
    }
    return true;
  };
  classes = channels;
  while (classes > 2 && !prime(classes)) --classes;
  asked = channels;
  return classes;
}

double ProbeHoleUnit(const AttentionForwardProblem& p) {
  const double scale = std::fabs(p.scale);
  // With a cap about half of its range, where a lost channel still moves it.
  const double wanted =
      p.softcap ? *p.softcap / (1.5 * static_cast<double>(ProbeChannels(p)))
                : 6;
  return std::ldexp(1.0, std::ilogb(wanted / scale) + (p.softcap ? 0 : 1));
}

double ProbeDeepQuery(const AttentionForwardProblem& p) {
  const int exponent = std::ilogb(0x1p20 / std::fabs(p.scale)) + 1;
  return std::copysign(std::ldexp(1.0, exponent), -p.scale);
}

double ProbeSinkLogit(const AttentionForwardProblem& p, int64_t h) {
  // Weights of keys beside it stay above 2^-18, where f16 still has 6 bits.
  const double most = std::min(4 * static_cast<double>(p.kv_len), 0x1p18);
  return LogDouble(most) - 0.5 * static_cast<double>(h % 12) * LogDouble(2.0);
}

std::string WhyNotProbe(ProbeKind kind,
                        const AttentionForwardProblem& problem) {
  if (kind >= ProbeKind::kGradKeys) {
    return "it is a probe of attention_backward";
  }
  if (kind >= ProbeKind::kIntegrate) return "it is a probe of scans";
  if (problem.kv_len > int64_t{1} << 19) return "more than 2^19 keys";
  if (kind == ProbeKind::kReset && problem.kv_lane == Lane::kE4m3) {
    return "e4m3 cannot represent its large values";
  }
  const std::string shape = WhyNotShape(kind, problem);
  if (!shape.empty()) return shape;
  if (kind == ProbeKind::kHoles || kind == ProbeKind::kDeep) {
    const std::string why = WhyNotTied(kind, problem);
    if (!why.empty()) return why;
    return kind == ProbeKind::kDeep
               ? WhyNotInLane(problem, ProbeDeepQuery(problem), 1)
               : WhyNotInLane(problem, ProbeHoleUnit(problem), 2);
  }
  if (!HasHighKeys(kind)) return "";
  const double scale = std::fabs(problem.scale);
  if (!(scale > 0x1p-60 && scale < 0x1p60)) return "the scale is extreme";
  const std::string why = WhyNotInLane(problem, ProbeQueryValue(problem), 1);
  if (!why.empty() || !problem.softcap) return why;
  if (*problem.softcap > 0x1p40) return "the cap is extreme";
  if (kind == ProbeKind::kShift) return "a cap limits every shift";
  // Everything but the high keys must vanish beside one of them.
  const double largest = kind == ProbeKind::kReset ? kProbeBig : 16;
  const double rest = static_cast<double>(problem.kv_len) * largest *
                      ExpDouble(-*problem.softcap);
  return rest < 0x1p-20 ? "" : "the cap is too small to separate the scores";
}

}  // namespace lockstep::verify
