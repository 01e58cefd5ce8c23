#include "optimized/row_validity.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::optimized {
namespace {

Status CheckCounts(const char* name,
                   const std::optional<std::vector<int64_t>>& counts,
                   int64_t batch) {
  if (!counts || static_cast<int64_t>(counts->size()) == batch) return Status();
  return Status::Error(std::string("validity: ") +
                       std::to_string(counts->size()) + " counts of " + name +
                       "; want one for each of " + std::to_string(batch) +
                       " rows");
}

}  // namespace

Result<RowValidity> NormaliseValidity(const ValidityMetadata& metadata,
                                      const RowShape& shape) {
  Status status = CheckCounts("tokens", metadata.tokens, shape.batch);
  if (status.ok()) status = CheckCounts("slots", metadata.slots, shape.batch);
  if (!status.ok()) return status;
  const int64_t base = metadata.base_block_tokens.value_or(0);
  if (metadata.slots && base < 1) {
    return Status::Error(
        "validity: slots need base_block_tokens above 0, not " +
        std::to_string(base));
  }
  RowValidity validity;
  const std::vector<int64_t>* counts = nullptr;
  int64_t unit = 1;
  if (metadata.slots && base == shape.query_tile) {
    validity.mode = ValidityMode::kSlotPrefix;
    counts = &*metadata.slots;
    unit = base;
  } else if (metadata.tokens) {
    validity.mode = ValidityMode::kTokenPrefix;
    counts = &*metadata.tokens;
  }
  if (counts == nullptr) return validity;
  // Beyond this many units a row is full whatever a unit is.
  const int64_t most = shape.length / unit + 1;
  for (const int64_t count : *counts) {
    const int64_t tokens = std::clamp<int64_t>(
        std::clamp<int64_t>(count, 0, most) * unit, 0, shape.length);
    validity.clamped += count < 0 || count > most || tokens != count * unit;
    validity.tokens.push_back(tokens);
  }
  return validity;
}

}  // namespace lockstep::optimized
