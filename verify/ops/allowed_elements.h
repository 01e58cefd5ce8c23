// What a profile allows, element by element: for ops whose outputs are all
// judged, each in the lane that it has.
#ifndef LOCKSTEP_VERIFY_OPS_ALLOWED_ELEMENTS_H_
#define LOCKSTEP_VERIFY_OPS_ALLOWED_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "verify/ops/allowed.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

class AllowedElements : public AllowedResults {
 public:
  // The trial has to live on.
  AllowedElements(const Trial& trial, std::vector<int64_t> rows);

  const std::vector<int64_t>& rows() const final { return rows_; }
  std::vector<EnvelopeResult> JudgeEach(const OutputSet& produced,
                                        const ElementSink& each) const final;
  bool Allows(size_t n, const RowBits& bits) const final;
  bool Bounds(size_t n) const final;

 private:
  // Of output t in row rows()[n]: how many elements, in the order of the row's
  // lines, and what element i may be.
  virtual size_t Count(size_t t, size_t n) const = 0;
  virtual lockstep::verify::Bounds Element(size_t t, size_t n,
                                           size_t i) const = 0;
  EnvelopeResult JudgeOne(size_t t, const LaneView& produced,
                          const ElementSink& each) const;

  const Trial& judged_;
  std::vector<int64_t> rows_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ALLOWED_ELEMENTS_H_
