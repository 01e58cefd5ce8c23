// Attention in shards of keys as parts (N22, N24). Our own kernels return the
// states of rows in place of o and lse. Joined, they have the bits of the case
// with split=N.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_PARTS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_PARTS_H_

#include <memory>
#include <string>

#include "reference/contract/attention_states.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/shards.h"

namespace lockstep::verify {

// A trial of one part's keys. Outputs: m and l [b, h, i], acc [b, h, i, c], all
// in f32.
class AttentionPartTrial final : public Trial, public TrialKernels {
 public:
  // `keys` is the part as a case of its own.
  AttentionPartTrial(std::unique_ptr<AttentionForwardTrial> keys,
                     WeightSize size);

  KernelInputs Inputs() const override { return keys_->Inputs(); }
  KernelCall Call(int64_t n, const OutputSet& outputs) const override {
    return keys_->Call(n, outputs);
  }
  std::string InputDigest() const override { return keys_->InputDigest(); }
  std::string StorageDigest() const override { return keys_->StorageDigest(); }
  // Computes all rows: the truth of single ones is never asked for.
  void ReferenceRow(int64_t row, RowBits* bits) const override;
  int64_t RowCost() const override { return keys_->RowCost(); }
  RunOutcome RunReference(const OutputSet& outputs,
                          Execution* execution) const override;
  RunOutcome RunOptimized(const Variation& how, const OutputSet& outputs,
                          Execution* execution) const override;

 private:
  TrialParts parts() const override { return {.kernels = this}; }

  std::unique_ptr<AttentionForwardTrial> keys_;
  AttentionForwardProblem problem_;
  WeightSize size_;
};

// The outputs of such a trial as the contract's views.
AttentionStates StateViews(const OutputSet& outputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_PARTS_H_
