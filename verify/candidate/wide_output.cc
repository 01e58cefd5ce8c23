#include "verify/candidate/wide_output.h"

#include <bit>

#include "reference/contract/numerics.h"
#include "reference/elementary.h"

namespace lockstep::verify {
namespace {

uint16_t Rounded(uint32_t bits) {
  const auto upper = static_cast<uint16_t>(bits >> 16);
  if ((bits & 0xffff) == 0) return upper;
  return reference::RoundToBf16(std::bit_cast<float>(bits)).bits;
}

}  // namespace

std::vector<NamedOutput> Widened(std::vector<NamedOutput> outputs) {
  for (NamedOutput& output : outputs) {
    if (output.type == ElementType::kBf16) output.type = ElementType::kF32;
  }
  return outputs;
}

void RoundElements(const std::vector<int64_t>& shape, const void* from,
                   const std::vector<int64_t>& from_strides, void* to,
                   const std::vector<int64_t>& to_strides) {
  const std::vector<int64_t> dense = DenseStridesOf(shape);
  std::vector<uint32_t> wide(static_cast<size_t>(ElementCount(shape)));
  CopyElements(shape, 4, from, from_strides, wide.data(), dense);
  std::vector<uint16_t> narrow;
  narrow.reserve(wide.size());
  for (const uint32_t bits : wide) narrow.push_back(Rounded(bits));
  CopyElements(shape, 2, narrow.data(), dense, to, to_strides);
}

}  // namespace lockstep::verify
