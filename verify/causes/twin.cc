#include "verify/causes/twin.h"

#include "verify/domain/domain.h"

namespace lockstep::verify {

std::optional<Case> TwinOf(const Case& c, int64_t side) {
  if (c.op->domain == nullptr || c.op->domain->small == nullptr) {
    return std::nullopt;
  }
  return c.op->domain->small(c, side);
}

}  // namespace lockstep::verify
