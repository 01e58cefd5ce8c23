// How much of each row counts. A pipeline may say it in one of three ways: by
// tokens, by slots of a base block, or not at all. Zero is a statement (the row
// is empty on purpose), absence is another; neither is made from the other.
#ifndef LOCKSTEP_OPTIMIZED_ROW_VALIDITY_H_
#define LOCKSTEP_OPTIMIZED_ROW_VALIDITY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::optimized {

enum class ValidityMode : uint8_t { kNone, kTokenPrefix, kSlotPrefix };

// As a pipeline has it; counts [batch].
struct ValidityMetadata {
  std::optional<std::vector<int64_t>> tokens{};
  std::optional<std::vector<int64_t>> slots{};
  std::optional<int64_t> base_block_tokens{};  // of a slot
};

struct RowShape {
  int64_t batch = 1;
  int64_t length = 1;
  int64_t query_tile = 1;  // tokens of a query tile now
};

struct RowValidity {
  ValidityMode mode = ValidityMode::kNone;
  // Tokens, within [0, length]: the contract's valid counts. Empty for kNone.
  std::vector<int64_t> tokens;
  int64_t clamped = 0;  // counts that were out of range
};

// Slots count where a slot is a query tile; where tiles have another size now,
// tokens do, and without them nothing. Errors: counts for another number of
// rows, slots without a base block above 0.
Result<RowValidity> NormaliseValidity(const ValidityMetadata& metadata,
                                      const RowShape& shape);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ROW_VALIDITY_H_
