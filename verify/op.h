// What an op brings so that it can be judged: a Trial, which is one of its
// cases made concrete. Everything above (tiers, invariance, power, reports)
// knows outputs as named tensors and the truth as rows of bits.
#ifndef LOCKSTEP_VERIFY_OP_H_
#define LOCKSTEP_VERIFY_OP_H_

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/case.h"
#include "verify/envelope_result.h"
#include "verify/inputs.h"
#include "verify/profile.h"
#include "verify/tensor.h"

namespace lockstep::verify {

class Candidate;
struct CaseRequest;
struct CaseResult;
struct JudgeOptions;

// One output tensor. A *line* is its last axis, line l is
// (l / (n1 * n2), l / n2 % n1, l % n2). A *row* is what the truth computes at
// once: of attention one line of every output, of a scan all lines of one head
// of one run.
struct OutputSpec {
  std::string name;
  Lane lane = Lane::kF32;
  std::array<int64_t, 4> shape{};
  std::array<const char*, 4> axes{};  // for messages: "b", "h", "i", "c"
  // Its shape in files, where that is another.
  std::vector<int64_t> file_shape{};

  int64_t lines() const { return shape[0] * shape[1] * shape[2]; }
};

// Memory for the outputs of one run, in the order of Trial::outputs().
struct OutputSet {
  std::vector<LaneTensor> tensors;
};

// The bits of one row of every output: [output][line, channel].
using RowBits = std::vector<std::vector<uint32_t>>;

// One way to run a candidate that must not change a bit. Absent: the
// candidate's own choice.
struct Variation {
  std::string check;  // "repeat", "threads", "tiles", "targets", ...
  std::optional<std::string> target;
  std::optional<int> threads;
  std::optional<std::pair<int64_t, int64_t>> tile;  // rows x keys
  std::optional<bool> native_dot;
  std::optional<int64_t> chunk;  // of a scan in matrices; absent: exact
  int64_t shift = 0;             // elements by which every buffer is moved

  // "@AVX2,tile=3x16,threads=2,native=0,chunk=8,shift=5": the part of a
  // candidate spec that asks for it.
  std::string Suffix() const;
};

// A named count of what really ran.
struct Counter {
  std::string name;
  int64_t value = 0;
};

// Misalignments tried, in elements.
inline constexpr int64_t kShifts[] = {1, 7};

// What really ran, as opposed to what was asked for.
struct Execution {
  std::string backend;            // "optimized", "reference", "files"
  std::string target;             // instruction set; empty where none
  int threads = 0;                // 0: not known
  std::string plan;               // Plan::ToString(), or empty
  std::string fallback_reason;    // empty iff the requested backend ran
  std::vector<Counter> counters;  // tiles_*, rows_*

  int64_t Count(const std::string& name) const;
};

// What came of asking a candidate for outputs.
struct RunOutcome {
  enum class State : uint8_t {
    kRan,
    kUnsupported,  // on this machine: `message` says why
    kMismatch,     // output `tensor` has another shape or lane
    kError,        // the candidate broke: `message` says how
  };
  State state = State::kRan;
  std::string message;
  std::string tensor;
};

// What a numeric profile allows the rows of a trial to be.
class AllowedResults {
 public:
  virtual ~AllowedResults() = default;

  // Rows judged, ascending.
  virtual const std::vector<int64_t>& rows() const = 0;
  // One result per output that is judged.
  virtual std::vector<EnvelopeResult> Judge(
      const OutputSet& produced) const = 0;
  // Whether output 0 of rows()[n] may have these bits.
  virtual bool Allows(size_t n, const std::vector<uint32_t>& bits) const = 0;
  // Whether anything about that row is claimed.
  virtual bool Bounds(size_t n) const = 0;
  // Output 0 in real numbers, [row][channel]; empty where only sets are known.
  virtual std::span<const double> truth() const = 0;
};

// A trivial answer: a case that cannot tell it from the truth proves little.
struct NullCandidate {
  std::string name;
  std::function<void(int64_t row, RowBits*)> row;
};

// A property of the problem for receipts.
struct Fact {
  std::string name;
  std::string value;
  bool number = false;
};

class Trial;

// A line of an output of one call, and of the case's own call.
struct LinePair {
  int64_t here = 0;
  int64_t own = 0;
};

// One call of a law.
struct LawCall {
  std::unique_ptr<Trial> trial;
  // Per output: the lines that agree.
  std::vector<std::vector<LinePair>> kept;
  // Takes what the call before has left into the inputs; null: nothing.
  std::function<void(const OutputSet& before)> take;
};

// Calls, one after the other, whose answers agree in part with the case's own,
// whatever the truth.
struct Law {
  std::string name;  // "causality", "split", ...
  // No candidate may break it by a bit. Otherwise those that claim exact bits
  // may not; the others have each call within its own envelope.
  bool structural = false;
  // Per output: elements are the case's times 2^exponent, where both are
  // normal or zero. None: they are equal.
  std::vector<int> exponents;
  std::vector<LawCall> calls;  // none: it does not hold for these inputs
};

// One case made concrete: inputs in memory, truth and candidates on demand.
class Trial {
 public:
  virtual ~Trial() = default;

  virtual const std::vector<OutputSpec>& outputs() const = 0;
  // Poisoned; errors: not enough memory.
  virtual Result<OutputSet> Allocate(int64_t shift) const = 0;

  virtual std::string InputDigest() const = 0;
  virtual std::string StorageDigest() const = 0;
  virtual std::vector<Fact> Facts() const = 0;

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
  // Rows where faults gather, most telling first: the sample begins with them.
  virtual std::vector<int64_t> TellingRows() const = 0;

  virtual RunOutcome RunReference(const OutputSet& outputs,
                                  Execution* execution) const = 0;
  virtual RunOutcome RunOptimized(const Variation& how,
                                  const OutputSet& outputs,
                                  Execution* execution) const = 0;
  // Ways to run the optimized path under `fixed`, most telling first.
  virtual std::vector<Variation> OptimizedVariations(
      const Variation& fixed) const = 0;

  // Names of the laws that have a meaning for this problem.
  virtual std::vector<std::string> Laws() const { return {}; }
  // One of them; what it draws follows from `salt`. Errors: memory.
  virtual Result<Law> MakeLaw(const std::string& name, uint64_t salt) const {
    (void)salt;
    return Status::Error("there is no law '" + name + "'");
  }

  // Those that have a meaning for this problem. They keep references to the
  // trial.
  virtual std::vector<NullCandidate> Nulls() const = 0;

  // Why the profile claims nothing about this trial; empty if it does.
  virtual std::string WhyUndeclared(const NumericProfile& profile) const = 0;
  // The envelope of a profile that claims no exact bits, for these rows.
  virtual std::unique_ptr<AllowedResults> Envelope(
      const NumericProfile& profile, std::vector<int64_t> rows,
      int threads) const = 0;
  // The exact expectation; null where the inputs are no probe's, or prove
  // nothing under the profile.
  virtual std::unique_ptr<AllowedResults> Probe(
      const NumericProfile& profile, std::vector<int64_t> rows) const = 0;

  // Emulated kernels: a correct one of common precision, for rules that
  // compare with one, and specs of candidates known to be wrong somewhere.
  virtual void RunBaseline(const OutputSet& outputs) const = 0;
  virtual const char* CorrectKernel() const = 0;  // spec, same arithmetic
  virtual std::span<const char* const> Canaries() const = 0;
};

// Index of channel `c` of line `line`.
std::array<int64_t, 4> LineIndex(const OutputSpec& spec, int64_t line,
                                 int64_t c);

// An op adapter is a Trial that opens itself from a case.
template <typename T>
concept VerifiableOp =
    std::derived_from<T, Trial> &&
    requires(const Case& c, const MaterialiseOptions& options,
             const NumericProfile& profile) {
      { T::kName } -> std::convertible_to<const char*>;
      { T::Outputs(c) } -> std::same_as<std::vector<OutputSpec>>;
      { T::Open(c, options) } -> std::same_as<Result<std::unique_ptr<Trial>>>;
      { T::ProbeCases(c, profile) } -> std::same_as<std::vector<Case>>;
    };

// One row of the op table.
struct Op {
  const char* name;
  // Requires: ValidateCase passes.
  std::vector<OutputSpec> (*outputs)(const Case&);
  Result<std::unique_ptr<Trial>> (*open)(const Case&,
                                         const MaterialiseOptions&);
  // The case with the inputs of every probe that proves something for it
  // under the profile; none for a case that is a probe.
  std::vector<Case> (*probe_cases)(const Case&, const NumericProfile&);
  // For an op whose right answers are not one set of bits: it judges, and
  // `open` only says whether its cases can be opened (the trial is null).
  CaseResult (*judge)(const CaseRequest&, Candidate&,
                      const JudgeOptions&) = nullptr;
};

template <VerifiableOp T>
constexpr Op MakeOp() {
  return {T::kName, &T::Outputs, &T::Open, &T::ProbeCases};
}

std::span<const Op> Ops();

// The row of the case's op. Errors: the op cannot be verified yet.
Result<Op> FindOp(const Case& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OP_H_
