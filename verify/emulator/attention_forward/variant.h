// One way to compute attention: arithmetic (a numeric profile, taken as what
// is done) and schedule (what a profile leaves open).
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VARIANT_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VARIANT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "reference/contract/matrix_units.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

enum class KeyOrder : uint8_t { kAscending, kDescending, kPartialThenFull };

// Order of the sums over channels.
enum class DotOrder : uint8_t {
  kFma,       // one chain of fused multiply-adds, ascending
  kMulAdd,    // one chain, product and sum rounded apart
  kBackward,  // one chain of fma, descending
  kLanes8,    // eight chains, folded at the end
  kPairwise,  // products, then a balanced tree
};

struct AttentionVariant {
  // numeric.name is the variant's name; it is its honest profile, too.
  NumericProfile numeric;
  int64_t tile_q = 4;
  int64_t tile_kv = 4;
  KeyOrder order = KeyOrder::kAscending;
  int splits = 1;  // contiguous parts of the row's tiles, merged at the end
  DotOrder dot = DotOrder::kFma;
  // Maxima begin with the largest score of the keys behind the valid ones.
  bool max_of_padding = false;
  // The matrix unit that forms both products, where one is imitated bit by bit.
  std::optional<UnitStep> unit;
  int l_lanes = 1;  // partial sums of l, key j to j mod l_lanes: 1 to 16

  const std::string& name() const { return numeric.name; }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VARIANT_H_
