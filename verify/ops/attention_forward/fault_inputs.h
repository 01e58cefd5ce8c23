// Changed inputs of attention, for single faults: views of other strides where
// that is enough, copies of one head where it is not.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_FAULT_INPUTS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_FAULT_INPUTS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {

// Memory of changed inputs, for the length of one call.
struct FaultScratch {
  std::vector<uint8_t> mask;
  std::vector<uint8_t> bytes;
};

// One position of x for every position, every head and every batch row.
void HoldOne(LaneView* x, int64_t b, int64_t h, int64_t position);

// One head of x for every head and batch row.
void HoldHead(LaneView* x, int64_t b, int64_t h);

// `count` positions of one head, copied so that they can be written; one of
// them stands for every position.
struct HeadPart {
  int64_t b = 0;
  int64_t h = 0;
  int64_t first = 0;
  int64_t count = 1;
};
void CopyHead(const HeadPart& part, LaneView* x, FaultScratch* scratch);

// Of a copied head: position `to` becomes `from`, or the two are exchanged.
void MoveRow(const LaneView& x, int64_t to, int64_t from, bool exchange,
             FaultScratch* scratch);

// The keys that a faulty row sees: `keys`, less one, and one more (-1: none).
struct ShownKeys {
  oracle::KeySet keys;
  int64_t but = -1;
  int64_t and_also = -1;
};
// Only these keys are visible, to every row, whatever the masks say.
void Show(const ShownKeys& shown, AttentionForwardProblem* problem,
          AttentionForwardInputs* inputs, FaultScratch* scratch);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_FAULT_INPUTS_H_
