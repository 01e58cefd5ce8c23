#include "reference/contract/mask.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "reference/contract/limits.h"
#include "reference/contract/status.h"

namespace lockstep {
namespace {

Status ValidateWindowSide(const char* side, int64_t keys) {
  if (keys >= 0 || keys == kUnlimited) return Status();
  return Status::Error(std::string("mask: window ") + side + "=" +
                       std::to_string(keys) +
                       " is negative; want a count >= 0 or inf");
}

Status ValidatePrefix(const MaskExpr& mask, int64_t batch) {
  const auto count = static_cast<int64_t>(mask.prefix.size());
  if (count != 1 && count != batch) {
    return Status::Error("mask: prefix has " + std::to_string(count) +
                         " lengths; want 1 or one per batch row (" +
                         std::to_string(batch) + ")");
  }
  for (const int64_t length : mask.prefix) {
    if (length >= 0) continue;
    return Status::Error("mask: prefix length " + std::to_string(length) +
                         " is negative");
  }
  return Status();
}

Status ValidateTerm(const MaskExpr& mask, int64_t batch, size_t dense_masks) {
  switch (mask.kind) {
    case MaskExpr::Kind::kWindow: {
      const Status left = ValidateWindowSide("left", mask.left);
      return left.ok() ? ValidateWindowSide("right", mask.right) : left;
    }
    case MaskExpr::Kind::kChunked:
      if (mask.chunk > 0) return Status();
      return Status::Error("mask: chunked:" + std::to_string(mask.chunk) +
                           " must be > 0");
    case MaskExpr::Kind::kPrefix:
      return ValidatePrefix(mask, batch);
    case MaskExpr::Kind::kSink:
      if (mask.tokens >= 0) return Status();
      return Status::Error("mask: sink:" + std::to_string(mask.tokens) +
                           " is negative");
    case MaskExpr::Kind::kDense:
      for (const int64_t block : {mask.block_q, mask.block_k}) {
        if (block >= 1 && block <= kMaxLength) continue;
        return Status::Error("mask: block size " + std::to_string(block) +
                             " is out of range; want 1.." +
                             std::to_string(kMaxLength));
      }
      if (mask.dense < dense_masks) return Status();
      return Status::Error("mask: dense mask " + std::to_string(mask.dense) +
                           " is not among the " + std::to_string(dense_masks) +
                           " given");
    default:
      return Status();
  }
}

Status ValidateTree(const MaskExpr& mask, int64_t batch, size_t dense_masks,
                    int depth) {
  if (depth > kMaxMaskDepth) {
    return Status::Error("mask: deeper than " + std::to_string(kMaxMaskDepth) +
                         " levels");
  }
  const bool inner =
      mask.kind == MaskExpr::Kind::kAnd || mask.kind == MaskExpr::Kind::kOr;
  if (inner != (mask.children.size() >= 2) ||
      (!inner && !mask.children.empty())) {
    return Status::Error("mask: '&' and '|' join two or more terms; found " +
                         std::to_string(mask.children.size()));
  }
  for (const MaskExpr& child : mask.children) {
    const Status status = ValidateTree(child, batch, dense_masks, depth + 1);
    if (!status.ok()) return status;
  }
  return ValidateTerm(mask, batch, dense_masks);
}

}  // namespace

Status ValidateMask(const MaskExpr& mask, int64_t batch, size_t dense_masks) {
  return ValidateTree(mask, batch, dense_masks, 1);
}

}  // namespace lockstep
