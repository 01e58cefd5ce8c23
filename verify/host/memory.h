// The two files that the judge shares with this process (docs/wire.md), mapped
// so that a kernel which leaves its outputs meets a fault.
#ifndef LOCKSTEP_VERIFY_HOST_MEMORY_H_
#define LOCKSTEP_VERIFY_HOST_MEMORY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify::host {

class SharedFiles {
 public:
  // Maps all of `in`, for reading, and all of `out`, without access. Errors:
  // one line.
  static Result<SharedFiles> Map(int in, int64_t in_bytes, int out,
                                 int64_t out_bytes);

  // Offset and bytes, both multiples of a page.
  using Pages = std::pair<int64_t, int64_t>;
  // Of `out`, these pages, ascending, alone can be touched from now on. Errors:
  // one line.
  Status Open(const std::vector<Pages>& pages);

  uint8_t* in() const { return in_; }
  uint8_t* out() const { return out_; }
  int64_t in_bytes() const { return in_bytes_; }
  int64_t out_bytes() const { return out_bytes_; }

 private:
  uint8_t* in_ = nullptr;
  uint8_t* out_ = nullptr;
  int64_t in_bytes_ = 0;
  int64_t out_bytes_ = 0;
  std::vector<Pages> open_;
};

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_MEMORY_H_
