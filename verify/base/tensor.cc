#include "verify/base/tensor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "verify/base/digest.h"
#include "verify/base/sparse/file.h"
#include "verify/base/sparse/used_elements.h"
#include "verify/base/status_macros.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kAlignment = 64;
constexpr uint8_t kGuardByte = 0xa5;

int64_t StorageBytes(int64_t bytes) {
  return bytes + 2 * kGuardBytes + 2 * kAlignment;
}

template <typename Visit>
void ForEachOffset(const MutableLaneView& view, Visit visit) {
  const auto& shape = view.shape;
  const auto& strides = view.strides;
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t h = 0; h < shape[1]; ++h) {
      for (int64_t s = 0; s < shape[2]; ++s) {
        const int64_t row = b * strides[0] + h * strides[1] + s * strides[2];
        for (int64_t d = 0; d < shape[3]; ++d) visit(row + d * strides[3]);
      }
    }
  }
}

bool IsPoison(const LaneTensor& tensor, int64_t offset) {
  if (LaneBytes(tensor.view.lane) == 4) {
    uint32_t bits;
    std::memcpy(&bits, tensor.buffer.data() + offset * 4, sizeof(bits));
    return bits == kPoisonF32;
  }
  if (LaneBytes(tensor.view.lane) == 1) {
    return tensor.buffer.data()[offset] == kPoison8;
  }
  uint16_t bits;
  std::memcpy(&bits, tensor.buffer.data() + offset * 2, sizeof(bits));
  return bits == kPoison16;
}

}  // namespace

void FreeStorage::operator()(uint8_t* memory) const {
  if (mapped == 0) {
    delete[] memory;
  } else {
    munmap(memory, mapped);
    close(descriptor);
  }
}

// A file in memory for a sparse tensor: pages exist once they are touched.
Result<GuardedBuffer> GuardedBuffer::Reserve(int64_t bytes) {
  const auto storage = static_cast<size_t>(StorageBytes(bytes));
  const int descriptor = memfd_create("lockstep", MFD_CLOEXEC);
  void* pages = MAP_FAILED;
  if (descriptor >= 0 &&
      ftruncate(descriptor, static_cast<off_t>(storage)) == 0) {
    pages = mmap(nullptr, storage, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  }
  if (pages == MAP_FAILED) {
    if (descriptor >= 0) close(descriptor);
    return Status::Error("no room in the address space for " +
                         std::to_string(bytes) + " bytes");
  }
  GuardedBuffer buffer;
  buffer.storage_ = {static_cast<uint8_t*>(pages),
                     FreeStorage{storage, descriptor}};
  return buffer;
}

Result<GuardedBuffer> GuardedBuffer::Allocate(int64_t bytes, int64_t shift) {
  return Allocate(std::vector<ByteRange>{{0, bytes}}, shift);
}

Result<GuardedBuffer> GuardedBuffer::Allocate(std::vector<ByteRange> ranges,
                                              int64_t shift) {
  const int64_t bytes = ranges.empty() ? 0 : ranges.back().end;
  const auto storage = static_cast<size_t>(StorageBytes(bytes));
  GuardedBuffer buffer;
  if (ranges.size() > 1) {
    ASSIGN_OR_RETURN(buffer, Reserve(bytes));
  } else {
    buffer.storage_.reset(new (std::nothrow) uint8_t[storage]);
  }
  if (buffer.storage_ == nullptr) {
    return Status::Error("not enough memory for " + std::to_string(bytes) +
                         " bytes");
  }
  const auto first =
      reinterpret_cast<uintptr_t>(buffer.storage_.get()) + kGuardBytes;
  const uintptr_t aligned = (first + kAlignment - 1) / kAlignment * kAlignment;
  buffer.data_ = buffer.storage_.get() + kGuardBytes +
                 static_cast<int64_t>(aligned - first) + shift;
  buffer.bytes_ = bytes;
  buffer.ranges_ = std::move(ranges);
  for (const auto& part : buffer.Existing()) {
    std::fill(part.begin(), part.end(), kGuardByte);
  }
  return buffer;
}

Result<GuardedBuffer> GuardedBuffer::Copy() const {
  ASSIGN_OR_RETURN(GuardedBuffer copy, Allocate(ranges_, 0));
  for (const ByteRange& range : ranges_) {
    std::memcpy(copy.data() + range.begin, data_ + range.begin,
                static_cast<size_t>(range.bytes()));
  }
  return copy;
}

// The ranges in memory, the guard zones joined to the first and the last one.
std::vector<std::span<uint8_t>> GuardedBuffer::Existing() const {
  std::vector<std::span<uint8_t>> parts;
  uint8_t* const end = storage_.get() + StorageBytes(bytes_);
  uint8_t* begin = storage_.get();
  for (size_t n = 0; n + 1 < ranges_.size(); ++n) {
    parts.emplace_back(begin, data_ + ranges_[n].end);
    begin = data_ + ranges_[n + 1].begin;
  }
  parts.emplace_back(begin, end);
  return parts;
}

bool GuardedBuffer::GuardsIntact() const {
  if (storage_ == nullptr) return true;
  const std::span<const uint8_t> all(storage_.get(),
                                     static_cast<size_t>(StorageBytes(bytes_)));
  const auto before = static_cast<size_t>(data_ - storage_.get());
  const size_t after = before + static_cast<size_t>(bytes_);
  const auto is_guard = [](uint8_t byte) { return byte == kGuardByte; };
  return std::ranges::all_of(all.first(before), is_guard) &&
         std::ranges::all_of(all.subspan(after), is_guard);
}

bool GuardedBuffer::GapsIntact() const {
  const int64_t before = data_ - storage_.get();
  for (size_t n = 1; n < ranges_.size(); ++n) {
    const int64_t end = before + ranges_[n].begin;
    if (FirstNonZero(storage_.get_deleter().descriptor, storage_.get(),
                     before + ranges_[n - 1].end, end) != end) {
      return false;
    }
  }
  return true;
}

std::string GuardedBuffer::Digest() const {
  if (storage_ == nullptr) return DigestBytes(nullptr, 0);
  const auto parts = Existing();
  if (parts.size() == 1) return DigestBytes(parts[0].data(), parts[0].size());
  std::string digests;
  for (const auto& part : parts) {
    digests += DigestBytes(part.data(), part.size());
  }
  return DigestText(digests);
}

Result<LaneTensor> AllocateLaneTensor(Lane lane,
                                      const std::array<int64_t, 4>& shape,
                                      const std::array<int64_t, 4>& strides,
                                      int64_t shift) {
  const auto lane_bytes = static_cast<int64_t>(LaneBytes(lane));
  const int64_t shift_bytes =
      ((shift * lane_bytes) % kAlignment + kAlignment) % kAlignment;
  ASSIGN_OR_RETURN(auto buffer,
                   GuardedBuffer::Allocate(
                       ElementRanges(shape, strides, lane_bytes), shift_bytes));
  LaneTensor tensor;
  tensor.buffer = std::move(buffer);
  tensor.view = {tensor.buffer.data(), lane, shape, strides};
  Poison(tensor);
  return tensor;
}

void Poison(const LaneTensor& tensor) {
  for (const ByteRange& range : tensor.buffer.ranges()) {
    uint8_t* data = tensor.buffer.data() + range.begin;
    const auto bytes = static_cast<size_t>(range.bytes());
    if (LaneBytes(tensor.view.lane) == 4) {
      std::fill_n(reinterpret_cast<uint32_t*>(data), bytes / 4, kPoisonF32);
    } else if (LaneBytes(tensor.view.lane) == 1) {
      std::fill_n(data, bytes, kPoison8);
    } else {
      std::fill_n(reinterpret_cast<uint16_t*>(data), bytes / 2, kPoison16);
    }
  }
}

int64_t CountPoison(const LaneTensor& tensor) {
  int64_t count = 0;
  ForEachOffset(tensor.view, [&](int64_t offset) {
    count += IsPoison(tensor, offset) ? 1 : 0;
  });
  return count;
}

bool PaddingIntact(const LaneTensor& tensor) {
  const auto width = static_cast<int64_t>(LaneBytes(tensor.view.lane));
  int64_t logical = width;
  for (const int64_t extent : tensor.view.shape) logical *= extent;
  if (logical == tensor.buffer.bytes()) return true;
  UsedElements used(tensor.buffer.ranges(), width);
  ForEachOffset(tensor.view, [&](int64_t offset) { used.Use(offset); });
  return used.AllUnused([&](int64_t offset) {
    return IsPoison(tensor, offset);
  }) && tensor.buffer.GapsIntact();
}

}  // namespace lockstep::verify
