#include "verify/candidate/process/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace lockstep::verify {

Result<SharedMemory> SharedMemory::Make(int64_t bytes, int64_t limit,
                                        Others others) {
  const auto failed = [&](const char* what) {
    return Status::Error("shared memory of " + std::to_string(bytes) +
                         " bytes: " + what + ": " + std::strerror(errno));
  };
  SharedMemory memory;
  memory.bytes_ = (bytes + kPage - 1) / kPage * kPage;
  memory.limit_ = limit;
  memory.descriptor_ =
      memfd_create("lockstep", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory.descriptor_ < 0) return failed("memfd_create");
  if (ftruncate(memory.descriptor_, memory.bytes_) != 0) {
    return failed("ftruncate");
  }
  void* data =
      mmap(nullptr, static_cast<size_t>(memory.bytes_), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_NORESERVE, memory.descriptor_, 0);
  if (data == MAP_FAILED) return failed("mmap");
  memory.data_ = static_cast<uint8_t*>(data);
  // Our mapping is older than the seal and goes on.
  const int writing = others == Others::kRead ? F_SEAL_FUTURE_WRITE : 0;
  if (fcntl(memory.descriptor_, F_ADD_SEALS,
            F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL | writing) != 0) {
    return failed("seals");
  }
  return memory;
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(limit_, other.limit_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace lockstep::verify
