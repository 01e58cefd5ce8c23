// The masks of picked inputs. Some terms count keys from the start of the axis,
// or of a run. On a part of the axis that start lies elsewhere.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PICK_MASKS_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PICK_MASKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/inputs/attention_forward.h"

namespace lockstep::verify {

struct AttentionPick;  // verify/inputs/attention_forward/pick.h

// Whether a term of a mask asks where a query stands on the key axis.
bool AsksForPositions(const AttentionForwardProblem& problem);

class PickedMasks {
 public:
  // Borrows both.
  PickedMasks(const AttentionForwardData& from, const AttentionPick& pick);

  // The mask as it is on a part, whose prefixes are those of the picked rows.
  // Terms that have no form there become dense ones of single elements.
  MaskExpr Cut(const MaskExpr& mask);

  // Dense tensors so far: the source's, and those that Cut made.
  size_t terms() const { return terms_.size(); }
  // Whether an element of tensor n is for a block.
  bool Blocks(size_t n) const;
  std::array<int64_t, 4> Shape(size_t n, int64_t queries, int64_t keys) const;
  // Whether tensor n, of picked row `b` and head `h`, lets query at[0] of the
  // source see key at[1]; of blocks these are numbers of blocks.
  bool Element(size_t n, int64_t b, int64_t h,
               const std::array<int64_t, 2>& at) const;

 private:
  struct Term {
    MaskExpr mask;                 // kDense: of the source
    bool whole = true;             // as it is there
    AttentionForwardProblem only;  // a problem of that mask, unless kDense
  };
  MaskExpr MakeDense(const MaskExpr& term);

  const AttentionForwardData& from_;
  const AttentionPick& pick_;
  AttentionForwardInputs inputs_;  // without documents and counts
  std::vector<Term> terms_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_PICK_MASKS_H_
