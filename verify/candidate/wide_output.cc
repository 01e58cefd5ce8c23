#include "verify/candidate/wide_output.h"

#include <bit>
#include <type_traits>

#include "reference/contract/numerics.h"
#include "reference/elementary.h"
#include "verify/base/compare.h"

namespace lockstep::verify {
namespace {

template <class T>
uint16_t Rounded(uint32_t bits) {
  const auto x = std::bit_cast<float>(bits);
  if (x == x) return reference::ElementFrom<T>(x).bits;
  // The NaN of the lane that widens to it, if there is one.
  constexpr bool kHalf = std::is_same_v<T, F16>;
  const auto infinity = static_cast<uint32_t>(kHalf ? 0x7c00 : 0x7f80);
  const uint32_t payload = (bits & 0x007fffffu) >> (kHalf ? 13 : 16);
  const T nan{
      static_cast<uint16_t>((bits >> 16 & 0x8000u) | infinity | payload)};
  const bool kept = std::bit_cast<uint32_t>(ToFloat(nan)) == bits;
  return kept ? nan.bits : reference::ElementFrom<T>(x).bits;
}

}  // namespace

std::vector<NamedOutput> Widened(std::vector<NamedOutput> outputs) {
  for (NamedOutput& output : outputs) {
    if (IsNarrow(output.type)) output.type = ElementType::kF32;
  }
  return outputs;
}

uint32_t WideBits(Lane lane, uint32_t bits) {
  return std::bit_cast<uint32_t>(FloatOf(lane, bits));
}

void RoundElements(Lane lane, const std::vector<int64_t>& shape,
                   const void* from, const std::vector<int64_t>& from_strides,
                   void* to, const std::vector<int64_t>& to_strides) {
  const std::vector<int64_t> dense = DenseStridesOf(shape);
  std::vector<uint32_t> wide(static_cast<size_t>(ElementCount(shape)));
  CopyElements(shape, 4, from, from_strides, wide.data(), dense);
  std::vector<uint16_t> narrow;
  narrow.reserve(wide.size());
  for (const uint32_t bits : wide) {
    narrow.push_back(lane == Lane::kF16 ? Rounded<F16>(bits)
                                        : Rounded<Bf16>(bits));
  }
  CopyElements(shape, 2, narrow.data(), dense, to, to_strides);
}

}  // namespace lockstep::verify
