// The part of a numeric profile that describes a scan kernel: what its angles,
// operands and states are rounded to, and how decays are formed. Fields and
// built-in profiles: docs/profiles.md.
#ifndef LOCKSTEP_VERIFY_PROFILE_MAMBA3_SCAN_H_
#define LOCKSTEP_VERIFY_PROFILE_MAMBA3_SCAN_H_

#include <array>
#include <cstdint>

#include "verify/profile/accumulator.h"

namespace lockstep::verify {

// Which coordinates an angle turns together.
enum class Pairing : uint8_t {
  kVariant,     // variant: as the case's variant says
  kNeighbours,  // neighbours: 2i and 2i + 1
  kHalves,      // halves: i and i + n/2
};

// What is exported for a run without tokens.
enum class EmptyRun : uint8_t {
  kCarry,        // carry: what it started from
  kUnspecified,  // unspecified: anything
};

enum class ScanForm : uint8_t {
  kRecurrent,  // recurrent: state by state, explicit beta term
  kChunked,    // chunked: matrices within chunks, look-ahead weights
};

// How a product of decays within a chunk is formed.
enum class DecayForm : uint8_t {
  kProduct,  // product: one exp per token
  kPrefix,   // prefix: exp of differences of prefix sums
  kSegment,  // segment: exp of segment sums
};

// How operands of matrix units are rounded to their type.
enum class OperandRound : uint8_t {
  kNearest,   // nearest
  kTruncate,  // truncate: towards zero, as Hopper does with TF32
};

// Where an angle is reduced.
enum class AngleForm : uint8_t {
  kTurns,      // turns: in turns, exactly
  kRadians,    // radians: mod 2 pi in f32
  kUnreduced,  // unreduced: never
};

// Outputs that a scan may do without.
inline constexpr std::array kScanCarries = {"carry_theta", "carry_h", "carry_k",
                                            "carry_v"};

struct ScanNumeric {
  // Whether its angles turn other pairs than those of the variant.
  bool OtherPairing(bool mimo) const {
    return pairing == (mimo ? Pairing::kNeighbours : Pairing::kHalves);
  }

  ScanForm form = ScanForm::kRecurrent;
  int64_t chunk = 0;  // longest chunk; 0: any
  DecayForm decay = DecayForm::kProduct;

  AngleForm angle_form = AngleForm::kTurns;
  Pairing pairing = Pairing::kVariant;
  NumberType angle = NumberType::kF32;        // as rotations use it
  NumberType angle_carry = NumberType::kF32;  // as it is exported
  double trig_abs = 0;     // largest absolute error of sin and cos
  double sigmoid_rel = 0;  // largest relative error

  NumberType lambda = NumberType::kF32;
  NumberType dt = NumberType::kF32;      // as gamma and the look-ahead use it
  NumberType weight = NumberType::kF32;  // of s and the look-ahead
  NumberType param = NumberType::kF32;   // biases, psi, phi, their products
  // Of q, k, their products and states where they are operands: query, key,
  // scaled, score, state, decayed, grad_do and grad_state.
  OperandRound operand_round = OperandRound::kNearest;
  NumberType query = NumberType::kF32;   // rotated q
  NumberType key = NumberType::kF32;     // rotated k, unscaled
  NumberType scaled = NumberType::kF32;  // k times its weight
  NumberType carry_key = NumberType::kF32;

  NumberType score = NumberType::kF32;    // q.k with its decay
  NumberType state = NumberType::kF32;    // as read, not as carried
  NumberType decayed = NumberType::kF32;  // operand of the state's update
  NumberType diagonal = NumberType::kF32;
  double diagonal_rel = 0;  // of its products, beyond f32's
  NumberType gate = NumberType::kF32;
  NumberType rank_sum = NumberType::kF32;

  // Of gradients, whose forward pass is made again by the fields above.
  NumberType grad_do = NumberType::kF32;       // of o, behind norm and gate
  NumberType grad_state = NumberType::kF32;    // of the state, as it is read
  NumberType grad_partial = NumberType::kF32;  // dq, dk of a head of a group

  EmptyRun empty_run = EmptyRun::kCarry;
  std::array<bool, kScanCarries.size()> lacks{};  // of kScanCarries

  // Calibrated: |error| beyond so many units roundoff of the lane times the
  // companion is unlikely.
  double companion = 0;

  friend bool operator==(const ScanNumeric&, const ScanNumeric&) = default;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PROFILE_MAMBA3_SCAN_H_
