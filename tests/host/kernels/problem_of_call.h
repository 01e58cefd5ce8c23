// Calls of lockstep/candidate.h as problems of reference/contract/, so that our
// own kernels can come in through the door of others.
#ifndef LOCKSTEP_TESTS_HOST_KERNELS_PROBLEM_OF_CALL_H_
#define LOCKSTEP_TESTS_HOST_KERNELS_PROBLEM_OF_CALL_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/attention_backward.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/attention_merge.h"
#include "reference/contract/attention_pages.h"
#include "reference/contract/attention_varlen.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/mamba3_scan_backward.h"
#include "reference/contract/ssd_scan.h"
#include "verify/host/include/lockstep/candidate.h"

namespace lockstep::tests {

// Dense masks that index lists make, of calls that are alive.
using MadeMasks = std::list<std::vector<uint8_t>>;

struct AttentionCall {
  AttentionForwardProblem problem;
  AttentionForwardInputs inputs;
  AttentionForwardOutputs outputs;
  std::optional<KeyPages> pages;  // k and v of the inputs lead there then
  // A ragged batch: the tensors are as in CheckVarlen.
  std::optional<VarlenRows> varlen;
  MadeMasks made;
};
// Views of the call's memory, and of masks made of lists. Errors: Validate's.
Status ProblemOf(const lockstep_attention_forward_call& call,
                 AttentionCall* to);

struct BackwardCall {
  AttentionBackwardProblem problem;
  AttentionBackwardInputs inputs;
  AttentionBackwardOutputs outputs;
  AttentionForwardOutputs own;  // null: is not asked for
  // A ragged batch: the tensors are as in CheckVarlen.
  std::optional<VarlenRows> varlen;
  MadeMasks made;
};
Status ProblemOf(const lockstep_attention_backward_call& call,
                 BackwardCall* to);

struct MergeCall {
  AttentionMergeProblem problem;
  AttentionMergeInputs inputs;
  AttentionMergeOutputs outputs;
};
Status ProblemOf(const lockstep_attention_merge_call& call, MergeCall* to);

struct ScanCall {
  Mamba3ScanProblem problem;
  Mamba3ScanInputs inputs;
  Mamba3ScanOutputs outputs;
};
Status ProblemOf(const lockstep_mamba3_scan_call& call, ScanCall* to);

struct ScanBackwardCall {
  Mamba3ScanBackwardProblem problem;
  Mamba3ScanBackwardInputs inputs;
  Mamba3ScanBackwardOutputs outputs;
};
Status ProblemOf(const lockstep_mamba3_scan_backward_call& call,
                 ScanBackwardCall* to);

struct SsdCall {
  SsdScanProblem problem;
  SsdScanInputs inputs;
  SsdScanOutputs outputs;
};
Status ProblemOf(const lockstep_ssd_scan_call& call, SsdCall* to);

// Refuses the call with the error as its reason.
int Refuse(const Status& status, lockstep_receipt* receipt);

// Answers the call by run(asked), which returns a Status.
template <typename Asked, typename Call, typename Run>
int Serve(const Call& call, lockstep_receipt* receipt, const Run& run) {
  Asked asked;
  Status status = ProblemOf(call, &asked);
  if (status.ok()) status = run(asked);
  return status.ok() ? LOCKSTEP_DONE : Refuse(status, receipt);
}

// The value of KEY=VALUE among the arguments of lockstep_open; empty: absent.
std::string ArgumentOf(int argc, const char* const* argv, const char* key);

}  // namespace lockstep::tests

#endif  // LOCKSTEP_TESTS_HOST_KERNELS_PROBLEM_OF_CALL_H_
