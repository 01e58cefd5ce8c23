// Arrays of Python as the contract's views: anything with DLPack, or with the
// buffer protocol, on the CPU. NumPy has no type for bf16: there u16 stands for
// it.
#ifndef LOCKSTEP_PYTHON_NATIVE_TENSORS_H_
#define LOCKSTEP_PYTHON_NATIVE_TENSORS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::python {

namespace nb = nanobind;

// What went wrong, as Python's ValueError.
[[noreturn]] inline void Refuse(const std::string& message) {
  throw std::invalid_argument(message);
}
inline void Accept(const Status& status) {
  if (!status.ok()) Refuse(status.message());
}
template <typename T>
T Accept(Result<T> result) {
  if (!result.ok()) Refuse(result.message());
  return std::move(result.value());
}

// Arrays by name, kept alive.
class Arrays {
 public:
  // Errors: a value that is no array of the CPU.
  explicit Arrays(const nb::dict& arrays);

  bool Has(const std::string& name) const { return arrays_.contains(name); }

  // Null views where there is no array of that name. Errors: another type or
  // rank.
  template <typename T, size_t kRank>
  TensorView<T, kRank> View(const std::string& name, const char* type) const {
    const nb::ndarray<nb::ro, nb::device::cpu>* array = Find(name);
    if (array == nullptr) return {};
    Check(name, *array, type, kRank);
    TensorView<T, kRank> view;
    view.data = static_cast<T*>(const_cast<void*>(array->data()));
    for (size_t axis = 0; axis < kRank; ++axis) {
      view.shape[axis] = static_cast<int64_t>(array->shape(axis));
      view.strides[axis] = array->stride(axis);
    }
    return view;
  }
  template <typename Void, size_t kRank>
  BasicLaneView<Void, kRank> LaneOf(const std::string& name, Lane lane) const {
    const auto view = View<uint8_t, kRank>(name, LaneName(lane));
    return {view.data, lane, view.shape, view.strides};
  }

 private:
  const nb::ndarray<nb::ro, nb::device::cpu>* Find(
      const std::string& name) const;
  static void Check(const std::string& name,
                    const nb::ndarray<nb::ro, nb::device::cpu>& array,
                    const std::string& type, size_t rank);

  std::map<std::string, nb::ndarray<nb::ro, nb::device::cpu>> arrays_;
};

// "f32", "bf16", ... of an array; empty for what no op takes.
std::string TypeOfArray(const nb::ndarray<nb::ro, nb::device::cpu>& array);

}  // namespace lockstep::python

#endif  // LOCKSTEP_PYTHON_NATIVE_TENSORS_H_
