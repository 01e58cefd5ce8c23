#include "verify/case/attention_forward/lists.h"

#include <string>

#include "reference/contract/limits.h"

namespace lockstep::verify {

std::optional<size_t> ListTerm(const AttentionForwardCase& c) {
  for (size_t n = 0; n < c.dense.size(); ++n) {
    if (c.dense[n].listed()) return n;
  }
  return std::nullopt;
}

std::array<int64_t, 2> MasksOf(const AttentionForwardCase& c,
                               const DenseSource& source) {
  // All query heads of one kv head have its lists.
  if (source.listed()) return {c.batch, c.kv_heads == 1 ? 1 : c.q_heads};
  if (source.kind == DenseSource::Kind::kRandom) return {c.batch, c.q_heads};
  return {1, 1};
}

std::array<int64_t, 2> ExtentsOf(const AttentionForwardCase& c,
                                 const DenseSource& source) {
  if (source.kind != DenseSource::Kind::kBlockFile) return {c.q_len, c.kv_len};
  return {(c.q_len + source.block_q - 1) / source.block_q,
          (c.kv_len + source.block_k - 1) / source.block_k};
}

Status CheckLists(const AttentionForwardCase& c) {
  int64_t terms = 0;
  for (const DenseSource& source : c.dense) {
    if (!source.listed()) continue;
    if (source.entries < 1 || source.entries > kMaxLength) {
      return Status::Error("mask: lists of " + std::to_string(source.entries) +
                           " keys; want 1.." + std::to_string(kMaxLength));
    }
    ++terms;
  }
  if (terms > 1) {
    return Status::Error("mask: " + std::to_string(terms) +
                         " index terms; want at most one in all heads");
  }
  if (ListBytes(c) <= kMaxTensorBytes) return {};
  return Status::Error("mask: index lists take more than " +
                       std::to_string(kMaxTensorBytes) + " bytes");
}

int64_t ListBytes(const AttentionForwardCase& c) {
  const std::optional<size_t> term = ListTerm(c);
  if (!term) return 0;
  // B * Hkv * Sq is below 2^46: it is not above that of q.
  int64_t bytes = c.batch * c.kv_heads * c.q_len * 4;
  return __builtin_mul_overflow(bytes, c.dense[*term].entries, &bytes)
             ? INT64_MAX
             : bytes;
}

}  // namespace lockstep::verify
