// The first witness of attention_forward: the optimized kernel with f32 weights
// and f32 answers. Why a row that it vouches for needs no oracle:
// docs/envelopes.md, "The first witness".
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WITNESS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WITNESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "verify/allowed/attention_forward/witness.h"
#include "verify/inputs/attention_forward.h"
#include "verify/ops/allowed.h"
#include "verify/ops/attention_forward/witness_inputs.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

class AttentionWitness final : public FirstWitness {
 public:
  // Null: the profile leaves no margin, an input is not finite, memory lacks,
  // or no optimized kernel runs here. `data` has to outlive it.
  static std::unique_ptr<AttentionWitness> Make(
      const AttentionForwardData& data, const NumericProfile& profile,
      int threads);

  std::vector<int64_t> Trials(uint64_t salt) const override;
  Tried OnTrial(const std::vector<int64_t>& rows,
                const OutputSet& produced) const override;
  std::optional<double> Doubt(int64_t row,
                              const OutputSet& produced) const override;
  int64_t TruthCost(int64_t row) const override;

  // The kernel's own answers, o [b, h, i, 2 c] and lse: tests break them.
  const LaneTensor& o() const { return o_; }
  const LaneTensor& lse() const { return lse_; }

 private:
  AttentionWitness(const AttentionForwardData& data,
                   const NumericProfile& profile, const WitnessModel& model,
                   WitnessInputs inputs);
  bool Run(int threads);
  void CountVisible();
  // Whether the margin holds what was produced there, output 0 or lse.
  bool Vouches(const WitnessMargin& margin, int64_t row,
               const OutputSet& produced) const;
  bool VouchesForLse(const WitnessMargin& margin, int64_t row,
                     const OutputSet& produced) const;

  const AttentionForwardData& data_;
  NumericProfile profile_;
  WitnessModel model_;
  WitnessInputs inputs_;
  int threads_ = 0;
  int64_t tile_rows_ = 1;
  LaneTensor o_;                  // [b, h, i, 2 value_dim]
  LaneTensor lse_;                // [b, h, i, 1]
  std::vector<int64_t> visible_;  // keys of each row
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WITNESS_H_
