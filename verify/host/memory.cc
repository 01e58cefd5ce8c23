#include "verify/host/memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace lockstep::verify::host {
namespace {

Status Failed(const char* what) {
  return Status::Error(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Result<SharedFiles> SharedFiles::Map(int in, int64_t in_bytes, int out,
                                     int64_t out_bytes) {
  SharedFiles files;
  void* inputs = mmap(nullptr, static_cast<size_t>(in_bytes), PROT_READ,
                      MAP_SHARED | MAP_NORESERVE, in, 0);
  if (inputs == MAP_FAILED) return Failed("inputs cannot be mapped");
  void* outputs = mmap(nullptr, static_cast<size_t>(out_bytes), PROT_NONE,
                       MAP_SHARED | MAP_NORESERVE, out, 0);
  if (outputs == MAP_FAILED) return Failed("outputs cannot be mapped");
  files.in_ = static_cast<uint8_t*>(inputs);
  files.out_ = static_cast<uint8_t*>(outputs);
  files.in_bytes_ = in_bytes;
  files.out_bytes_ = out_bytes;
  return files;
}

Status SharedFiles::Open(const std::vector<Pages>& pages) {
  if (pages == open_) return {};
  // Pages that were touched stay mapped, which spares faults when they are
  // opened again. What lies between them is closed already.
  if (!open_.empty()) {
    const int64_t begin = open_.front().first;
    const int64_t end = open_.back().first + open_.back().second;
    if (mprotect(out_ + begin, static_cast<size_t>(end - begin), PROT_NONE) !=
        0) {
      return Failed("outputs cannot be closed");
    }
  }
  open_.clear();
  for (const auto& [offset, bytes] : pages) {
    if (offset < 0 || bytes < 0 || offset > out_bytes_ ||
        bytes > out_bytes_ - offset) {
      return Status::Error("pages of outputs lie outside of their file");
    }
    if (mprotect(out_ + offset, static_cast<size_t>(bytes),
                 PROT_READ | PROT_WRITE) != 0) {
      return Failed("outputs cannot be opened");
    }
    open_.emplace_back(offset, bytes);
  }
  return {};
}

}  // namespace lockstep::verify::host
