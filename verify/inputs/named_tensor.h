// What a kernel is called with, without its op: tensors by name, scalars by
// name, masks as terms. The wire, files, digests and copies work on these and
// know no op.
#ifndef LOCKSTEP_VERIFY_INPUTS_NAMED_TENSOR_H_
#define LOCKSTEP_VERIFY_INPUTS_NAMED_TENSOR_H_

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/mask.h"
#include "reference/contract/tensor_view.h"
#include "verify/base/sparse/element_ranges.h"

namespace lockstep::verify {

// Those of lanes first, in the order of Lane.
enum class ElementType : uint8_t {
  kF32,
  kBf16,
  kF16,
  kE4m3,
  kE5m2,
  kAdded,
  kU8,
  kI32
};

// Strides of a dense tensor whose last axis is contiguous.
std::vector<int64_t> DenseStridesOf(const std::vector<int64_t>& shape);

// "f32", "bf16", "f16", "e4m3", "e5m2", "u8", "i32".
const char* ElementTypeName(ElementType type);
// The same in a safetensors file: "F32".
const char* FileType(ElementType type);
int64_t ElementBytes(ElementType type);
ElementType TypeOf(Lane lane);
// Whether its elements are values of a lane.
inline bool IsReal(ElementType type) { return type < ElementType::kU8; }
// Requires: IsReal(type).
inline Lane LaneOf(ElementType type) { return static_cast<Lane>(type); }
// Whether a profile with out = f32 hands it over in f32.
inline bool IsNarrow(ElementType type) {
  return IsReal(type) && LaneOf(type) != Lane::kF32;
}

// A tensor of the contract's logical shape; `Void` is `const void` for inputs,
// `void` for outputs.
template <typename Void>
struct BasicNamedTensor {
  std::string name;  // as in files
  ElementType type = ElementType::kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements, >= 0; 0: broadcast
  Void* data = nullptr;
};
using NamedTensor = BasicNamedTensor<const void>;
using NamedOutput = BasicNamedTensor<void>;

// A view of the contract under that name.
template <typename Void, typename View>
BasicNamedTensor<Void> NameView(const char* name, ElementType type,
                                const View& view) {
  return {name,
          type,
          {view.shape.begin(), view.shape.end()},
          {view.strides.begin(), view.strides.end()},
          view.data};
}
// The same of an output; one of no lane is f32.
template <size_t kRank>
NamedOutput NameOutput(const char* name, const TensorView<float, kRank>& view) {
  return NameView<void>(name, ElementType::kF32, view);
}
template <size_t kRank>
NamedOutput NameOutput(const char* name,
                       const BasicLaneView<void, kRank>& view) {
  return NameView<void>(name, TypeOf(view.lane), view);
}

// Product of the extents.
int64_t ElementCount(const std::vector<int64_t>& shape);

// Stretches of memory that hold the elements
// (verify/base/sparse/element_ranges.h).
template <typename Void>
std::vector<ByteRange> RangesOf(const BasicNamedTensor<Void>& tensor) {
  return ElementRanges(tensor.shape, tensor.strides, ElementBytes(tensor.type));
}

// Element by element, from one memory layout to another; `width`: bytes of an
// element, strides in elements.
void CopyElements(const std::vector<int64_t>& shape, int64_t width,
                  const void* from, const std::vector<int64_t>& from_strides,
                  void* to, const std::vector<int64_t>& to_strides);

// Its elements, dense and row-major.
std::vector<uint8_t> DenseBytes(const NamedTensor& tensor);

// Nothing: absent, such as a softcap that is not there.
using ScalarValue = std::variant<std::monostate, bool, int64_t, double,
                                 std::string, std::vector<int64_t>>;

// All inputs of one call. Tensors refer to the memory of the trial, or to
// `made`, whose elements stay where they are when the list is moved.
struct KernelInputs {
  std::string op;
  std::vector<NamedTensor> tensors;
  // Every number and word of the problem, nothing left to a default.
  std::vector<std::pair<std::string, ScalarValue>> scalars;
  // Of attention, one or one per query head; prefixes have one count per
  // batch row. `dense` is the n of tensor dense_mask_n.
  std::vector<MaskExpr> masks;
  // The n that has no such tensor, because the kernel wants the lists of keys
  // that the mask was made of: tensor indices.
  std::optional<size_t> listed;
  std::list<std::vector<uint8_t>> made;

  KernelInputs() = default;
  KernelInputs(KernelInputs&&) = default;
  KernelInputs& operator=(KernelInputs&&) = default;
  KernelInputs(const KernelInputs&) = delete;
  KernelInputs& operator=(const KernelInputs&) = delete;

  // Null if there is no such tensor.
  const NamedTensor* Find(const std::string& name) const;
  // The first tensor that holds all elements of the n-th: it has the same start
  // and strides, as k has for a v in k. n, if there is none.
  size_t HolderOf(size_t n) const;
  // Removes the tensor of that name, if there is one.
  void Drop(const std::string& name);
  // A dense tensor of the list's own, in place of one of that name.
  void AddBytes(const std::string& name, ElementType type,
                std::vector<int64_t> shape, std::vector<uint8_t> bytes);
  void AddIntegers(const std::string& name, std::vector<int64_t> shape,
                   const std::vector<int32_t>& values);

  template <typename T, size_t kRank>
  void Add(const char* name, ElementType type,
           const TensorView<const T, kRank>& view) {
    if (view.data == nullptr) return;
    tensors.push_back(NameView<const void>(name, type, view));
  }
  template <size_t kRank>
  void Add(const char* name, const BasicLaneView<const void, kRank>& view) {
    if (view.data == nullptr) return;
    tensors.push_back(NameView<const void>(name, TypeOf(view.lane), view));
  }
};

// The values of real tensors, each one element further: other contents of the
// same kind. Ids, masks and tensors with gaps stay: they are those of `inputs`,
// which has to live on.
KernelInputs TurnedInputs(const KernelInputs& inputs);

// One call of a kernel: what goes in, and where what comes out belongs.
struct KernelCall {
  KernelInputs inputs;
  std::vector<NamedOutput> outputs;
};

// Names, order and meaning of tensors and scalars: docs/wire.md.
KernelInputs NameInputs(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs);
KernelInputs NameInputs(const Mamba3ScanProblem& problem,
                        const Mamba3ScanInputs& inputs);
std::vector<NamedOutput> NameOutputs(const AttentionForwardOutputs& outputs);
std::vector<NamedOutput> NameOutputs(const Mamba3ScanOutputs& outputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_NAMED_TENSOR_H_
