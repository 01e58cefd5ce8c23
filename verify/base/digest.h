// XXH3-128 digests over canonical little-endian bits in logical order: strides,
// layout and padding do not enter. 32 lower-case hex digits.
#ifndef LOCKSTEP_VERIFY_BASE_DIGEST_H_
#define LOCKSTEP_VERIFY_BASE_DIGEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/tensor_view.h"

namespace lockstep::verify {

class Digester {
 public:
  Digester();
  ~Digester();
  Digester(Digester&&) noexcept;
  Digester& operator=(Digester&&) noexcept;

  void Update(const void* data, size_t bytes);
  void UpdateText(std::string_view text) { Update(text.data(), text.size()); }
  void UpdateU64(uint64_t value);  // eight bytes, little-endian

  std::string Hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of bytes in one piece, for comparison within one process.
uint64_t QuickDigest(const void* data, size_t bytes);

// Of bytes as they are.
std::string DigestBytes(const void* data, size_t bytes);
std::string DigestText(std::string_view text);

// Of the elements of a tensor, row-major in logical order; nothing else.
std::string DigestTensor(const LaneView& view);
std::string DigestTensor(const TensorView<const float, 3>& view);
std::string DigestTensor(const TensorView<const float, 1>& view);
std::string DigestTensor(const TensorView<const int32_t, 2>& view);
std::string DigestTensor(const TensorView<const uint8_t, 4>& view);

// A tensor with its name, dense, row-major, little-endian.
struct NamedBytes {
  std::string name;
  std::string type;  // safetensors spelling: "F32", "BF16", "I32", "U8"
  std::vector<int64_t> shape;
  std::span<const uint8_t> bytes;
};

// Of a set of tensors; pins captured files. Tensors in ascending order of
// name, each as: name, zero byte, type, zero byte, rank and extents as u64,
// then its bytes.
std::string DigestTensors(std::vector<NamedBytes> tensors);

// 32 lower-case hex digits.
bool IsDigest(std::string_view text);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_DIGEST_H_
