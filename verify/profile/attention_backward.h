// The part of a numeric profile that describes the gradients of an attention
// kernel: the types to which P and dS are rounded, and how the three gradients
// are summed. The fields for scores, weights and operands also apply to
// gradients. Fields: docs/profiles.md.
#ifndef LOCKSTEP_VERIFY_PROFILE_ATTENTION_BACKWARD_H_
#define LOCKSTEP_VERIFY_PROFILE_ATTENTION_BACKWARD_H_

#include <cstdint>

#include "verify/profile/accumulator.h"

namespace lockstep::verify {

// Where the scale is multiplied into dq.
enum class DqScaleAt : uint8_t {
  kUnsaid,  // judged as what comes last
  kDs,      // ds: into dS, before that is rounded
  kK,       // k: into k, product rounded to k's own lane
  kEnd,     // end: after the sum over the keys
};

// Where the scale is multiplied into dk.
enum class DkScaleAt : uint8_t {
  kUnsaid,  // judged as what comes last
  kDs,      // ds: into dS, before that is rounded
  kQ,       // q: into q, product rounded to q's own lane
  kHead,    // head: after a head's sum over the queries
  kSum,     // sum: after the sum over the heads of the group
};

// Which P is multiplied with dP - D.
enum class DsFrom : uint8_t {
  kUnsaid,    // judged as p
  kP,         // p: as it was computed
  kRoundedP,  // rounded_p: as it meets do
};

// What D is a sum over.
enum class DeltaFrom : uint8_t {
  kUnsaid,   // judged as o
  kO,        // o: do and o
  kWeights,  // weights: P, as it is multiplied with dP - D, and dP
};

// Which o and lse the gradients are of.
enum class GradFrom : uint8_t {
  kUnsaid,  // judged as given
  kGiven,   // given: those that the kernel is handed
  kOwn,     // own: of a forward pass of its own, which it hands back
};

struct GradNumeric {
  GradFrom from = GradFrom::kUnsaid;
  NumberType p = NumberType::kF32;   // of P before it meets do
  NumberType ds = NumberType::kF32;  // of dS before it meets q and k
  DsFrom ds_from = DsFrom::kUnsaid;
  DeltaFrom delta_from = DeltaFrom::kUnsaid;
  DqScaleAt dq_scale_at = DqScaleAt::kUnsaid;
  DkScaleAt dk_scale_at = DkScaleAt::kUnsaid;
  Accumulator acc_dp;  // of do v
  Accumulator acc_dq;
  Accumulator acc_dkv;
  NumberType dq_state = NumberType::kF32;  // of dq between tiles of keys
  // Of dk and dv between tiles of queries, and between heads of a group.
  NumberType dkv_state = NumberType::kF32;
  int64_t tile_q = 0;  // fewest queries between two such roundings; 0: any
  friend bool operator==(const GradNumeric&, const GradNumeric&) = default;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PROFILE_ATTENTION_BACKWARD_H_
