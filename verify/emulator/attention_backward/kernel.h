// One tiled kernel of attention's gradients, key tiles outer, that computes
// what a variant says, or, with a fault, what a broken kernel would. Slow,
// scalar, one thread.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_KERNEL_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_KERNEL_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "reference/contract/attention_backward.h"
#include "reference/contract/status.h"
#include "verify/emulator/attention_backward/faults.h"
#include "verify/emulator/attention_backward/lists/list_dial.h"
#include "verify/emulator/attention_backward/varlen/taken_gradients.h"
#include "verify/emulator/attention_forward/lists/taken_lists.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

struct GradVariant {
  // numeric.name is the variant's name; it is its honest profile, too.
  NumericProfile numeric;
  int64_t tile_q = 4;
  int64_t tile_kv = 4;
  bool descending = false;   // both kinds of tiles
  int64_t parts = 1;         // of each sum, added up at the end
  bool tiles_apart = false;  // a tile's sums begin at 0 and are then added
  // dk and dv of every head are sums of their own, rounded as between heads.
  // The group's dk and dv are the sums of these, in f32 or rounded after each
  // head.
  bool heads_apart = false;
  bool heads_descending = false;
  bool group_rounded = false;
  // Masked pairs take part with a weight of 0, as in products of whole tiles.
  bool mask_multiplies = false;

  const std::string& name() const { return numeric.name; }
};

// Correct kernels, each with its honest profile.
std::span<const GradVariant> GradZoo();
// Errors: an unknown name; the message lists the known ones.
Result<GradVariant> FindGradVariant(std::string_view name);

class GradEmulator {
 public:
  explicit GradEmulator(GradVariant variant, GradFault fault = GradFault::kNone)
      : variant_(std::move(variant)), fault_(fault) {}

  const GradVariant& variant() const { return variant_; }

  // Requires: Validate(problem, inputs, outputs).ok(). What a fault leaves out
  // is not written. `own`: the o and lse that the gradients are of; null: they
  // are not asked for.
  void Run(const AttentionBackwardProblem& problem,
           const AttentionBackwardInputs& inputs,
           const AttentionBackwardOutputs& outputs,
           const AttentionForwardOutputs& own = {}) const;
  // The same for a ragged batch, for a kernel with a bug of ragged batches. q,
  // k and v of `tokens` are as in CheckVarlen, and all else is as in Run.
  void RunVarlen(const AttentionBackwardProblem& problem,
                 const AttentionBackwardInputs& inputs,
                 const AttentionForwardInputs& tokens, const VarlenRows& rows,
                 const AttentionBackwardOutputs& outputs,
                 const AttentionForwardOutputs& own = {}) const;
  // The same for a kernel that reads lists. A bug of lists shows here alone.
  void RunListed(const AttentionBackwardProblem& problem,
                 const AttentionBackwardInputs& inputs,
                 const ListedKeys& listed,
                 const AttentionBackwardOutputs& outputs,
                 const AttentionForwardOutputs& own = {}) const;
  bool breaks_varlen() const { return BreaksVarlen(fault_); }
  bool breaks_lists() const { return BreaksLists(fault_); }

 private:
  void RunWith(GradFault fault, const AttentionBackwardProblem& problem,
               const AttentionBackwardInputs& inputs,
               const AttentionBackwardOutputs& outputs,
               const AttentionForwardOutputs& own) const;

  GradVariant variant_;
  GradFault fault_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_KERNEL_H_
