// Digests and memory layouts of a scan's tensors.
#include <array>
#include <cstdint>
#include <string>

#include "verify/digest.h"
#include "verify/inputs_mamba3_scan.h"

namespace lockstep::verify {

std::string Mamba3ScanData::InputDigest() const {
  std::string lines;
  const auto add = [&](const char* name, const auto& shape,
                       const std::string& digest) {
    lines += name;
    for (const int64_t extent : shape) lines += " " + std::to_string(extent);
    lines += " " + digest + "\n";
  };
  for (const ScanStorage& one : storage) {
    if (!one.there()) continue;
    add(one.name, one.tensor.view.shape, DigestTensor(one.tensor.const_view()));
  }
  if (inputs.segments.data != nullptr) {
    add("segments", inputs.segments.shape, DigestTensor(inputs.segments));
  }
  if (!inputs.cu_seqlens.empty()) add("cu_seqlens", inputs.cu_seqlens, "");
  return DigestText(lines);
}

std::string Mamba3ScanData::StorageDigest() const {
  std::string digests = segments.Digest();
  for (const ScanStorage& one : storage) digests += one.tensor.buffer.Digest();
  return DigestText(digests);
}

ScanShape TokenShape(const Mamba3ScanCase& c, int64_t heads, int64_t ranks,
                     int64_t channels) {
  const Mamba3ScanProblem& p = c.problem;
  const int64_t positions = p.length * ranks;
  const int64_t row = channels + c.pad;
  ScanShape shape;
  shape.shape = {p.batch, heads, positions, channels};
  shape.strides =
      c.layout == ScanLayout::kBthp
          ? std::array{positions * heads * row, row, heads * row, int64_t{1}}
          : std::array{heads * positions * row, positions * row, row,
                       int64_t{1}};
  // Ranks of a token lie side by side in front of its heads in either layout.
  return shape;
}

ScanShape TimeShape(const Mamba3ScanCase& c) {
  const Mamba3ScanProblem& p = c.problem;
  ScanShape shape;
  shape.shape = {p.batch, p.heads, p.length, 1};
  const int64_t row =
      (c.layout == ScanLayout::kBthp ? p.length : p.heads) + c.pad;
  shape.strides = c.layout == ScanLayout::kBthp
                      ? std::array{p.heads * row, row, int64_t{1}, int64_t{1}}
                      : std::array{p.length * row, int64_t{1}, row, int64_t{1}};
  return shape;
}

}  // namespace lockstep::verify
