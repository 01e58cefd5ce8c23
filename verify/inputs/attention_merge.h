// From an attention_merge case to its tensors: a pure function of the case (and
// of the files it pins), the same bits on every machine.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_MERGE_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_MERGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_merge.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/attention_merge/case.h"
#include "verify/case/case.h"
#include "verify/inputs/materialise.h"
#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

// Problem and inputs, with the memory behind the views. Moving keeps the views
// good.
struct AttentionMergeData {
  AttentionMergeProblem problem;
  AttentionMergeInputs inputs;

  LaneTensor o;    // [s, h, n, d]
  LaneTensor lse;  // [s, h, n, 1], f32

  // Of every byte, guard zones and padding included.
  std::string StorageDigest() const;
};

// Errors: ValidateCase, max_bytes, memory, files.
Result<AttentionMergeData> MaterialiseMerge(const Case& c,
                                            const MaterialiseOptions& options);

// The case's data with these parts in this order; a part may come twice. -1: a
// part that saw no key, with an o of `filler`. Layout: that of `to`.
//   Errors: memory, a part that `from` does not have.
Result<AttentionMergeData> PickParts(const AttentionMergeData& from,
                                     const std::vector<int64_t>& parts,
                                     double filler, AttentionMergeCase* to);

// Names, order and meaning of tensors and scalars: docs/wire.md.
KernelInputs NameInputs(const AttentionMergeProblem& problem,
                        const AttentionMergeInputs& inputs);
std::vector<NamedOutput> NameOutputs(const AttentionMergeOutputs& outputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_MERGE_H_
