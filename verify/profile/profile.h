// A numeric profile: what a candidate declares about its arithmetic. The
// envelope is a function of it, the emulator's variants each have an honest
// one, and the report names its fields. Text form and fields: docs/profiles.md.
#ifndef LOCKSTEP_VERIFY_PROFILE_PROFILE_H_
#define LOCKSTEP_VERIFY_PROFILE_PROFILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/profile/accumulator.h"
#include "verify/profile/attention_backward.h"
#include "verify/profile/claims.h"
#include "verify/profile/mamba3_scan.h"

namespace lockstep::verify {

// Where the scale is multiplied in.
enum class ScaleAt : uint8_t {
  kLogits,    // logits: after the dot product, in f32
  kQF32,      // q_f32: into q, product rounded to f32
  kQLane,     // q_lane: into q, product rounded to q's own lane
  kExponent,  // exponent: folded into the factor of the exponent or the cap
  kRoots,     // roots: its square root into q and into k, rounded to f32
};

// Whether the scale is multiplied into q, before the dot product.
constexpr bool ScalesQuery(ScaleAt at) {
  return at == ScaleAt::kQF32 || at == ScaleAt::kQLane || at == ScaleAt::kRoots;
}

// Which numbers on the way to a weight are rounded to `score`.
enum class ScoreRound : uint8_t {
  kOnce,  // once: the finished score
  kEach,  // each: the dot product, and what the scale, the cap's quotient, tanh
          // and the cap's product make of it, as a framework's operations do
  kShift,  // shift: the same, and the difference to the maximum
};

// How the softcap divides its argument by the cap.
enum class CapDivision : uint8_t { kDivide, kReciprocal, kFolded };

enum class ExpBase : uint8_t { kE, kTwo };

// How score minus maximum is formed.
enum class Shift : uint8_t {
  kSubtract,  // subtract: one rounding of the difference
  kFma,       // fma: s * factor - (m * factor), the second product rounded
  kInteger,   // integer: clause N9, an integer maximum, exact
};

// Which reference the exponent subtracts.
struct MaxPolicy {
  enum class Kind : uint8_t {
    kRunning,  // running: maximum of what was seen so far, rescaled
    kTwoPass,  // two_pass: maximum of the row
    kLazy,     // lazy:T: moved only when exceeded by more than T (exponent
               // units of exp_base)
    kFixed,    // fixed:C: the constant C (natural units)
    kNone,     // none: nothing subtracted
  };
  Kind kind = Kind::kRunning;
  double value = 0;  // T or C
  friend bool operator==(const MaxPolicy&, const MaxPolicy&) = default;
};

// Rounding of a conversion.
enum class Rounding : uint8_t { kNearest, kFaithful, kTruncate };

// Which weights the denominator sums.
enum class LFrom : uint8_t { kUnrounded, kRounded };

// Where the scale of v is multiplied in (N25).
enum class ValueScaleAt : uint8_t {
  kAny,  // any: any of these
  kP,    // p: into the weights, before they are rounded
  kAcc,  // acc: into the sum over keys that share it, in f32
  kOut,  // out: into o, behind the last key; one scale a head
};

// The largest `p_scale`: e4m3's largest number.
inline constexpr double kLargestWeightScale = 448;

// What exp gives for an argument of exactly 0.
enum class ExpZero : uint8_t {
  kExact,    // exact: 1
  kWeights,  // weights: a weight is within exp_rel of 1, each its own value;
             // the factor of an unchanged maximum is exactly 1
  kRel,      // rel: such factors, too, are within exp_rel of 1 only
};

// The order in which the accumulator of a matrix unit gets products.
enum class ChainOrder : uint8_t {
  kAny,        // any
  kAscending,  // ascending: step n has the channels, or keys, from n K on
};

// Where the division by the row's sum stands.
enum class Normalise : uint8_t {
  kDeferred,  // deferred: after the last key
  kEager,     // eager: o is kept normalised from tile to tile
  kBefore,    // before: p / l is rounded to p's type, then meets V
};
enum class Division : uint8_t { kDivide, kReciprocal };

// How a merge of two parts forms its o.
enum class MergeUpdate : uint8_t {
  kWeights,     // weights: each o times its weight
  kDifference,  // difference: o - w (o - o_b), as ring attention has it
};

enum class MaskApplication : uint8_t {
  kSelectNegInf,  // select_neg_inf
  kSelectFinite,  // select_finite: -0.7 * FLT_MAX
  kAddFinite,     // add_finite: -0.7 * FLT_MAX
};

// What a row without a visible key holds.
enum class EmptyRow : uint8_t {
  kZero,         // zero: o = 0, lse = -inf (with a sink: N12)
  kZeroPosInf,   // zero_posinf: o = 0, lse = +inf
  kMeanVisited,  // mean_visited: depends on the tiles; such rows are excluded
  kUnspecified,  // unspecified: excluded
  kZeroZero,     // zero_zero: o = 0, lse = 0 (with a sink: N12)
};

enum class NanPolicy : uint8_t {
  kPropagate,    // propagate: N13
  kUnspecified,  // unspecified: rows that see a NaN or infinity are excluded
};

// The type of outputs that are in the case's lane.
enum class OutLane : uint8_t {
  kLane,  // lane: in it
  kF32,   // f32: unrounded; the judge rounds them to the lane, to nearest
};

// What lse is stored in.
enum class LseLane : uint8_t {
  kF32,
  kBf16,
  kNone,  // none: the kernel has no lse
};

// What NaN and infinities in K and V that are masked may change.
enum class MaskedNan : uint8_t {
  kNo,       // no: rows that the key is hidden from
  kPadding,  // padding: nothing where no query of the batch row sees the key
  kYes,      // yes: nothing
};

struct NumericProfile {
  std::string name;
  std::string description;

  // Claims the contract: the bits tier judges. The fields below then describe
  // the contract's own arithmetic.
  bool exact = false;
  std::optional<Lane> lane;  // q, k, v, o; absent: any

  // Operands of the products: what matrix units round q, k and v to, beyond
  // their lane. f32: nothing.
  NumberType operand_qk = NumberType::kF32;
  NumberType operand_v = NumberType::kF32;
  Rounding operand_round = Rounding::kNearest;

  // Scores.
  Accumulator acc_qk;
  int64_t chain_qk = 0;  // longest chain of additions; 0: any order
  ScaleAt scale_at = ScaleAt::kLogits;
  NumberType score = NumberType::kF32;  // what a score is rounded to
  ScoreRound score_round = ScoreRound::kOnce;
  NumberType sink = NumberType::kF32;  // what a sink's logit is rounded to
  CapDivision cap_div = CapDivision::kDivide;
  double tanh_rel = 0;  // largest relative error of tanh

  // Weights.
  ExpBase exp_base = ExpBase::kE;
  double exp_rel = 0;  // largest relative error of exp, argument as given
  ExpZero exp_zero = ExpZero::kExact;
  Shift shift = Shift::kSubtract;
  MaxPolicy max;
  NumberType p = NumberType::kF32;  // of the numerator's weights
  Rounding p_round = Rounding::kNearest;
  // With p = e4m3: what multiplies weights before they are rounded. The sum
  // over V is divided by it.
  double p_scale = 1;
  ValueScaleAt vscale_at = ValueScaleAt::kAny;
  LFrom l_from = LFrom::kUnrounded;

  // Sums over keys.
  Accumulator acc_pv;
  Accumulator acc_l;
  int64_t chain_kv = 0;  // longest chain of additions inside a tile; 0: any
  ChainOrder chain_order = ChainOrder::kAny;  // of acc_qk and acc_pv
  int64_t tile_kv = 0;  // fewest keys between two rescales; 0: any (one)
  int64_t splits = 0;   // most parts merged at the end; 0: any, 1: no merge
  NumberType state = NumberType::kF32;  // of o between tiles

  // Finish.
  Normalise normalise = Normalise::kDeferred;
  MergeUpdate merge_update = MergeUpdate::kWeights;  // of normalise = eager
  Division division = Division::kDivide;
  double division_rel = 0;  // beyond the roundings of the f32 operations
  Rounding out_round = Rounding::kNearest;
  OutLane out = OutLane::kLane;
  double log_rel = 0;  // absolute error of log(l), plus relative to it
  bool ftz = false;    // subnormals may be flushed: inputs, weights, outputs
  LseLane lse = LseLane::kF32;
  ExpBase lse_base = ExpBase::kE;  // of the logarithm that lse is

  // Conventions.
  MaskApplication mask = MaskApplication::kSelectNegInf;
  EmptyRow empty_row = EmptyRow::kZero;
  NanPolicy nan = NanPolicy::kPropagate;
  MaskedNan masked_nan_safe = MaskedNan::kYes;
  bool repeat = true;  // the same call gives the same bits
  ClaimSet claims;     // what else gives the same bits

  // Present: the profile describes gradients of attention, too.
  std::optional<GradNumeric> grad;

  // Present: the profile describes a scan. Of the fields above only lane,
  // tanh_rel, exp_rel, out_round and ftz count then.
  std::optional<ScanNumeric> scan;

  friend bool operator==(const NumericProfile&,
                         const NumericProfile&) = default;
};

// Whether a kernel of this profile has an lse to be judged.
inline bool HasLse(const NumericProfile& profile) {
  return profile.lse != LseLane::kNone;
}

// Whether its gradients are of an o and lse that it hands back.
inline bool HandsBackForward(const NumericProfile& profile) {
  return profile.grad && profile.grad->from == GradFrom::kOwn;
}

// " lane=bf16", as case lines of the profile have it; empty for f32.
inline std::string LaneWord(const NumericProfile& profile) {
  const Lane lane = profile.lane.value_or(Lane::kF32);
  return lane == Lane::kF32 ? "" : std::string(" lane=") + LaneName(lane);
}

// Whether it has the output of that name ("lse", "carry_h", ...) to be judged.
bool HasOutput(const NumericProfile& profile, std::string_view name);

// Half the distance from 1 to the next number: 2^-24, 2^-8, f16 and tf32
// 2^-11, e4m3 2^-4.
//   Requires: type is not kCase.
double UnitRoundoff(NumberType type);

// Of the lane's elements.
NumberType NumberTypeOf(Lane lane);

// What `case` stands for: N10's weights. For p=f16 they have 11 bits, as tf32
// has.
NumberType WeightTypeOf(Lane p_lane);

// exact-f32 exact-bf16 cpu-f32 flash-bf16 splash-bf16 eager-bf16
// torch-math-bf16 mma-bf16, of chips
// ampere-bf16 ada-bf16 hopper-bf16 blackwell-bf16 and the same with tf32, and
// of scans scan-f32 scan-chunked siso-bf16-a16 siso-bf16-a32 mimo-bf16
// step-f32state step-bf16read; of f16 exact-f16 flash-f16 eager-f16 mma-f16
// siso-f16-a32 mimo-f16; of weights in fp8 fa3-fp8 cudnn-fp8.
std::span<const NumericProfile> BuiltinProfiles();

// A built-in name, or else the path of a profile file. Errors: one line.
Result<NumericProfile> LoadProfile(const std::string& name_or_path);

// `key = value` lines, # comments; `base = NAME` (first) starts from a
// built-in profile, otherwise every key without default is required. Errors:
// one line for each, "SOURCE:LINE: what is wrong, what would be right".
Result<NumericProfile> ParseProfile(std::string_view text,
                                    std::string_view source);

// Contradictory fields, one line each, empty if there are none.
std::string LintProfile(const NumericProfile& profile);

// Every field; inverse of ParseProfile.
std::string ProfileText(const NumericProfile& profile);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PROFILE_PROFILE_H_
