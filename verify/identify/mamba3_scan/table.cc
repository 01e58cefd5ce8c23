// The probes of scans, a row each, in the order of asking: later ones use what
// earlier ones have found out.
#include "verify/identify/mamba3_scan/kernel.h"

namespace lockstep::verify {

const std::vector<ScanProbe>& ScanProbes() {
  static const std::vector<ScanProbe> kProbes = {
      {"scan.pairing", "which coordinate an angle turns with the first",
       &AskPairing, true},
      {"scan.angle_carry tanh_rel", "384 exported angles", &AskRates, true},
      {"scan.angle scan.carry_key scan.key scan.trig_abs",
       "coordinates of k that the angles turned", &AskRotation, true},
      {"scan.angle_form", "128 tokens of many turns each", &AskAngleForm, true},
      {"scan.scaled", "the state of one token with a step of 8 bits",
       &AskScaled},
      {"scan.weight", "the same of a token and the look-ahead to the next",
       &AskWeight, true},
      {"scan.dt", "the same with a step of 24 bits", &AskStep},
      {"scan.dt scan.weight scan.lambda", "the state of a k that is rounded",
       &AskNarrowWeights},
      {"scan.lambda scan.sigmoid_rel", "the state of one token, by tau",
       &AskSigmoid, true},
      {"exp_rel", "an initial state of 1, decayed", &AskDecay},
      {"scan.decayed", "the state of a token that a later one decays",
       &AskDecayed},
      {"scan.decay", "the same behind a decay of e^-1000", &AskDecayForm},
      {"scan.chunk", "a state behind two decays that far apart", &AskChunk},
      {"scan.state", "differences of two coordinates of the state", &AskState},
      {"scan.query", "differences of two coordinates of q", &AskQuery},
      {"scan.score", "differences of two earlier tokens in y", &AskScore},
      {"scan.diagonal", "a token's own q and k in y", &AskDiagonal},
      {"scan.diagonal", "a token's own q and k beside a state that cancels",
       &AskNarrowDiagonal},
      {"scan.param", "the last k, whose bias all but cancels it", &AskBias,
       true},
      {"scan.gate", "a y of 8 bits behind a gate", &AskGate},
      {"scan.rank_sum", "two ranks that all but cancel", &AskRankSum, true},
      {"masked_nan_safe", "NaN in the last token", &AskLaterNan},
      {"repeat", "the same call five times", &AskScanRepeat},
  };
  return kProbes;
}

}  // namespace lockstep::verify
