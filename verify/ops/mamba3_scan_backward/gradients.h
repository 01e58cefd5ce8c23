// The outputs of mamba3_scan_backward, as the judge and as the contract has
// them: the gradient of an input has its name with a d in front.
#ifndef LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_BACKWARD_GRADIENTS_H_
#define LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_BACKWARD_GRADIENTS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan_backward.h"
#include "verify/inputs/named_tensor.h"
#include "verify/ops/outputs.h"

namespace lockstep::verify {

// What an element of an output belongs to.
enum class GradientPlace : uint8_t {
  kToken,   // a token of a head, or of a group: axes t or t*r
  kWeight,  // a head, over all runs
  kCarry,   // a run
};
GradientPlace PlaceOf(const OutputSpec& spec);
// Its extent along the axis of heads: groups where they share it.
bool OfGroups(const OutputSpec& spec);

// dv [b, t, h, p] is the first because it vanishes for no ordinary problem;
// then dq, dk [b, t * r, g, n], da, ddt, dtau [b, h, t, 1], dvartheta
// [b, t, h, s], dz; dbq, dbk, dpsi, dzeta, dphi [1, h, r, c], dd [1, h, 1, 1],
// dnorm_weight [1, h, 1, p]; dinit_theta [run, h, 1, s], dinit_h
// [run, h, p, n], dinit_k [run, r, h, n], dinit_v [run, h, 1, p]. Those whose
// inputs the problem has.
std::vector<OutputSpec> GradientSpecs(const Mamba3ScanBackwardProblem& problem,
                                      int64_t runs);

// `outputs`: in the order of the specs of the problem.
Mamba3ScanBackwardOutputs GradientViews(
    const Mamba3ScanBackwardProblem& problem,
    const std::vector<OutputSpec>& specs, const OutputSet& outputs);

// Names, order and meaning: docs/wire.md.
std::vector<NamedOutput> NameOutputs(const Mamba3ScanBackwardOutputs& outputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_BACKWARD_GRADIENTS_H_
