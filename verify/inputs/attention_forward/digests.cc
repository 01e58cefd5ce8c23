// Digests of the inputs of attention.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/digest.h"
#include "verify/case/attention_forward/pages.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/lists.h"

namespace lockstep::verify {
namespace {

template <size_t kRank>
std::string DigestLine(const char* name,
                       const std::array<int64_t, kRank>& shape,
                       const std::string& digest) {
  std::string line = name;
  for (const int64_t extent : shape) line += " " + std::to_string(extent);
  return line + " " + digest + "\n";
}

}  // namespace

std::string AttentionForwardData::InputDigest() const {
  std::string lines = DigestLine("q", inputs.q.shape, DigestTensor(inputs.q)) +
                      DigestLine("k", inputs.k.shape, DigestTensor(inputs.k)) +
                      DigestLine("v", inputs.v.shape, DigestTensor(inputs.v));
  if (problem.segments) {
    lines +=
        DigestLine("q_seg", inputs.q_seg.shape, DigestTensor(inputs.q_seg)) +
        DigestLine("kv_seg", inputs.kv_seg.shape, DigestTensor(inputs.kv_seg));
  }
  if (problem.sink) {
    lines += DigestLine("sink", inputs.sink.shape, DigestTensor(inputs.sink));
  }
  if (problem.k_scales.any()) {
    lines += DigestLine("k_scale", inputs.k_scale.shape,
                        DigestTensor(inputs.k_scale));
  }
  if (problem.v_scales.any()) {
    lines += DigestLine("v_scale", inputs.v_scale.shape,
                        DigestTensor(inputs.v_scale));
  }
  if (problem.q_scales.any()) {
    lines += DigestLine("q_scale", inputs.q_scale.shape,
                        DigestTensor(inputs.q_scale));
  }
  for (const auto& dense : inputs.dense_masks) {
    lines += DigestLine("dense_mask", dense.shape, DigestTensor(dense));
  }
  if (lists) {
    const ListTensor indices = ListsOf(*this);
    lines += DigestLine("indices", indices.shape,
                        DigestBytes(indices.keys.data(),
                                    indices.keys.size() * sizeof(int32_t)));
  }
  if (pages && !pages->given.empty()) {
    const std::vector<int32_t>& table = pages->given;
    lines +=
        DigestLine("page_table",
                   std::array{problem.batch, TableWidth(problem, pages->how)},
                   DigestBytes(table.data(), table.size() * sizeof(int32_t)));
  }
  for (int64_t b = 0; b < problem.batch; ++b) {
    lines += "valid " + std::to_string(inputs.ValidQ(problem, b)) + " " +
             std::to_string(inputs.ValidKv(problem, b)) + "\n";
  }
  return DigestText(lines);
}

std::string AttentionForwardData::StorageDigest() const {
  std::string digests = q.buffer.Digest() + k.buffer.Digest() +
                        v.buffer.Digest() + q_seg.Digest() + kv_seg.Digest() +
                        sink.Digest();
  if (problem.k_scales.any()) digests += k_scale.Digest();
  if (problem.v_scales.any()) digests += v_scale.Digest();
  if (problem.q_scales.any()) digests += q_scale.Digest();
  for (const GuardedBuffer& dense : dense_masks) digests += dense.Digest();
  return DigestText(digests);
}

}  // namespace lockstep::verify
