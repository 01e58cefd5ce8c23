// From a case to the tensors of attention_backward: those of attention_forward,
// the o and lse that the forward op makes of them, and cotangents.
#ifndef LOCKSTEP_VERIFY_INPUTS_ATTENTION_BACKWARD_DATA_H_
#define LOCKSTEP_VERIFY_INPUTS_ATTENTION_BACKWARD_DATA_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_backward.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/case.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/pick.h"
#include "verify/inputs/materialise.h"
#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

// Problem and inputs of a case, with the memory behind the views. Moving keeps
// the views good.
struct AttentionBackwardData {
  AttentionBackwardProblem problem;
  AttentionBackwardInputs inputs;  // its `forward` is forward.inputs

  AttentionForwardData forward;
  LaneTensor o, d_o;
  LaneTensor lse, dlse;  // [b, h, s, 1], f32; dlse is empty without one
  OwnForward own;        // what kernels are asked for, too

  // Of every byte, guard zones and padding included.
  std::string StorageDigest() const;
};

// o and lse have the forward op's own bits, by whichever path they are computed
// here. With a poison:masked term, o and do of queries that see nothing hold
// NaN and infinities, too. Errors: those of Materialise.
Result<AttentionBackwardData> MaterialiseAttentionBackward(
    const Case& c, const MaterialiseOptions& options);

// Batch row, query head and query.
using QueryPlace = std::array<int64_t, 3>;

// Lists the queries that see no key.
std::vector<QueryPlace> EmptyQueries(const AttentionBackwardData& data);

// o and lse again, after q, k, v or the problem have been changed.
Status RunForward(AttentionBackwardData* data);

// A second copy, which can be changed and judged separately. Errors: memory.
Result<AttentionBackwardData> Clone(const AttentionBackwardData& data);

// Part of them, with the o and lse that they have there.  Errors: memory.
Result<AttentionBackwardData> PickGradients(const AttentionBackwardData& from,
                                            const AttentionPick& pick,
                                            AttentionForwardCase* to);

// Names, order and meaning of tensors and scalars: docs/wire.md.
KernelInputs NameInputs(const AttentionBackwardProblem& problem,
                        const AttentionBackwardInputs& inputs);
// `own`: of the kernel's forward pass, as own_o and own_lse; null: not there.
std::vector<NamedOutput> NameOutputs(const AttentionBackwardOutputs& outputs,
                                     const AttentionForwardOutputs& own = {});

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_ATTENTION_BACKWARD_DATA_H_
