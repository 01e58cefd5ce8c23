// Outputs as the judge knows them: named tensors of lines, and rows of bits.
#ifndef LOCKSTEP_VERIFY_OPS_OUTPUTS_H_
#define LOCKSTEP_VERIFY_OPS_OUTPUTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/tensor_view.h"
#include "verify/base/tensor.h"

namespace lockstep::verify {

// One output tensor. A *line* is its last axis, line l is
// (l / (n1 * n2), l / n2 % n1, l % n2). A *row* is what the truth computes at
// once: of attention one line of every output, of a scan all lines of one head
// of one run.
struct OutputSpec {
  std::string name;
  Lane lane = Lane::kF32;
  std::array<int64_t, 4> shape{};
  std::array<const char*, 4> axes{};  // for messages: "b", "h", "i", "c"
  // Its shape in files, where that is another.
  std::vector<int64_t> file_shape{};

  std::vector<int64_t> InFile() const {
    return file_shape.empty() ? std::vector(shape.begin(), shape.end())
                              : file_shape;
  }
  int64_t lines() const { return shape[0] * shape[1] * shape[2]; }
  // The axis along which lines are drawn below one another: that of positions,
  // where the output has one.
  size_t down = 2;
  // Of its memory, in elements. None: dense.
  std::optional<std::array<int64_t, 4>> strides{};
};

// Memory for the outputs of one run, in the order of Trial::outputs().
struct OutputSet {
  std::vector<LaneTensor> tensors;
};

// The bits of one row of every output: [output][line, channel].
using RowBits = std::vector<std::vector<uint32_t>>;

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_OUTPUTS_H_
