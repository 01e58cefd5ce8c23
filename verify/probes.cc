#include "verify/probes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "verify/emulator/numbers.h"
#include "verify/oracle/visibility.h"

namespace lockstep::verify {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// Natural logits: e^-kGap vanishes beside 2^-149, the contract's 2^-189 too.
constexpr double kGap = 160;
constexpr int kBig = 1024;  // values that a reset must forget

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// 0..15, from everything that names an element.
int Level(uint64_t seed, int64_t b, int64_t h, int64_t j, int64_t c) {
  uint64_t x = Mix(seed);
  for (const int64_t part : {b, h, j, c}) {
    x = Mix(x ^ static_cast<uint64_t>(part));
  }
  return static_cast<int>(x >> 60);
}

bool HasHighKeys(ProbeKind kind) {
  return kind == ProbeKind::kSelect || kind == ProbeKind::kAim ||
         kind == ProbeKind::kReset || kind == ProbeKind::kShift;
}

bool IsHigh(ProbeKind kind, const AttentionForwardProblem& p, uint64_t seed,
            int64_t j) {
  switch (kind) {
    case ProbeKind::kSelect:
      return j == static_cast<int64_t>(Mix(seed ^ 0x5e1ec7) %
                                       static_cast<uint64_t>(p.kv_len));
    case ProbeKind::kAim:
      return j == p.kv_len - 1;
    case ProbeKind::kReset:
      return j >= p.kv_len / 2;
    case ProbeKind::kShift:
      return true;
    default:
      return false;
  }
}

// The one non-zero element of q, a signed power of two: its product with 1 is
// exact, and the score it gives is at least kGap, or 20 caps.
double QueryValue(const AttentionForwardProblem& p) {
  const double wanted = std::max(kGap, 20 * p.softcap.value_or(0.0));
  const int exponent = std::ilogb(wanted / std::fabs(p.scale)) + 1;
  return std::copysign(std::ldexp(1.0, exponent), p.scale);
}

// The high score, after the cap.
double HighScore(const AttentionForwardProblem& p) {
  return p.softcap ? *p.softcap : QueryValue(p) * p.scale;
}

int Value(ProbeKind kind, const AttentionForwardProblem& p, uint64_t seed,
          int64_t b, int64_t h, int64_t j, int64_t c) {
  switch (kind) {
    case ProbeKind::kPrefix: {
      const int m = 1 << Level(seed, b, h, -1, c) % 4;
      return (j + Level(seed, b, h, -2, c)) % 2 == 0 ? m : -m;
    }
    case ProbeKind::kHeadTag: {
      // Base 8 digits, so that every code is an integer below 2^4.
      const int64_t code = b * p.kv_heads + h;
      return 1 + static_cast<int>(code >> (3 * (c % 6)) & 7);
    }
    case ProbeKind::kReset:
      if (!IsHigh(kind, p, seed, j)) {
        return Level(seed, b, h, j, c) % 2 == 0 ? kBig : -kBig;
      }
      break;
    default:
      break;
  }
  // Differences of levels: the sum over a run of keys telescopes.
  const int before = j > 0 ? Level(seed, b, h, j - 1, c) : 0;
  return Level(seed, b, h, j, c) - before;
}

// Sums over keys below j, for one (b, kv head): [j] and [j][channel].
struct Prefix {
  // 2^19 keys of at most 2^10 each stay below 2^31.
  std::vector<int32_t> high;
  std::vector<int32_t> sum[2], abs[2];  // of the low and of the high keys
};

Prefix MakePrefix(ProbeKind kind, const AttentionForwardProblem& p,
                  uint64_t seed, int64_t b, int64_t h) {
  const auto n = static_cast<size_t>(p.kv_len);
  const auto dv = static_cast<size_t>(p.value_dim);
  Prefix prefix;
  prefix.high.resize(n + 1);
  for (auto* x :
       {&prefix.sum[0], &prefix.sum[1], &prefix.abs[0], &prefix.abs[1]}) {
    x->resize((n + 1) * dv);
  }
  for (size_t j = 0; j < n; ++j) {
    const bool high = IsHigh(kind, p, seed, static_cast<int64_t>(j));
    prefix.high[j + 1] = prefix.high[j] + (high ? 1 : 0);
    for (size_t c = 0; c < dv; ++c) {
      const int v = Value(kind, p, seed, b, h, static_cast<int64_t>(j),
                          static_cast<int64_t>(c));
      for (size_t side = 0; side < 2; ++side) {
        const bool here = high == (side == 1);
        const size_t at = j * dv + c;
        prefix.sum[side][at + dv] = prefix.sum[side][at] + (here ? v : 0);
        prefix.abs[side][at + dv] =
            prefix.abs[side][at] + (here ? std::abs(v) : 0);
      }
    }
  }
  return prefix;
}

int64_t SumOver(const oracle::KeySet& keys, const std::vector<int32_t>& prefix,
                size_t width, size_t c) {
  int64_t sum = 0;
  for (const oracle::KeyInterval& run : keys) {
    sum += prefix[static_cast<size_t>(run.end) * width + c] -
           prefix[static_cast<size_t>(run.begin) * width + c];
  }
  return sum;
}

// What is the same for all rows of a problem under a profile.
struct Slack {
  double low = 0;  // relative to |mean|
  double high = 0;
  double split = 0;  // of either, relative to the mean |v|

  Slack(const AttentionForwardProblem& p, const NumericProfile& profile) {
    low = 0x1p-21 + 2 * profile.division_rel;
    const double score = std::fabs(HighScore(p));
    high = low + 0x1p-19 + 8 * score * 0x1p-24;
    const bool wide_p =
        profile.p == NumberType::kF32 ||
        (profile.p == NumberType::kCase && p.p_lane == Lane::kF32);
    // Weights of an equal score s are 1 only where s - max s is formed; with
    // the contract's integer maximum they are some g in [1/2, 2).
    if (profile.shift == Shift::kInteger && !wide_p) high += 0x1p-8;
    if (profile.normalise == Normalise::kEager || profile.splits != 1) {
      split = 0x1p-20 + 2 * profile.division_rel;
    }
  }
};

class Expectation {
 public:
  Expectation(ProbeKind kind, const AttentionForwardProblem& problem,
              const AttentionForwardInputs& inputs,
              const NumericProfile& profile)
      : kind_(kind),
        p_(problem),
        inputs_(inputs),
        profile_(profile),
        slack_(problem, profile) {}

  ValueSet Element(const oracle::KeySet& keys, const Prefix& prefix, int64_t h,
                   size_t c) const {
    constexpr ValueSet kAnything = {-kInf, kInf, true};
    const int64_t visible = oracle::CountKeys(keys);
    if (visible == 0) {
      const bool open = profile_.empty_row == EmptyRow::kMeanVisited ||
                        profile_.empty_row == EmptyRow::kUnspecified;
      return open ? kAnything : ValueSet{0, 0, false};
    }
    const int64_t high = SumOver(keys, prefix.high, 1, 0);
    const size_t side = high > 0 ? 1 : 0;
    const auto dv = static_cast<size_t>(p_.value_dim);
    const auto sum =
        static_cast<double>(SumOver(keys, prefix.sum[side], dv, c));
    const auto abs_sum =
        static_cast<double>(SumOver(keys, prefix.abs[side], dv, c));
    double count = static_cast<double>(high > 0 ? high : visible);
    double relative = high > 0 ? slack_.high : slack_.low;
    double absolute = slack_.split;
    // Equal weights that are not 1 multiply every value with a rounding.
    if (high > 0) absolute += slack_.high;
    double rest = 0;  // weight of everything below, beside the high keys
    if (high > 0) {
      // Twice: their weight, too, is computed with an error.
      rest =
          2 * static_cast<double>(visible - high) * ExpDouble(-HighScore(p_));
    }
    if (p_.sink) {
      const auto sink = static_cast<double>(inputs_.sink(h));
      const double weight = ExpDouble(sink - (high > 0 ? HighScore(p_) : 0));
      // Beside a heavy sink the weights are no powers of two.
      if (!(weight < 1e3)) return kAnything;
      if (sink > -kInf) {
        relative += 0x1p-7;
        absolute += 0x1p-7;
      }
      count += weight;
    }
    const double mean = sum / count;
    const double largest = kind_ == ProbeKind::kReset ? kBig : 16;
    const double error = std::fabs(mean) * (relative + rest) +
                         absolute * abs_sum / count + rest * largest;
    return RoundedSet(mean - error, mean + error, p_.lane, profile_.out_round);
  }

 private:
  ProbeKind kind_;
  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& inputs_;
  const NumericProfile& profile_;
  Slack slack_;
};

constexpr std::array<ProbeInfo, 11> kProbes = {{
    {ProbeKind::kCancel, "cancel",
     "equal weights, integer values whose sum over any run of keys is small"},
    {ProbeKind::kPrefix, "prefix",
     "equal weights, alternating values: a run sums to -M, 0 or M"},
    {ProbeKind::kSelect, "select",
     "one key outweighs all: rows that see it answer its value"},
    {ProbeKind::kAim, "aim",
     "the last key outweighs all: masked, it must not be noticed"},
    {ProbeKind::kReset, "reset",
     "late keys outweigh early ones that hold big values"},
    {ProbeKind::kShift, "shift",
     "all scores equal and far above what exp takes without a maximum"},
    {ProbeKind::kHeadTag, "head-tag",
     "values are a code of batch row and kv head"},
    {ProbeKind::kIntegrate, "integrate",
     "scans: decay 1, integer levels: a run sums to its last level"},
    {ProbeKind::kForget, "forget", "scans: decay 1 or 0 at random tokens"},
    {ProbeKind::kHalves, "halves", "scans: decay 1/2, one impulse at a time"},
    {ProbeKind::kTurns, "turns",
     "scans: a quarter turn per token, one impulse at a time"},
}};

bool SumsInF32(const Accumulator& how) {
  return how.kind != Accumulator::Kind::kBf16 &&
         how.kind != Accumulator::Kind::kF16;
}

}  // namespace

std::span<const ProbeInfo> Probes() { return kProbes; }

const char* ProbeName(ProbeKind kind) {
  return kProbes[static_cast<size_t>(kind)].name;
}

Result<ProbeKind> FindProbe(std::string_view name) {
  std::string names;
  for (const ProbeInfo& probe : kProbes) {
    if (name == probe.name) return probe.kind;
    names += std::string(names.empty() ? "" : ", ") + probe.name;
  }
  return Status::Error("unknown probe '" + std::string(name) +
                       "'; probes are " + names);
}

std::string WhyNotProbe(ProbeKind kind, const AttentionForwardProblem& problem,
                        const NumericProfile& profile) {
  if (kind >= ProbeKind::kIntegrate) return "it is a probe of scans";
  if (!SumsInF32(profile.acc_pv) || !SumsInF32(profile.acc_l) ||
      (profile.state != NumberType::kF32)) {
    return "the profile's sums are not in f32";
  }
  if (profile.max.kind == MaxPolicy::Kind::kFixed) {
    return "with a fixed maximum no weight is exactly 1";
  }
  if (problem.kv_len > int64_t{1} << 19) return "more than 2^19 keys";
  if (!HasHighKeys(kind)) return "";
  const double scale = std::fabs(problem.scale);
  if (!(scale > 0x1p-60 && scale < 0x1p60)) return "the scale is extreme";
  if (!problem.softcap) {
    return profile.max.kind == MaxPolicy::Kind::kNone
               ? "without a maximum or a cap scores must be small"
               : "";
  }
  if (*problem.softcap > 0x1p40) return "the cap is extreme";
  if (kind == ProbeKind::kShift) return "a cap limits every shift";
  if (profile.max.kind == MaxPolicy::Kind::kNone && *problem.softcap > 80) {
    return "without a maximum scores must be small";
  }
  // Everything but the high keys must vanish beside one of them.
  const double rest =
      static_cast<double>(problem.kv_len) * kBig * ExpDouble(-*problem.softcap);
  return rest < 0x1p-20 ? "" : "the cap is too small to separate the scores";
}

float ProbeElement(ProbeKind kind, const AttentionForwardProblem& problem,
                   uint64_t seed, int tensor,
                   const std::array<int64_t, 4>& index) {
  const auto [b, h, position, c] = index;
  if (tensor == 2) {
    return static_cast<float>(Value(kind, problem, seed, b, h, position, c));
  }
  if (tensor == 1) {
    // Without high keys q is 0, and k may be anything: neighbours differ.
    if (!HasHighKeys(kind)) {
      return static_cast<float>(1 + Level(seed, b, h, position, c + (1 << 20)));
    }
    return c == 0 && IsHigh(kind, problem, seed, position) ? 1.0f : 0.0f;
  }
  if (!HasHighKeys(kind) || c != 0) return 0.0f;
  return static_cast<float>(QueryValue(problem));
}

std::vector<ValueSet> ProbeExpectation(ProbeKind kind,
                                       const AttentionForwardProblem& problem,
                                       const AttentionForwardInputs& inputs,
                                       const NumericProfile& profile,
                                       uint64_t seed,
                                       const std::vector<int64_t>* rows) {
  const int64_t all = problem.batch * problem.q_heads * problem.q_len;
  const size_t count =
      rows != nullptr ? rows->size() : static_cast<size_t>(all);
  const auto dv = static_cast<size_t>(problem.value_dim);
  const oracle::Visibility visibility(problem, inputs);
  const Expectation expectation(kind, problem, inputs, profile);
  std::vector<ValueSet> expected;
  expected.reserve(count * dv);
  Prefix prefix;
  int64_t prefix_head = -1;
  for (size_t r = 0; r < count; ++r) {
    const int64_t row = rows != nullptr ? (*rows)[r] : static_cast<int64_t>(r);
    const int64_t i = row % problem.q_len;
    const int64_t h = row / problem.q_len % problem.q_heads;
    const int64_t b = row / problem.q_len / problem.q_heads;
    const int64_t kv = h / problem.group();
    if (prefix_head != b * problem.kv_heads + kv) {
      prefix_head = b * problem.kv_heads + kv;
      prefix = MakePrefix(kind, problem, seed, b, kv);
    }
    const oracle::KeySet keys = visibility.VisibleKeys(b, h, i);
    for (size_t c = 0; c < dv; ++c) {
      expected.push_back(expectation.Element(keys, prefix, h, c));
    }
  }
  return expected;
}

}  // namespace lockstep::verify
