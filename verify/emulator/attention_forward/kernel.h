// One tiled attention kernel that computes what a variant says, or, with a
// fault, what a broken kernel would. Slow, scalar, one thread.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_KERNEL_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_KERNEL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/attention_pages.h"
#include "verify/emulator/attention_forward/faults.h"
#include "verify/emulator/attention_forward/lists/taken_lists.h"
#include "verify/emulator/attention_forward/pages/taken_keys.h"
#include "verify/emulator/attention_forward/variant.h"
#include "verify/emulator/attention_forward/varlen/taken_rows.h"

namespace lockstep::verify {

struct RowResult;  // verify/emulator/attention_forward/row.h

// A kernel handle: what survives from call to call is what stale faults keep.
class AttentionEmulator {
 public:
  explicit AttentionEmulator(AttentionVariant variant, FaultDial dial = {});

  // o [batch, q_heads, q_len, value_dim], lse [batch, q_heads, q_len].
  //   With shift = integer and no fault: the contract's bits.
  //   `rows`: of [batch, q_heads, q_len], ascending, those that are computed
  //   and stored; empty: all.
  //   Requires: Validate(problem, inputs, outputs).ok().
  void Run(const AttentionForwardProblem& problem,
           const AttentionForwardInputs& inputs,
           const AttentionForwardOutputs& outputs,
           std::span<const int64_t> rows = {});
  // The same of keys and values in pages, which lie in the inputs, too. A
  // kernel without a bug of pages reads these.
  void RunPaged(const AttentionForwardProblem& problem,
                const AttentionForwardInputs& inputs, const KeyPages& pages,
                const AttentionForwardOutputs& outputs,
                std::span<const int64_t> rows = {});

  // The same for a ragged batch, for a kernel with a bug of ragged batches. q,
  // k and v of `tokens` are as in CheckVarlen, and all else is as in Run.
  // Kernels without such a bug read padded rows.
  void RunVarlen(const AttentionForwardProblem& problem,
                 const AttentionForwardInputs& tokens, const VarlenRows& varlen,
                 const AttentionForwardOutputs& outputs,
                 std::span<const int64_t> rows = {});

  // The same for a kernel with a bug of lists, which reads them. Kernels
  // without such a bug read the mask.
  void RunListed(const AttentionForwardProblem& problem,
                 const AttentionForwardInputs& inputs, const ListedKeys& listed,
                 const AttentionForwardOutputs& outputs,
                 std::span<const int64_t> rows = {});

  const AttentionVariant& variant() const { return variant_; }
  const FaultDial& dial() const { return dial_; }
  bool breaks_pages() const { return BreaksPages(dial_); }
  bool breaks_varlen() const { return BreaksVarlen(dial_); }
  bool breaks_lists() const { return BreaksLists(dial_); }

 private:
  // Run, once a bug has chosen its queries.
  void RunRead(const AttentionForwardProblem& asked,
               const AttentionForwardInputs& given,
               const AttentionForwardOutputs& outputs,
               std::span<const int64_t> rows);
  void Exchange(std::vector<RowResult>* stored);

  AttentionVariant variant_;
  FaultDial dial_;
  int64_t calls_ = 0;
  std::optional<double> first_cap_;
  std::vector<float> last_o_, last_lse_;  // of the call before
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_KERNEL_H_
