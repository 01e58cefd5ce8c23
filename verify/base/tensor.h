// Buffers that own what the contract's views show: guard zones on both sides,
// a wanted misalignment, and poison wherever no element lies.
#ifndef LOCKSTEP_VERIFY_BASE_TENSOR_H_
#define LOCKSTEP_VERIFY_BASE_TENSOR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::verify {

// Bytes of guard zone on either side of a buffer.
inline constexpr int64_t kGuardBytes = 256;

// Poison of outputs and padding: NaNs that no operation of the contract can
// produce (every NaN written is the canonical quiet one).
inline constexpr uint32_t kPoisonF32 = 0xffa5a5a5u;
inline constexpr uint16_t kPoison16 = 0xffa5u;  // of lanes of 16 bits

// `bytes` of memory, `shift` bytes behind a 64-byte boundary, between guard
// zones, all of it 0xa5 at first.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  // Errors: not enough memory. Requires: bytes >= 0, 0 <= shift < 64.
  static Result<GuardedBuffer> Allocate(int64_t bytes, int64_t shift);

  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool GuardsIntact() const;
  // Of everything: contents, padding and guard zones.
  std::string Digest() const;

 private:
  std::unique_ptr<uint8_t[]> storage_;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
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
