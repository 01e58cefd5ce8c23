#include "python/native/tensors.h"

#include <nanobind/stl/string.h>

namespace lockstep::python {

using Array = nb::ndarray<nb::ro, nb::device::cpu>;

Arrays::Arrays(const nb::dict& arrays) {
  for (const auto& [key, value] : arrays) {
    const auto name = nb::cast<std::string>(key);
    Array array;
    if (!nb::try_cast(value, array)) {
      Refuse(name + " is no array in the CPU's memory (DLPack or buffer)");
    }
    arrays_.emplace(name, std::move(array));
  }
}

const Array* Arrays::Find(const std::string& name) const {
  const auto found = arrays_.find(name);
  return found == arrays_.end() ? nullptr : &found->second;
}

std::string TypeOfArray(const Array& array) {
  const nb::dlpack::dtype type = array.dtype();
  if (type == nb::dtype<float>()) return "f32";
  if (type == nb::dtype<int32_t>()) return "i32";
  if (type == nb::dtype<uint8_t>() || type == nb::dtype<bool>()) return "u8";
  const auto code = static_cast<nb::dlpack::dtype_code>(type.code);
  if (type.bits == 16 && code == nb::dlpack::dtype_code::Float) return "f16";
  if (type.bits == 16 && (code == nb::dlpack::dtype_code::Bfloat ||
                          code == nb::dlpack::dtype_code::UInt)) {
    return "bf16";
  }
  return "";
}

void Arrays::Check(const std::string& name, const Array& array,
                   const std::string& type, size_t rank) {
  const std::string found = TypeOfArray(array);
  if (found != type) {
    Refuse(name + " has " + (found.empty() ? "another type" : found) +
           " elements, want " + type);
  }
  if (array.ndim() != rank) {
    Refuse(name + " has " + std::to_string(array.ndim()) + " axes, want " +
           std::to_string(rank));
  }
}

}  // namespace lockstep::python
