// Buffers that own what the contract's views show: guard zones on both sides,
// a wanted misalignment, and poison wherever no element lies.
#ifndef LOCKSTEP_VERIFY_BASE_TENSOR_H_
#define LOCKSTEP_VERIFY_BASE_TENSOR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/base/sparse/element_ranges.h"

namespace lockstep::verify {

// Bytes of guard zone on either side of a buffer.
inline constexpr int64_t kGuardBytes = 256;

// Poison of outputs and padding: NaNs that no operation of the contract can
// produce (every NaN written is the canonical quiet one).
inline constexpr uint32_t kPoisonF32 = 0xffa5a5a5u;
inline constexpr uint16_t kPoison16 = 0xffa5u;  // of lanes of 16 bits
inline constexpr uint8_t kPoison8 = 0xffu;      // of fp8: NaN of both

// Of memory from the heap, or of `mapped` bytes of a file in memory.
struct FreeStorage {
  size_t mapped = 0;
  int descriptor = -1;
  void operator()(uint8_t* memory) const;
};

// `bytes` of memory, `shift` bytes behind a 64-byte boundary, between guard
// zones, all of it 0xa5 at first. In a sparse tensor's memory only the ranges
// are so. The pages between them do not exist before a write.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  // Errors: not enough memory. Requires: bytes >= 0, 0 <= shift < 64.
  static Result<GuardedBuffer> Allocate(int64_t bytes, int64_t shift);
  static Result<GuardedBuffer> Allocate(std::vector<ByteRange> ranges,
                                        int64_t shift);
  // The same contents, on the boundary.
  Result<GuardedBuffer> Copy() const;

  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  std::span<const ByteRange> ranges() const { return ranges_; }
  bool GuardsIntact() const;
  // Whether nothing was written between the ranges, zeros aside.
  bool GapsIntact() const;
  // Of everything that exists: contents, padding and guard zones.
  std::string Digest() const;

 private:
  static Result<GuardedBuffer> Reserve(int64_t bytes);
  std::vector<std::span<uint8_t>> Existing() const;

  std::unique_ptr<uint8_t[], FreeStorage> storage_;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
  std::vector<ByteRange> ranges_;
};

// A lane tensor [b, h, s, d] with its memory, wholly poisoned at first.
struct LaneTensor {
  GuardedBuffer buffer;
  MutableLaneView view;

  LaneView const_view() const {
    return {view.data, view.lane, view.shape, view.strides};
  }
};

// `shift`: elements behind a 64-byte boundary; taken modulo 64 bytes.
Result<LaneTensor> AllocateLaneTensor(Lane lane,
                                      const std::array<int64_t, 4>& shape,
                                      const std::array<int64_t, 4>& strides,
                                      int64_t shift);

// Fills the whole buffer of `tensor`, elements and padding, with poison.
void Poison(const LaneTensor& tensor);

// Elements of the logical tensor that still hold poison.
int64_t CountPoison(const LaneTensor& tensor);

// True if everything between and around the elements still holds poison.
// Requires: the elements do not overlap.
bool PaddingIntact(const LaneTensor& tensor);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_TENSOR_H_
