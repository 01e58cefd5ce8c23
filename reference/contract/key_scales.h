// The scales of keys or values in fp8 (N25): their number, and the one that
// belongs to a key. Scales of q are the same, with queries in place of keys and
// query heads in place of kv heads.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_KEY_SCALES_H_
#define LOCKSTEP_REFERENCE_CONTRACT_KEY_SCALES_H_

#include <array>
#include <cstdint>

#include "reference/contract/tensor_view.h"

namespace lockstep {

enum class ScaleLayout : uint8_t {
  kNone,    // elements are not scaled
  kTensor,  // one scale
  kHead,    // one per kv head
  kToken,   // one per key of each kv head in each batch row
  kBlock,   // one per `block` keys; the last block may have fewer
};

struct KeyScales {
  ScaleLayout layout = ScaleLayout::kNone;
  int64_t block = 0;  // keys per block, with kBlock

  bool any() const { return layout != ScaleLayout::kNone; }
  // Whether keys of one head may have different scales.
  bool by_key() const {
    return layout == ScaleLayout::kToken || layout == ScaleLayout::kBlock;
  }
  // Whether all keys of a head have one scale.
  bool shared() const { return any() && !by_key(); }
  // The number of keys that share a scale; 0 if all of a head do.
  int64_t keys() const {
    return layout == ScaleLayout::kBlock ? block : by_key() ? 1 : 0;
  }
  friend bool operator==(const KeyScales&, const KeyScales&) = default;
};

inline constexpr int64_t kMaxScaleBlock = int64_t{1} << 16;

// Scales are at least 2^-60 and at most 2^60.
inline constexpr float kLeastKeyScale = 0x1p-60f;
inline constexpr float kLargestKeyScale = 0x1p60f;

// [batch or 1, kv_heads or 1, scales of a head]
using KeyScaleView = TensorView<const float, 3>;

// The scale of a key; 1 without scales. Requires: a view of ScaleShape's shape.
inline float KeyScaleOf(const KeyScales& scales, const KeyScaleView& view,
                        int64_t batch, int64_t kv_head, int64_t key) {
  switch (scales.layout) {
    case ScaleLayout::kNone:
      return 1.0f;
    case ScaleLayout::kTensor:
      return view(0, 0, 0);
    case ScaleLayout::kHead:
      return view(0, kv_head, 0);
    case ScaleLayout::kToken:
    case ScaleLayout::kBlock:
      break;
  }
  return view(batch, kv_head, key / scales.keys());
}

// The shape of the scales for these numbers of batch rows, kv heads and keys.
inline std::array<int64_t, 3> ScaleShape(const KeyScales& scales, int64_t batch,
                                         int64_t kv_heads, int64_t kv_len) {
  if (scales.layout == ScaleLayout::kHead) return {1, kv_heads, 1};
  if (!scales.by_key()) return {1, 1, 1};
  return {batch, kv_heads, (kv_len + scales.keys() - 1) / scales.keys()};
}

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_KEY_SCALES_H_
