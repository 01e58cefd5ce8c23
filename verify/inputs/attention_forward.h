// From a case to its tensors: a pure function of the case (and of the files it
// pins), the same bits on every machine. Counter-based: element e of tensor t
// depends on (gen, seed, t, e) only. Families: FillFamilies(), docs/cases.md.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_FORWARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/case.h"

namespace lockstep::verify {

struct MaterialiseOptions {
  // Elements by which every lane tensor starts behind a 64-byte boundary.
  int64_t alignment_shift = 0;
  // Where relative paths are looked for, in this order.
  std::vector<std::string> search_directories = {"."};
  // Refuse, before anything is allocated, a case whose EstimateBytes is more.
  int64_t max_bytes = INT64_MAX;
};

// Half of this machine's physical memory: the default budget of the tools.
int64_t DefaultMemoryBudget();

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
