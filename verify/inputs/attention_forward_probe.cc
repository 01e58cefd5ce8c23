#include "verify/inputs/attention_forward_probe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "verify/base/binary64.h"
#include "verify/base/mixing.h"
#include "verify/case/attention_forward/probe.h"

namespace lockstep::verify {
namespace {

uint64_t HashOf(uint64_t hash, int64_t part) {
  return Mix(hash ^ static_cast<uint64_t>(part));
}

uint64_t HashOfHead(uint64_t seed, int64_t b, int64_t h) {
  return HashOf(HashOf(Mix(seed), b), h);
}

// 0..15, the last step of everything that names an element.
int Level(uint64_t hash, int64_t channel) {
  return static_cast<int>(HashOf(hash, channel) >> 60);
}

// Places beside the keys in the hash of a head.
constexpr int64_t kOfHead = -1;
constexpr int64_t kOfParity = -2;
constexpr int64_t kOfChannel = -3;
constexpr int64_t kSlowSteps = -4;  // and below

// The slow part of prefix moves every eight keys.
constexpr int64_t kSlow = 8;

bool HasClasses(ProbeKind kind) {
  return kind == ProbeKind::kComb || kind == ProbeKind::kThirds ||
         kind == ProbeKind::kThirdsNext;
}

// All keys have the one score.
bool IsTied(ProbeKind kind) {
  return kind == ProbeKind::kShift || kind == ProbeKind::kHoles ||
         kind == ProbeKind::kDeep;
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
    default:
      return IsTied(kind);
  }
}

// One channel of holes: its sign, and its weight in the sum.
struct HoleChannel {
  int sign = 1;
  int weight = 1;
};
HoleChannel HoleChannelOf(uint64_t head, int64_t c) {
  const int level = Level(HashOf(head, kOfChannel), c);
  return {level % 2 == 0 ? 1 : -1, level / 2 % 2 == 0 ? 1 : 2};
}

// The channel in which key j of holes is smaller.
int64_t HoleOf(const AttentionForwardProblem& p, int64_t b, int64_t h,
               int64_t j) {
  return (j + 5 * h + 3 * b) % ProbeChannels(p);
}

}  // namespace

ProbeValueRow::ProbeValueRow(ProbeKind kind,
                             const AttentionForwardProblem& problem,
                             uint64_t seed,
                             const std::array<int64_t, 3>& b_kv_key)
    : kind_(kind), key_(b_kv_key[2]), few_(problem.kv_lane == Lane::kE5m2) {
  const auto [b, h, j] = b_kv_key;
  code_ = b * problem.kv_heads + h;
  head_ = HashOfHead(seed, b, h);
  int64_t back = HasClasses(kind) ? ProbeLabels(kind, problem) : 1;
  if (kind == ProbeKind::kPrefix) {
    here_ = HashOf(head_, kSlowSteps - j / kSlow);
    before_ = HashOf(head_, kSlowSteps - (j - 1) / kSlow);
  } else {
    here_ = HashOf(head_, j);
    before_ = HashOf(head_, j - back);
  }
  first_ = j < back;
  big_ = kind == ProbeKind::kReset && !IsHigh(kind, problem, seed, j);
}

// Returns 0..15, or 0..3 for e5m2.
int ProbeValueRow::Step(uint64_t hash, int64_t c) const {
  return Level(hash, c) >> (few_ ? 2 : 0);
}

int ProbeValueRow::operator()(int64_t c) const {
  switch (kind_) {
    case ProbeKind::kPrefix: {
      // Steps up and down in turn, by 2, 4 or 8 (of e5m2 by 2 or 4), on top of
      // 1 or 2: what is left of a run from the first key on is never 0, and a
      // key more or less changes it by 1 at least.
      const int level = Level(HashOf(head_, kOfParity), c);
      const int step = 2 << level / 2 % (few_ ? 2 : 3);
      const auto sum = [&](uint64_t slow, int64_t j) {
        const bool up = (j + level) % 2 == 0;
        return 1 + Level(slow, c) % 2 + (up ? step : 0);
      };
      return sum(here_, key_) - (first_ ? 0 : sum(before_, key_ - 1));
    }
    case ProbeKind::kHeadTag:
      // Base 8 digits, so that every code is an integer below 2^4.
      return 1 + static_cast<int>(code_ >> (3 * (c % 6)) & 7);
    case ProbeKind::kSink:
      // Small, so that sums of 8-bit weights stay exact to 2^15 keys.
      return 1 + Level(HashOf(head_, kOfHead), c) % 2;
    case ProbeKind::kDeep:
      return 1 + Step(HashOf(head_, kOfHead), c);
    default:
      break;
  }
  if (big_) return Level(here_, c) % 2 == 0 ? kProbeBig : -kProbeBig;
  // Differences of levels: the sum over a run of keys telescopes.
  return Step(here_, c) - (first_ ? 0 : Step(before_, c));
}

bool ProbeSetsSinks(ProbeKind kind) {
  return kind == ProbeKind::kSink || kind == ProbeKind::kDeep;
}

float ProbeSinkElement(ProbeKind kind, const AttentionForwardProblem& problem,
                       int64_t h) {
  // Half as deep again as the scores, it weighs nothing.
  return kind == ProbeKind::kDeep
             ? -0x1.8p22f
             : static_cast<float>(ProbeSinkLogit(problem, h));
}

int64_t ProbeLabels(ProbeKind kind, const AttentionForwardProblem& problem) {
  if (HasClasses(kind)) return ProbeClasses(kind, ProbeChannels(problem));
  return HasHighKeys(kind) && !IsTied(kind) ? 2 : 1;
}

int64_t ProbeKeyLabel(ProbeKind kind, const AttentionForwardProblem& problem,
                      uint64_t seed, const std::array<int64_t, 3>& b_kv_key) {
  const auto [b, h, j] = b_kv_key;
  if (!HasClasses(kind)) {
    return ProbeLabels(kind, problem) == 2 && IsHigh(kind, problem, seed, j)
               ? 1
               : 0;
  }
  // Other heads and batch rows begin elsewhere, by steps that are no multiple
  // of the modulus and differ from those of the rows.
  const int64_t m = ProbeClasses(kind, ProbeChannels(problem));
  return (j + (m > 5 ? 5 : 1) * h + (m > 3 ? 3 : m - 1) * b) % m;
}

int64_t ProbeRowLabel(ProbeKind kind, const AttentionForwardProblem& problem,
                      const std::array<int64_t, 3>& b_head_query) {
  if (IsTied(kind)) return 0;
  if (!HasHighKeys(kind)) return kNoLabel;
  if (!HasClasses(kind)) return 1;
  const auto [b, h, i] = b_head_query;
  const int64_t m = ProbeClasses(kind, ProbeChannels(problem));
  // Few rows: all of a kv head have classes of their own.
  const int64_t head_step = problem.q_len < m ? problem.q_len : 1;
  const int64_t next = kind == ProbeKind::kThirdsNext ? 1 : 0;
  return (i + head_step * h + b + next) % m;
}

double ProbeRowScore(ProbeKind kind, const AttentionForwardProblem& problem,
                     uint64_t seed, int64_t b, int64_t kv_head) {
  const double scale = std::fabs(problem.scale);
  if (kind == ProbeKind::kDeep)
    return -std::fabs(ProbeDeepQuery(problem)) * scale;
  if (kind != ProbeKind::kHoles) return ProbeHighScore(problem);
  const uint64_t head = HashOfHead(seed, b, kv_head);
  double weights = -1;  // of the hole, in every key
  for (int64_t c = 0; c < ProbeChannels(problem); ++c) {
    weights += HoleChannelOf(head, c).weight;
  }
  const double score = weights * ProbeHoleUnit(problem) * scale;
  if (!problem.softcap) return score;
  return *problem.softcap * TanhDouble(score / *problem.softcap);
}

ProbeElements::ProbeElements(ProbeKind kind,
                             const AttentionForwardProblem& problem,
                             uint64_t seed, int tensor,
                             const std::array<int64_t, 3>& place) {
  if (problem.v_in_k) shared_ = problem.value_dim;
  if (tensor == 2 || (tensor == 1 && problem.v_in_k)) {
    values_.emplace(kind, problem, seed, place);
  }
  if (tensor == 2) {
    shared_ = INT64_MAX;
  } else if (tensor == 1) {
    MakeKey(kind, problem, seed, place);
  } else {
    MakeQuery(kind, problem, seed, place);
  }
}

void ProbeElements::MakeKey(ProbeKind kind,
                            const AttentionForwardProblem& problem,
                            uint64_t seed,
                            const std::array<int64_t, 3>& place) {
  const auto [b, h, j] = place;
  value_ = 1;
  if (kind == ProbeKind::kHoles) {
    form_ = Form::kHole;
    hash_ = HashOfHead(seed, b, h);
    at_ = HoleOf(problem, b, h, j);
  } else if (!HasHighKeys(kind) && kind != ProbeKind::kDeep) {
    // Without high keys q is 0, and k may be anything: neighbours differ.
    form_ = Form::kLevels;
    hash_ = HashOf(HashOfHead(seed, b, h), j);
  } else if (HasClasses(kind)) {
    at_ = ProbeKeyLabel(kind, problem, seed, place);
  } else {
    at_ = IsHigh(kind, problem, seed, j) ? 0 : -1;
  }
}

void ProbeElements::MakeQuery(ProbeKind kind,
                              const AttentionForwardProblem& problem,
                              uint64_t seed,
                              const std::array<int64_t, 3>& place) {
  const auto [b, h, i] = place;
  if (kind == ProbeKind::kHoles) {
    form_ = Form::kSigned;
    hash_ = HashOfHead(seed, b, h / problem.group());
    value_ = ProbeHoleUnit(problem) * std::copysign(1.0, problem.scale);
  } else if (kind == ProbeKind::kDeep) {
    at_ = 0;
    value_ = ProbeDeepQuery(problem);
  } else if (HasHighKeys(kind)) {
    at_ = HasClasses(kind) ? ProbeRowLabel(kind, problem, place) : 0;
    value_ = ProbeQueryValue(problem);
  }
}

float ProbeElements::operator()(int64_t c) const {
  if (c < shared_) return values_ ? static_cast<float>((*values_)(c)) : 0.0f;
  c -= shared_;
  if (form_ == Form::kOneChannel) {
    return c == at_ ? static_cast<float>(value_) : 0.0f;
  }
  if (form_ == Form::kLevels) {
    return static_cast<float>(1 + Level(hash_, c + (1 << 20)));
  }
  const HoleChannel channel = HoleChannelOf(hash_, c);
  if (form_ == Form::kSigned) {
    return static_cast<float>(channel.sign * channel.weight * value_);
  }
  const bool hole = c == at_;
  return static_cast<float>(channel.sign *
                            (hole ? 1 - 1.0 / channel.weight : 1.0));
}

float ProbeElement(ProbeKind kind, const AttentionForwardProblem& problem,
                   uint64_t seed, int tensor,
                   const std::array<int64_t, 4>& index) {
  const auto [b, h, position, channel] = index;
  return ProbeElements(kind, problem, seed, tensor, {b, h, position})(channel);
}

}  // namespace lockstep::verify
