// Which keys an emulated kernel lets a query see: the mask language once more,
// written apart from reference/mask.cc, with the catalogue's mask bugs as
// switches. Without a fault it equals reference::IsVisible (tested).
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VISIBILITY_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VISIBILITY_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/emulator/attention_forward/faults.h"

namespace lockstep::verify {

// A (batch row, query head, query, key).
struct MaskPoint {
  int64_t b, h, i, j;
};

class Visibility {
 public:
  // Keeps references.
  Visibility(const AttentionForwardProblem& problem,
             const AttentionForwardInputs& inputs, const FaultDial& dial);

  // The mask tree alone: what a planner that knows no payload sees.
  bool Tree(const MaskPoint& at) const;
  // Segments and valid counts alone.
  bool Payload(const MaskPoint& at) const;
  // How often the lists that a mask was made of name the key; at least 1.
  int64_t Count(const MaskPoint& at) const;
  // Both.
  bool operator()(const MaskPoint& at) const;

 private:
  bool Honestly(const MaskPoint& at) const;
  int64_t Offset(int64_t b) const;
  int64_t Position(const MaskPoint& at) const;
  bool SameSegment(const MaskPoint& at) const;
  bool Node(const MaskExpr& mask, const MaskPoint& at) const;
  bool Causal(const MaskPoint& at) const;
  bool Window(const MaskExpr& mask, const MaskPoint& at) const;
  bool Chunked(const MaskExpr& mask, const MaskPoint& at) const;
  bool Prefix(const MaskExpr& mask, const MaskPoint& at) const;
  bool Sink(const MaskExpr& mask, const MaskPoint& at) const;
  bool Dense(const MaskExpr& mask, const MaskPoint& at) const;

  const AttentionForwardProblem& problem_;
  const AttentionForwardInputs& inputs_;
  const FaultDial dial_;
  // For segments, [batch row][position]: the start of the run of equal ids that
  // a key is in, and the ordinals of runs. They are precomputed, because a
  // search per pair of query and key takes time in proportion to the keys.
  std::vector<std::vector<int64_t>> kv_starts_, q_runs_, kv_runs_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_VISIBILITY_H_
