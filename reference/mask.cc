#include "reference/mask.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"

namespace lockstep::reference {
namespace {

// One (query, key) pair of one head.
struct Pair {
  const AttentionForwardInputs& inputs;
  int64_t b, h, i, j;
  int64_t position;  // of the query on the key axis
};

// Rounds down, also for the negative positions of a negative offset.
int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

// A run is a longest stretch of consecutive keys with equal ids; without
// segments the whole row is one run.
bool IsInFirstKeysOfRun(const Pair& at, int64_t tokens) {
  const auto& seg = at.inputs.kv_seg;
  for (int64_t start = at.j; at.j - start < tokens; --start) {
    if (start == 0) return true;
    if (seg.data && seg(at.b, start) != seg(at.b, start - 1)) return true;
  }
  return false;
}

bool IsVisible(const MaskExpr& mask, const Pair& at) {
  const int64_t back = at.position - at.j;
  const auto child = [&](const MaskExpr& m) { return IsVisible(m, at); };
  switch (mask.kind) {
    case MaskExpr::Kind::kFull:
      return true;
    case MaskExpr::Kind::kCausal:
      return back >= 0;
    case MaskExpr::Kind::kWindow:
      return (mask.left == kUnlimited || back <= mask.left) &&
             (mask.right == kUnlimited || -back <= mask.right);
    case MaskExpr::Kind::kChunked:
      return back >= 0 &&
             FloorDiv(at.position, mask.chunk) == FloorDiv(at.j, mask.chunk);
    case MaskExpr::Kind::kPrefix: {
      const size_t row =
          mask.prefix.size() == 1 ? 0 : static_cast<size_t>(at.b);
      return back >= 0 || at.j < mask.prefix[row];
    }
    case MaskExpr::Kind::kSink:
      return IsInFirstKeysOfRun(at, mask.tokens);
    case MaskExpr::Kind::kDense: {
      const auto& dense = at.inputs.dense_masks[mask.dense];
      return dense(dense.shape[0] == 1 ? 0 : at.b,
                   dense.shape[1] == 1 ? 0 : at.h, at.i / mask.block_q,
                   at.j / mask.block_k) != 0;
    }
    case MaskExpr::Kind::kAnd:
      return std::all_of(mask.children.begin(), mask.children.end(), child);
    case MaskExpr::Kind::kOr:
      return std::any_of(mask.children.begin(), mask.children.end(), child);
  }
  return false;
}

}  // namespace

bool IsVisible(const AttentionForwardProblem& problem,
               const AttentionForwardInputs& inputs, int64_t b, int64_t h,
               int64_t i, int64_t j) {
  if (i >= inputs.ValidQ(problem, b) || j >= inputs.ValidKv(problem, b)) {
    return false;
  }
  if (problem.segments && inputs.q_seg(b, i) != inputs.kv_seg(b, j)) {
    return false;
  }
  return IsVisible(problem.mask(h),
                   {inputs, b, h, i, j, i + inputs.Offset(problem, b)});
}

}  // namespace lockstep::reference
