// Index lists, as in top-k sparse attention.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

using Kind = MaskExpr::Kind;

// The mask and the term, joined; the mask alone says nothing if it is full.
MaskExpr Joined(Kind kind, MaskExpr mask, MaskExpr term) {
  if (mask.kind == Kind::kFull) return term;
  MaskExpr joined;
  joined.kind = kind;
  joined.children = {std::move(mask), std::move(term)};
  return joined;
}

}  // namespace

std::vector<Case> WithLists(Draw* draw, std::vector<Case> sequence) {
  if (!draw->OneIn(20)) return sequence;
  DenseSource source;
  source.kind = DenseSource::Kind::kIndex;
  source.entries =
      draw->Of<int64_t>({1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64});
  source.draw = draw->Of(
      {DenseSource::ListDraw::kUniform, DenseSource::ListDraw::kUniform,
       DenseSource::ListDraw::kAscending, DenseSource::ListDraw::kRecent});
  const Kind kind = draw->Of({Kind::kAnd, Kind::kAnd, Kind::kOr});
  std::vector<Case> listed = sequence;
  for (Case& c : listed) {
    AttentionForwardCase& a = c.Get<AttentionForwardCase>();
    MaskExpr term;
    term.kind = Kind::kDense;
    term.dense = a.dense.size();
    a.dense.push_back(source);
    a.mask = Joined(kind, std::move(a.mask), std::move(term));
    std::optional<Case> legal = NormalForm(c);
    if (!legal) return sequence;
    c = *legal;
  }
  return listed;
}

}  // namespace lockstep::verify
