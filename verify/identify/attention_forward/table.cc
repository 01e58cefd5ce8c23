// The probes of attention, a row each, in the order of asking: later ones use
// what earlier ones have found out.
#include "verify/identify/attention_forward/kernel.h"

namespace lockstep::verify {

const std::vector<AttentionProbe>& AttentionProbes() {
  static const std::vector<AttentionProbe> kProbes = {
      {"lse lse_base", "lse of a single key, which is its score", &AskLse},
      {"score lse", "weights of two keys against their scores of 16 bits",
       &AskScoreType},
      {"operand_qk operand_round", "elements of 24 bits in q and in k",
       &AskOperandsQk},
      {"scale_at exp_base", "the bits of a score with a scale of 0.1372",
       &AskScale},
      {"acc_qk", "sums over channels that lose bits", &AskSumsQk},
      {"tanh_rel", "scores under a cap of 50", &AskTanh},
      {"cap_div", "the bits of scores far below a cap", &AskCapDivision},
      {"operand_v operand_round", "o of a single key, which is its v",
       &AskOperandsV},
      {"p p_round l_from normalise", "differences of two near weights",
       &AskWeights},
      {"score score_round", "scores with a scale of 0.1372, and under a cap",
       &AskScoreSteps},
      {"vscale_at", "the same with values in fp8 and their scales",
       &AskValueScale},
      {"exp_rel", "ratios of two weights", &AskExp},
      {"acc_pv", "sums over keys that lose bits", &AskSumsPv},
      {"exp_zero", "lse of 64 equal keys", &AskEqualKeys},
      {"division", "a third of a value", &AskDivision},
      {"ftz", "o of a single key with subnormal v", &AskSubnormals},
      {"empty_row", "rows that see no key", &AskEmptyRows},
      {"nan masked_nan_safe", "NaN in a query, and in a masked key", &AskNan},
      {"repeat", "the same call five times", &AskRepeat},
  };
  return kProbes;
}

const std::vector<AttentionProbe>& WeightProbes() {
  static const std::vector<AttentionProbe> kProbes = {
      {"score", "weights of two keys against their scores of 16 bits",
       &AskScoreType},
      {"acc_qk", "sums over channels that lose bits", &AskSumsQk},
      {"tanh_rel", "scores under a cap of 50", &AskTanh},
      {"exp_rel", "ratios of two weights", &AskExp},
  };
  return kProbes;
}

}  // namespace lockstep::verify
