// Writes tensors as a safetensors file, for the witnesses in Python.
#ifndef LOCKSTEP_TESTS_SUPPORT_TENSOR_FILE_H_
#define LOCKSTEP_TESTS_SUPPORT_TENSOR_FILE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/contract/tensor_view.h"
#include "reference/elementary.h"

namespace lockstep::test {

using Shape = std::vector<int64_t>;

// Tensors one after the other, and their entries of the header.
class TensorFile {
 public:
  template <typename T>
  void Add(const std::string& name, const std::vector<T>& x,
           const Shape& shape) {
    const size_t begin = data_.size();
    data_.append(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T));
    header_ << "\"" << name << "\":{\"dtype\":\""
            << (std::is_same_v<T, float>     ? "F32"
                : std::is_same_v<T, uint8_t> ? "U8"
                                             : "I32")
            << "\",\"shape\":[";
    for (size_t r = 0; r < shape.size(); ++r) {
      header_ << (r > 0 ? "," : "") << shape[r];
    }
    header_ << "],\"data_offsets\":[" << begin << "," << data_.size() << "]},";
  }
  void AddText(const std::string& key, const std::string& value) {
    text_ << (text_.tellp() > 0 ? "," : "") << "\"" << key << "\":\"" << value
          << "\"";
  }
  bool Write(const std::string& path) const {
    std::string header =
        "{" + header_.str() + "\"__metadata__\":{" + text_.str() + "}}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const uint64_t size = header.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&size), sizeof(size));
    file << header << data_;
    return file.good();
  }

 private:
  std::ostringstream header_;
  std::ostringstream text_;
  std::string data_;
};

// As the op sees it: what the bf16 lane cuts off is not exported.
inline std::vector<float> Seen(const std::vector<float>& x, Lane lane) {
  std::vector<float> seen = x;
  for (float& value : seen) {
    if (lane == Lane::kF32) break;
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    value = lane == Lane::kF16 ? reference::RoundToLane(value, lane)
                               : std::bit_cast<float>(bits & 0xffff0000u);
  }
  return seen;
}

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_TENSOR_FILE_H_
