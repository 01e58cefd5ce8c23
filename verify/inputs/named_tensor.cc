#include "verify/inputs/named_tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lockstep::verify {

const char* ElementTypeName(ElementType type) {
  if (IsReal(type)) return LaneName(LaneOf(type));
  return type == ElementType::kU8 ? "u8" : "i32";
}

const char* FileType(ElementType type) {
  if (IsReal(type)) return LaneRowOf(LaneOf(type)).safetensors;
  return type == ElementType::kU8 ? "U8" : "I32";
}

int64_t ElementBytes(ElementType type) {
  if (IsReal(type)) return static_cast<int64_t>(LaneBytes(LaneOf(type)));
  return type == ElementType::kU8 ? 1 : 4;
}

ElementType TypeOf(Lane lane) { return static_cast<ElementType>(lane); }

std::vector<int64_t> DenseStridesOf(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

int64_t ElementCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

void CopyElements(const std::vector<int64_t>& shape, int64_t width,
                  const void* from, const std::vector<int64_t>& from_strides,
                  void* to, const std::vector<int64_t>& to_strides) {
  if (ElementCount(shape) == 0) return;
  // A row that lies together on both sides is copied as one.
  const size_t last = shape.size() - 1;
  const bool rows =
      !shape.empty() && from_strides[last] == 1 && to_strides[last] == 1;
  const size_t axes = rows ? last : shape.size();
  const int64_t bytes = rows ? shape[last] * width : width;
  std::vector<int64_t> at(axes);
  while (true) {
    int64_t source = 0, target = 0;
    for (size_t axis = 0; axis < axes; ++axis) {
      source += at[axis] * from_strides[axis];
      target += at[axis] * to_strides[axis];
    }
    std::memcpy(static_cast<uint8_t*>(to) + target * width,
                static_cast<const uint8_t*>(from) + source * width,
                static_cast<size_t>(bytes));
    size_t axis = axes;
    while (axis > 0 && ++at[axis - 1] == shape[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

std::vector<uint8_t> DenseBytes(const NamedTensor& tensor) {
  const int64_t width = ElementBytes(tensor.type);
  std::vector<uint8_t> bytes(
      static_cast<size_t>(ElementCount(tensor.shape) * width));
  CopyElements(tensor.shape, width, tensor.data, tensor.strides, bytes.data(),
               DenseStridesOf(tensor.shape));
  return bytes;
}

const NamedTensor* KernelInputs::Find(const std::string& name) const {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

size_t KernelInputs::HolderOf(size_t n) const {
  const NamedTensor& part = tensors[n];
  for (size_t m = 0; m < n; ++m) {
    const NamedTensor& whole = tensors[m];
    bool holds = whole.data == part.data && whole.type == part.type &&
                 whole.strides == part.strides;
    for (size_t axis = 0; holds && axis < part.shape.size(); ++axis) {
      holds = part.shape[axis] <= whole.shape[axis];
    }
    if (holds) return m;
  }
  return n;
}

void KernelInputs::Drop(const std::string& name) {
  std::erase_if(tensors,
                [&](const NamedTensor& tensor) { return tensor.name == name; });
}

void KernelInputs::AddBytes(const std::string& name, ElementType type,
                            std::vector<int64_t> shape,
                            std::vector<uint8_t> bytes) {
  Drop(name);
  made.push_back(std::move(bytes));
  std::vector<int64_t> strides = DenseStridesOf(shape);
  tensors.push_back(
      {name, type, std::move(shape), std::move(strides), made.back().data()});
}

void KernelInputs::AddIntegers(const std::string& name,
                               std::vector<int64_t> shape,
                               const std::vector<int32_t>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(int32_t));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  AddBytes(name, ElementType::kI32, std::move(shape), std::move(bytes));
}

KernelInputs TurnedInputs(const KernelInputs& inputs) {
  KernelInputs turned;
  turned.op = inputs.op;
  turned.scalars = inputs.scalars;
  turned.masks = inputs.masks;
  turned.listed = inputs.listed;
  for (size_t n = 0; n < inputs.tensors.size(); ++n) {
    const NamedTensor& tensor = inputs.tensors[n];
    turned.tensors.push_back(tensor);
    if (const size_t holder = inputs.HolderOf(n); holder != n) {
      turned.tensors.back().data = turned.tensors[holder].data;
      continue;
    }
    const int64_t span = ElementSpan(tensor.shape, tensor.strides);
    // Where elements lie apart, the memory between them holds no value.
    const bool dense = span == ElementCount(tensor.shape);
    if (!IsReal(tensor.type) || !dense || span <= 1) continue;
    const int64_t width = ElementBytes(tensor.type);
    const auto* data = static_cast<const uint8_t*>(tensor.data);
    std::vector<uint8_t> bytes(data, data + span * width);
    std::rotate(bytes.begin(), bytes.begin() + width, bytes.end());
    turned.made.push_back(std::move(bytes));
    turned.tensors.back().data = turned.made.back().data();
  }
  return turned;
}

}  // namespace lockstep::verify
