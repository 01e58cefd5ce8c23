// What the exact probes put into q, k, v and the sinks: pure functions of the
// problem, the seed and the place. Which answer they lead to: probes.h.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PROBE_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PROBE_H_

#include <array>
#include <cstdint>
#include <optional>

#include "reference/contract/attention_forward.h"
#include "verify/case/probe_kind.h"

namespace lockstep::verify {

// Whether the probe brings the sinks of the heads itself. Beside the others the
// logit 0 is a key of value 0, or nothing beside a high one.
bool ProbeSetsSinks(ProbeKind kind);
// The logit of head h. Requires: ProbeSetsSinks.
float ProbeSinkElement(ProbeKind kind, const AttentionForwardProblem& problem,
                       int64_t h);

// Keys have labels, 0 to ProbeLabels - 1. A row gives the keys of one label a
// high score and all others 0.
inline constexpr int64_t kNoLabel = -1;
int64_t ProbeLabels(ProbeKind kind, const AttentionForwardProblem& problem);
int64_t ProbeKeyLabel(ProbeKind kind, const AttentionForwardProblem& problem,
                      uint64_t seed, const std::array<int64_t, 3>& b_kv_key);
// The high label of a row; kNoLabel where every score is 0.
int64_t ProbeRowLabel(ProbeKind kind, const AttentionForwardProblem& problem,
                      const std::array<int64_t, 3>& b_head_query);
// The score of keys with the high label, natural units, after the cap.
double ProbeRowScore(ProbeKind kind, const AttentionForwardProblem& problem,
                     uint64_t seed, int64_t b, int64_t kv_head);

// The integers that one key holds in v.
class ProbeValueRow {
 public:
  ProbeValueRow(ProbeKind kind, const AttentionForwardProblem& problem,
                uint64_t seed, const std::array<int64_t, 3>& b_kv_key);
  int operator()(int64_t channel) const;

 private:
  int Step(uint64_t hash, int64_t channel) const;

  ProbeKind kind_;
  int64_t key_;
  int64_t code_;         // of batch row and kv head
  bool few_ = false;     // e5m2 has integers of three bits alone
  bool big_ = false;     // a value that a reset must forget
  bool first_ = false;   // no earlier key to take the level from
  uint64_t head_ = 0;    // hash of the head
  uint64_t here_ = 0;    // of the key
  uint64_t before_ = 0;  // of the key whose level is taken away
};

// The elements of q (tensor 0), k (1) or v (2) at [b, h, position], by channel.
// This is a pure function, exact in bf16; keys and values are also exact in a
// problem's fp8.
//   Requires: WhyNotProbe is empty for the exact profiles.
class ProbeElements {
 public:
  ProbeElements(ProbeKind kind, const AttentionForwardProblem& problem,
                uint64_t seed, int tensor, const std::array<int64_t, 3>& place);
  float operator()(int64_t channel) const;

 private:
  void MakeKey(ProbeKind kind, const AttentionForwardProblem& problem,
               uint64_t seed, const std::array<int64_t, 3>& place);
  void MakeQuery(ProbeKind kind, const AttentionForwardProblem& problem,
                 uint64_t seed, const std::array<int64_t, 3>& place);

  // How an element of q or k follows from its channel.
  enum class Form { kOneChannel, kSigned, kHole, kLevels };
  std::optional<ProbeValueRow> values_;  // the row of v, also if v is in k
  int64_t shared_ = 0;                   // v's channels in k, where q is 0
  Form form_ = Form::kOneChannel;
  int64_t at_ = -1;   // the one channel, or that of the hole
  double value_ = 0;  // there, or the unit of all
  uint64_t hash_ = 0;
};

// One of ProbeElements, at [b, h, position, channel].
float ProbeElement(ProbeKind kind, const AttentionForwardProblem& problem,
                   uint64_t seed, int tensor,
                   const std::array<int64_t, 4>& index);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PROBE_H_
