// From a case to its tensors: a pure function of the case (and of the files it
// pins), the same bits on every machine. Counter-based: element e of tensor t
// depends on (gen, seed, t, e) only. Families: FillFamilies(), docs/cases.md.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_H_

#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/case.h"
#include "verify/inputs/materialise.h"

namespace lockstep::verify {

// Problem and inputs of a case, with the memory behind the views. Moving keeps
// the views good.
struct AttentionForwardData {
  AttentionForwardProblem problem;
  AttentionForwardInputs inputs;

  LaneTensor q, k, v;
  GuardedBuffer q_seg, kv_seg, sink;
  std::vector<GuardedBuffer> dense_masks;

  // Of the logical contents of all inputs, payload counts included: DigestText
  // of one line "name shape digest" each. What a receipt names.
  std::string InputDigest() const;
  // Of every byte, guard zones and padding included: equal before and after a
  // call that left its inputs alone.
  std::string StorageDigest() const;
};

// Errors: ValidateCase, max_bytes, memory, files (absent, hostile, wrong
// shape, type or digest). One line each.
Result<AttentionForwardData> Materialise(const Case& c,
                                         const MaterialiseOptions& options);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_H_
