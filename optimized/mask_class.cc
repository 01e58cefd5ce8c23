#include "optimized/mask_class.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"

namespace lockstep::optimized {
namespace {

using Kind = MaskExpr::Kind;

// How far behind its query a key can lie, over all pairs in range.
struct Reach {
  int64_t least = 0;
  int64_t most = 0;
};

Reach ReachOf(const AttentionForwardProblem& p) {
  if (p.align.kind == Alignment::Kind::kBottomRight) {
    // Whatever the valid counts are: query valid_q - 1 stands at the last key.
    return {1 - p.q_len, p.kv_len - 1};
  }
  const int64_t offset =
      p.align.kind == Alignment::Kind::kOffset ? p.align.offset : 0;
  return {offset - (p.kv_len - 1), offset + p.q_len - 1};
}

bool IsFull(const MaskExpr& mask) { return mask.kind == Kind::kFull; }

MaskExpr NormalWindow(MaskExpr mask, const Reach& reach) {
  if (mask.left >= reach.most) mask.left = kUnlimited;
  if (mask.right >= -reach.least) mask.right = kUnlimited;
  const bool full = mask.left == kUnlimited && mask.right == kUnlimited;
  return full ? MaskExpr{} : mask;
}

void AppendUnique(MaskExpr term, std::vector<MaskExpr>* terms) {
  if (std::find(terms->begin(), terms->end(), term) == terms->end()) {
    terms->push_back(std::move(term));
  }
}

// Causal hides every key ahead: a right side beside it says nothing.
std::vector<MaskExpr> WithoutRightSides(std::vector<MaskExpr> terms) {
  const bool causal =
      std::any_of(terms.begin(), terms.end(),
                  [](const MaskExpr& m) { return m.kind == Kind::kCausal; });
  if (!causal) return terms;
  std::vector<MaskExpr> result;
  for (MaskExpr& term : terms) {
    if (term.kind == Kind::kWindow) term.right = kUnlimited;
    const bool none = term.kind == Kind::kWindow && term.left == kUnlimited;
    AppendUnique(none ? MaskExpr{} : std::move(term), &result);
  }
  return result;
}

MaskExpr Normal(const MaskExpr& mask, const Reach& reach) {
  if (mask.kind == Kind::kWindow) return NormalWindow(mask, reach);
  if (mask.kind != Kind::kAnd && mask.kind != Kind::kOr) return mask;
  std::vector<MaskExpr> terms;
  for (const MaskExpr& child : mask.children) {
    MaskExpr term = Normal(child, reach);
    if (term.kind != mask.kind) {
      AppendUnique(std::move(term), &terms);
      continue;
    }
    for (MaskExpr& inner : term.children) AppendUnique(inner, &terms);
  }
  if (mask.kind == Kind::kAnd) {
    terms = WithoutRightSides(std::move(terms));
    std::erase_if(terms, IsFull);
  } else if (std::any_of(terms.begin(), terms.end(), IsFull)) {
    return MaskExpr{};
  }
  if (terms.empty()) return MaskExpr{};
  if (terms.size() == 1) return terms[0];
  MaskExpr result;
  result.kind = mask.kind;
  result.children = std::move(terms);
  return result;
}

}  // namespace

MaskExpr NormalMask(const AttentionForwardProblem& problem,
                    const MaskExpr& mask) {
  return Normal(mask, ReachOf(problem));
}

}  // namespace lockstep::optimized
