#include "verify/base/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "verify/base/digest.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kAlignment = 64;
constexpr uint8_t kGuardByte = 0xa5;

int64_t StorageBytes(int64_t bytes) {
  return bytes + 2 * kGuardBytes + 2 * kAlignment;
}

// Elements from the first to the last one of a strided tensor.
int64_t Span(const std::array<int64_t, 4>& shape,
             const std::array<int64_t, 4>& strides) {
  int64_t span = 1;
  for (size_t r = 0; r < 4; ++r) {
    if (shape[r] == 0) return 0;
    span += (shape[r] - 1) * strides[r];
  }
  return span;
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
  uint16_t bits;
  std::memcpy(&bits, tensor.buffer.data() + offset * 2, sizeof(bits));
  return bits == kPoison16;
}

int64_t ElementsOf(const LaneTensor& tensor) {
  return tensor.buffer.bytes() /
         static_cast<int64_t>(LaneBytes(tensor.view.lane));
}

}  // namespace

Result<GuardedBuffer> GuardedBuffer::Allocate(int64_t bytes, int64_t shift) {
  GuardedBuffer buffer;
  const auto storage = static_cast<size_t>(StorageBytes(bytes));
  buffer.storage_.reset(new (std::nothrow) uint8_t[storage]);
  if (buffer.storage_ == nullptr) {
    return Status::Error("not enough memory for " + std::to_string(bytes) +
                         " bytes");
  }
  std::fill_n(buffer.storage_.get(), storage, kGuardByte);
  const auto first =
      reinterpret_cast<uintptr_t>(buffer.storage_.get()) + kGuardBytes;
  const uintptr_t aligned = (first + kAlignment - 1) / kAlignment * kAlignment;
  buffer.data_ = buffer.storage_.get() + kGuardBytes +
                 static_cast<int64_t>(aligned - first) + shift;
  buffer.bytes_ = bytes;
  return buffer;
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

std::string GuardedBuffer::Digest() const {
  const bool empty = storage_ == nullptr;
  return DigestBytes(storage_.get(),
                     empty ? 0 : static_cast<size_t>(StorageBytes(bytes_)));
}

Result<LaneTensor> AllocateLaneTensor(Lane lane,
                                      const std::array<int64_t, 4>& shape,
                                      const std::array<int64_t, 4>& strides,
                                      int64_t shift) {
  const auto lane_bytes = static_cast<int64_t>(LaneBytes(lane));
  const int64_t shift_bytes =
      ((shift * lane_bytes) % kAlignment + kAlignment) % kAlignment;
  auto buffer =
      GuardedBuffer::Allocate(Span(shape, strides) * lane_bytes, shift_bytes);
  if (!buffer.ok()) return buffer.status();
  LaneTensor tensor;
  tensor.buffer = std::move(buffer.value());
  tensor.view = {tensor.buffer.data(), lane, shape, strides};
  Poison(tensor);
  return tensor;
}

void Poison(const LaneTensor& tensor) {
  const auto elements = static_cast<size_t>(ElementsOf(tensor));
  uint8_t* data = tensor.buffer.data();
  if (LaneBytes(tensor.view.lane) == 4) {
    std::fill_n(reinterpret_cast<uint32_t*>(data), elements, kPoisonF32);
  } else {
    std::fill_n(reinterpret_cast<uint16_t*>(data), elements, kPoison16);
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
  const int64_t elements = ElementsOf(tensor);
  int64_t logical = 1;
  for (const int64_t extent : tensor.view.shape) logical *= extent;
  if (logical == elements) return true;
  std::vector<bool> used(static_cast<size_t>(elements));
  ForEachOffset(tensor.view, [&](int64_t offset) {
    used[static_cast<size_t>(offset)] = true;
  });
  for (int64_t offset = 0; offset < elements; ++offset) {
    if (!used[static_cast<size_t>(offset)] && !IsPoison(tensor, offset)) {
      return false;
    }
  }
  return true;
}

}  // namespace lockstep::verify
