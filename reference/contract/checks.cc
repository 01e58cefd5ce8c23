#include "reference/contract/checks.h"

#include <cstdint>
#include <initializer_list>
#include <string>

#include "reference/contract/status.h"

namespace lockstep::checks {

Status CheckExtent(const char* field, int64_t value, int64_t limit,
                   int64_t least) {
  if (value >= least && value <= limit) return Status();
  return Status::Error(std::string(field) + "=" + std::to_string(value) +
                       " is out of range; want " + std::to_string(least) +
                       ".." + std::to_string(limit));
}

Status FirstError(std::initializer_list<Status> statuses) {
  for (const Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return Status();
}

}  // namespace lockstep::checks
