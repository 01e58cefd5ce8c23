// Memory that the judge and a host both see: a file without a name, sparse, of
// one size for ever.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_PROCESS_SHARED_MEMORY_H_
#define LOCKSTEP_VERIFY_CANDIDATE_PROCESS_SHARED_MEMORY_H_

#include <cstdint>
#include <utility>

#include "reference/contract/status.h"

namespace lockstep::verify {

inline constexpr int64_t kPage = 4096;

class SharedMemory {
 public:
  enum class Others : uint8_t { kRead, kWrite };

  SharedMemory() = default;
  // Zeros, `bytes` rounded up to pages. Its users may fill `limit` bytes,
  // because tensors with large gaps reach further than the memory that they
  // take. Others::kRead: the kernel of the system refuses every mapping and
  // write but ours. Errors: one line.
  static Result<SharedMemory> Make(int64_t bytes, int64_t limit, Others others);
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  int descriptor() const { return descriptor_; }
  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  int64_t limit() const { return limit_; }

 private:
  int descriptor_ = -1;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
  int64_t limit_ = 0;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_PROCESS_SHARED_MEMORY_H_
