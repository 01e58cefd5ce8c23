// A call of a kernel as files: what tells it from other calls, and how it is
// written for kernels that answer it elsewhere.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_CALLS_CALL_H_
#define LOCKSTEP_VERIFY_CANDIDATE_CALLS_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/inputs/named_tensor.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// All inputs of a trial, under the name of the request's op. They refer to the
// trial. A chain of steps is one call with all its tokens.
Result<KernelInputs> CallInputs(const CaseRequest& request, const Trial& trial);

// What has to be answered; the tensors have no memory.
std::vector<NamedOutput> CallOutputs(const std::vector<OutputSpec>& specs);

// XXH3-128 over op, scalars, masks, and names, types, shapes and elements of
// the tensors. Of inputs that are taken from the call before, `before` stands
// in place of their elements: that call's digest.
std::string CallDigest(const KernelInputs& inputs,
                       const std::vector<TakenInput>& taken,
                       const std::string& before);

// Whether a mask of every pair comes along with them, as the input
// `kMaskOfPairs`: where the op has one that is not too large.
inline constexpr const char* kMaskOfPairs = "mask.dense";
inline constexpr int64_t kMostMask = int64_t{1} << 26;  // elements
bool BringsMask(const KernelInputs& inputs);

// The tensors as a safetensors file, dense in logical order, those in `taken`
// left out. Errors: it cannot be written.
Status WriteInputs(const KernelInputs& inputs,
                   const std::vector<TakenInput>& taken,
                   const std::string& case_line, const std::string& path);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_CALLS_CALL_H_
