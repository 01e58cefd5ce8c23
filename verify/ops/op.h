// What an op brings so that it can be judged: a Trial, which is one of its
// cases made concrete. Everything above (tiers, invariance, power, reports)
// knows outputs as named tensors and the truth as rows of bits. What only some
// readers of a trial need is in parts, with a header each.
#ifndef LOCKSTEP_VERIFY_OPS_OP_H_
#define LOCKSTEP_VERIFY_OPS_OP_H_

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/inputs/materialise.h"
#include "verify/inputs/named_tensor.h"
#include "verify/ops/outputs.h"

namespace lockstep::verify {

class TrialEnvelopes;   // verify/ops/envelopes.h
class TrialFacts;       // verify/ops/facts.h
class TrialFaults;      // verify/ops/faults.h
class TrialKernels;     // verify/ops/kernels.h
class TrialLaws;        // verify/ops/laws.h
class TrialPictures;    // verify/ops/pictures.h
class TrialWants;       // verify/ops/wants.h
struct BlockPlanScene;  // verify/tables/scene.h
struct NumericProfile;  // verify/profile/profile.h

// What an op may say of a trial beyond its rows. Null: it says nothing.
struct TrialParts {
  const TrialKernels* kernels = nullptr;
  const TrialEnvelopes* envelopes = nullptr;
  const TrialLaws* laws = nullptr;
  const TrialFaults* faults = nullptr;
  const TrialFacts* facts = nullptr;
  const TrialPictures* pictures = nullptr;
  const TrialWants* wants = nullptr;
  // Of an op whose answers are tables, of which many are right: what a planner
  // is asked, and the mask that its tables are judged by. Null: answers are
  // the outputs, and all else speaks of them.
  const BlockPlanScene* scene = nullptr;
};

// One case made concrete: inputs in memory, truth and candidates on demand.
class Trial {
 public:
  virtual ~Trial() = default;

  const std::vector<OutputSpec>& outputs() const { return outputs_; }
  // Poisoned, with the strides of outputs(). Errors: not enough memory.
  Result<OutputSet> Allocate(int64_t shift) const;

  // The parts that the op has; the others answer that there is nothing.
  const TrialKernels& kernels() const;
  const TrialEnvelopes& envelopes() const;
  const TrialLaws& laws() const;
  const TrialFaults& faults() const;
  const TrialFacts& facts() const;
  const TrialPictures& pictures() const;
  const TrialWants& wants() const;
  const BlockPlanScene* scene() const { return parts().scene; }

  // Its inputs by name, for code that is written for all ops. They refer to the
  // trial.
  virtual KernelInputs Inputs() const = 0;
  // Calls of a kernel that make the outputs, one after the other: 1, unless the
  // op is a chain of steps.
  virtual int64_t Calls() const { return 1; }
  // Call n with its part of `outputs`, which Allocate made and the calls before
  // have written. Refers to both.  Requires: 0 <= n < Calls().
  virtual KernelCall Call(int64_t n, const OutputSet& outputs) const;
  // Digests of the logical contents of all inputs, and of every byte in memory,
  // with guards and padding. They are equal before and after a call that left
  // the inputs alone.
  virtual std::string InputDigest() const;
  virtual std::string StorageDigest() const { return InputDigest(); }

  // The truth, row by row. Safe to call from several threads.
  virtual void ReferenceRow(int64_t row, RowBits* bits) const = 0;
  // Multiply-adds of the most expensive row.
  virtual int64_t RowCost() const = 0;
  virtual int64_t rows() const { return outputs()[0].lines(); }
  // The lines of an output that a row holds, ascending.
  virtual std::vector<int64_t> Lines(size_t output, int64_t row) const {
    (void)output;
    return {row};
  }

 protected:
  explicit Trial(std::vector<OutputSpec> outputs)
      : outputs_(std::move(outputs)) {}

 private:
  virtual TrialParts parts() const { return {}; }

  std::vector<OutputSpec> outputs_;
};

// The trial's inputs with what its case needs (TrialWants::NeededWants), as
// files and calls have them. Errors: memory.
Result<KernelInputs> HandedInputs(const Trial& trial);

// Index of channel `c` of line `line`.
std::array<int64_t, 4> LineIndex(const OutputSpec& spec, int64_t line,
                                 int64_t c);

// `options` for the trial of a kernel that claims this; null: exact bits.
MaterialiseOptions OptionsFor(const NumericProfile* claims,
                              MaterialiseOptions options = {});

// What this room knows of an op.
struct OpClaims;  // verify/ops/claims.h

struct TrialRow {
  // Requires, of all three: ValidateCase passes.
  std::vector<OutputSpec> (*outputs)(const Case&);
  Result<std::unique_ptr<Trial>> (*open)(const Case&,
                                         const MaterialiseOptions&);
  // The case with the inputs of every probe that proves something for it
  // under the profile; none for a case that is a probe.
  std::vector<Case> (*probe_cases)(const Case&, const NumericProfile&);
  // Whether answers are judged by what a profile claims of their arithmetic.
  bool claims = true;
  // The pairs of calls that claims of bits are judged by; null: there are none.
  const OpClaims& (*pairs)() = nullptr;
};

// An op adapter is a Trial that opens itself from a case.
template <typename T>
concept VerifiableOp =
    std::derived_from<T, Trial> &&
    requires(const Case& c, const MaterialiseOptions& options,
             const NumericProfile& profile) {
      { T::Outputs(c) } -> std::same_as<std::vector<OutputSpec>>;
      { T::Open(c, options) } -> std::same_as<Result<std::unique_ptr<Trial>>>;
      { T::ProbeCases(c, profile) } -> std::same_as<std::vector<Case>>;
    };

template <VerifiableOp T>
constexpr TrialRow MakeTrialRow() {
  return {&T::Outputs, &T::Open, &T::ProbeCases};
}

// The row of the case's op. Errors: the op cannot be verified yet.
Result<TrialRow> TrialRowOf(const Case& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_OP_H_
