// A merge of parts of attention that rounds where its profile says, or, with a
// fault, what a broken one would compute. Slow, scalar, one thread.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_KERNEL_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_KERNEL_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "reference/contract/attention_merge.h"
#include "reference/contract/status.h"
#include "verify/emulator/attention_merge/faults.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// How the parts come together.
enum class MergeForm : uint8_t {
  kTwoPass,      // the largest lse first, then all weights, one division
  kOnline,       // a maximum that rises, sums that are rescaled
  kOfMerged,     // the merged lse first, weights exp(lse_s - lse)
  kDivided,      // weights are divided by their sum before they meet o
  kPairs,        // part after part, o kept normalised
  kTree,         // neighbours first, then what came of them
  kDifferences,  // part after part: o - sigmoid(lse_s - lse) (o - o_s)
};

struct MergeVariant {
  NumericProfile numeric;
  MergeForm form = MergeForm::kTwoPass;
  int exp_bits = 24;         // of exp and of the logarithm's argument
  bool descending = false;   // parts from the last to the first
  bool fused = true;         // products and sums in one rounding
  bool reads_empty = false;  // o of a part that saw no key times 0

  const std::string& name() const { return numeric.name; }
};

// Correct kernels, each with its honest profile.
std::span<const MergeVariant> MergeZoo();
// Errors: an unknown name; the message lists the known ones.
Result<MergeVariant> FindMergeVariant(std::string_view name);

class MergeEmulator {
 public:
  explicit MergeEmulator(MergeVariant variant,
                         MergeFault fault = MergeFault::kNone);

  const MergeVariant& variant() const { return variant_; }

  // Requires: Validate(problem, inputs, outputs).ok(). What a fault leaves out
  // is not written.
  void Run(const AttentionMergeProblem& problem,
           const AttentionMergeInputs& inputs,
           const AttentionMergeOutputs& outputs) const;

 private:
  MergeVariant variant_;
  MergeFault fault_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_KERNEL_H_
