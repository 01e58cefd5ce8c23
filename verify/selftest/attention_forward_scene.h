// A case with its inputs, an emulated kernel's answer to it, and the tiers as
// functions: what the selftest tries kernels with.
#ifndef LOCKSTEP_VERIFY_SELFTEST_ATTENTION_FORWARD_SCENE_H_
#define LOCKSTEP_VERIFY_SELFTEST_ATTENTION_FORWARD_SCENE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/case.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward_outputs.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

struct Scene {
  Case request;
  AttentionForwardData data;
};

using Buffers = AttentionForwardOutputBuffers;

// Errors: those of Materialise.
Result<Scene> OpenScene(const Case& request);
Result<Buffers> Emulate(const Scene& scene, AttentionEmulator* emulator);

// Elements of o, then of lse, row by row, as bits; NaNs canonical.
std::vector<uint32_t> Bits(const AttentionForwardProblem& p, const Buffers& x);
std::vector<double> Numbers(const AttentionForwardProblem& p,
                            const LaneView& o);

struct EnvelopeVerdict {
  bool outside = false;
  bool unlikely = false;
  std::string what;
};
// `truth_of_o` may be null.
EnvelopeVerdict JudgeByEnvelope(const Scene& scene,
                                const NumericProfile& profile,
                                const Buffers& out,
                                std::vector<double>* truth_of_o);

// Whether an answer to a probe's inputs is one the profile allows.
//   Requires: the case is a probe that proves something under the profile.
EnvelopeVerdict JudgeByProbe(const Scene& scene, const NumericProfile& profile,
                             const Buffers& out);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_ATTENTION_FORWARD_SCENE_H_
