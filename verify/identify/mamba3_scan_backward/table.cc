// The probes of a scan's gradients, a row each, in the order of asking: later
// ones use what earlier ones have found out.
#include "verify/identify/mamba3_scan_backward/kernel.h"

namespace lockstep::verify {

const std::vector<ScanGradProbe>& ScanGradProbes() {
  static const std::vector<ScanGradProbe> kProbes = {
      {"scan.pairing", "which coordinate an angle turns with the first",
       &AskGradPairing},
      {"scan.lambda scan.sigmoid_rel", "ddt of a token's own input, by tau",
       &AskGradSigmoid},
      {"exp_rel", "the gradient of an initial state, decayed", &AskGradDecay},
      {"scan.dt", "the gradient of an initial k, by dt", &AskGradStep},
      {"scan.scaled", "da behind one token with a step of 8 bits",
       &AskGradScaled},
      {"tanh_rel", "ddt of a cotangent of the angle, by rate", &AskGradTanh},
      {"scan.angle scan.trig_abs", "256 coordinates of q that angles turned",
       &AskGradRotation},
      {"scan.query", "the same q in the gradient of the angle", &AskGradQuery},
      {"scan.decayed", "the same q behind a decay", &AskGradDecayed},
      {"scan.chunk", "a state and a cotangent behind two decays that far apart",
       &AskGradChunk},
      {"scan.angle_form", "128 tokens of many turns each", &AskGradAngleForm},
      {"scan.key", "differences of two coordinates of k in dv", &AskGradKey},
      {"scan.grad_partial", "differences of two heads of a group in dq",
       &AskGradPartial},
      {"scan.state", "differences of two coordinates of the state in dq",
       &AskGradState},
      {"scan.grad_state", "the same of its cotangent, in dk",
       &AskGradStateCotangent},
      {"scan.score", "differences of two later tokens in dv, and in dk",
       &AskGradScore},
      {"scan.gate scan.grad_do", "cotangents of o behind a gate",
       &AskGradOutput},
      {"repeat", "the same call five times", &AskGradRepeat},
  };
  return kProbes;
}

}  // namespace lockstep::verify
