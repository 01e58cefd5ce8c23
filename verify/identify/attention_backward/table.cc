// The probes of attention's gradients, a row each, in the order of asking:
// later ones use what earlier ones have found out.
#include "verify/identify/attention_backward/kernel.h"

namespace lockstep::verify {

const std::vector<GradProbe>& GradProbes() {
  static const std::vector<GradProbe> kProbes = {
      {"operand_qk operand_v operand_round",
       "elements of 24 bits, in the gradients", &AskGradOperands},
      {"grad.p p_round", "differences of two near weights in dv",
       &AskGradWeights},
      {"grad.ds", "differences of two near dS in dk and in dq", &AskDs},
      {"grad.ds_from", "bits of dS of weights that are rounded", &AskDsFrom},
      {"grad.delta_from", "dS beside an o that bf16 lacks", &AskDelta},
      {"score acc_qk tanh_rel exp_rel", "weights in dv", &AskWeightsOfGiven},
      {"scale_at exp_base shift", "P of an lse near its score", &AskExponent},
      {"grad.acc_dp", "sums over channels that lose bits", &AskSumsDp},
      {"grad.acc_dq grad.dq_state", "sums over keys that lose bits",
       &AskSumsDq},
      {"grad.acc_dkv grad.dkv_state", "sums over queries that lose bits",
       &AskSumsDkv},
      {"grad.dq_scale_at", "the bits of dq with a scale of 0.1372",
       &AskDqScale},
      {"grad.dk_scale_at grad.dkv_state",
       "the bits of dk of two heads with a scale of 0.1372", &AskDkScale},
      {"ftz", "dv of subnormal do, and of subnormal P", &AskGradSubnormals},
      {"empty_row", "queries that see no key", &AskGradEmptyRows},
      {"nan masked_nan_safe", "NaN in a query, and behind the mask",
       &AskGradNan},
      {"repeat", "the same call five times", &AskGradRepeat},
  };
  return kProbes;
}

// A forward pass of its own has shown these fields.
void AskWeightsOfGiven(GradKernel* kernel) {
  if (kernel->own()) return;
  for (const AttentionProbe& probe : WeightProbes()) probe.ask(kernel);
}

}  // namespace lockstep::verify
