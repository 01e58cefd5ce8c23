// What an op brings so that it can be judged: a Trial, which is one of its
// cases made concrete. Everything above (tiers, invariance, power, reports)
// knows outputs as named tensors and the truth as rows of bits.
#ifndef LOCKSTEP_VERIFY_OPS_OP_H_
#define LOCKSTEP_VERIFY_OPS_OP_H_

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
#include "verify/allowed/result.h"
#include "verify/base/run_outcome.h"
#include "verify/base/tensor.h"
#include "verify/case/case.h"
#include "verify/inputs/materialise.h"
#include "verify/inputs/named_tensor.h"
#include "verify/ops/allowed.h"
#include "verify/ops/outputs.h"
#include "verify/profile/profile.h"
#include "verify/tables/scene.h"

namespace lockstep::verify {

// Multiply-adds of a case above which its laws are not tried: each has inputs
// of its own.
inline constexpr int64_t kLawWork = int64_t{1} << 28;

// How much of a row's error each key can be blamed for.
struct KeyErrors {
  // The share, in [0, 1], of the row's squared error that another weight of
  // this key alone explains.
  std::vector<double> share;
  std::vector<bool> visible;
  // The key has nearly all weight of the row, by right or in what was produced.
  std::vector<bool> alone;
  // The key has a good part of the row's weight by right. Then every other
  // key's error points along it, too: it is what they all lose or gain to.
  std::vector<bool> heavy;
};

// One way to run a candidate that must not change a bit. Absent: the
// candidate's own choice.
struct Variation {
  std::string check;  // "repeat", "threads", "tiles", "targets", ...
  std::optional<std::string> target;
  std::optional<int> threads;
  std::optional<std::pair<int64_t, int64_t>> tile;  // rows x keys
  std::optional<bool> native_dot;
  std::optional<int64_t> chunk;  // of a scan in matrices; absent: exact
  std::optional<int> splits;     // parts of the keys, of a kernel that takes it
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
// Whose word a host's `seconds` are.
enum class Teller : uint8_t {
  kNone,    // none are told
  kHost,    // the program lockstep-host, with its own clock around the kernel
  kKernel,  // the kernel, or a host that others wrote
  kDevice,  // likewise, of a device's clock, and the host waited for the device
};

struct Execution {
  std::string backend;          // "optimized", "reference", "files"
  std::string target;           // instruction set; empty where none
  int threads = 0;              // 0: not known
  std::string plan;             // Plan::ToString(), or empty
  std::string fallback_reason;  // empty iff the requested backend ran
  std::string products{};       // of order=amx: who formed them, and if not the
                                // matrix unit, why
  std::string untrue{};         // what of this cannot be so, in one line
  std::vector<Counter> counters;  // tiles_*, rows_*
  // Of the kernel alone, where whoever ran it has measured that: the clock
  // around a host's call has the wire in it.
  std::optional<double> seconds{};
  // Likewise: processor time of one thread that waited for nothing but its turn
  // on a core. None where it had company, or waited for a device.
  std::optional<double> processor_seconds{};
  Teller teller = Teller::kNone;
  // Of a host's calls, by the judge's clock: from the message to the answer.
  std::optional<double> call_seconds{};

  int64_t Count(const std::string& name) const;
};

// A trivial answer: a case that cannot tell it from the truth proves little.
struct NullCandidate {
  std::string name;
  std::function<void(int64_t row, RowBits*)> row;
};

// One fault of a kind, planted once into the right answer: inputs on which an
// answer with it would pass are no evidence against faults of that kind.
struct PlantedFault {
  std::string kind;  // "key", "v_row", "channel", "kv_head", "lse", ...
  std::string what;  // one line: "row 7 does not see key 4095"
  // Rows of the truth that differ from the right answer, most telling first.
  std::vector<int64_t> rows;
  std::function<void(int64_t row, RowBits*)> row;
};

// A property of the problem for receipts.
struct Fact {
  std::string name;
  std::string value;
  bool number = false;
};

// The lane that the products of a problem take: which instructions of a
// machine are a limit for it.
enum class WorkLane : uint8_t {
  kF32,
  kBf16,        // pairs, in one chain (N3, N5)
  kBf16Blocks,  // order=amx (N20)
};

// What a problem asks of whoever solves it, whatever the algorithm does for
// it: what benchmarks count. Invisible pairs are no work.
struct Work {
  double flop = 0;   // a multiply-add is two
  double units = 0;  // what is counted: visible pairs, tokens of all heads
  const char* unit = "";
  WorkLane lane = WorkLane::kF32;
};

class Trial;

// A line of an output of one call, and of the case's own call.
struct LinePair {
  int64_t here = 0;
  int64_t own = 0;
};

// An input that is an output of another call.
struct TakenInput {
  std::string input;
  std::string output;
};

// One call of a law.
struct LawCall {
  std::unique_ptr<Trial> trial;
  // Per output: the lines that agree.
  std::vector<std::vector<LinePair>> kept;
  // Takes what the call before has left into the inputs; null: nothing.
  std::function<void(const OutputSet& before)> take;
  // What that is, by name.
  std::vector<TakenInput> taken{};
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
  // Per output: +0 and -0 are one. None: of no output.
  std::vector<bool> zeros_alike;
  // What it asks in another form that a kernel need not take.
  bool may_be_refused = false;
  std::vector<LawCall> calls;  // none: it does not hold for these inputs
};

// One case made concrete: inputs in memory, truth and candidates on demand.
class Trial {
 public:
  virtual ~Trial() = default;

  virtual const std::vector<OutputSpec>& outputs() const = 0;
  // Poisoned, dense unless the op says otherwise; errors: not enough memory.
  virtual Result<OutputSet> Allocate(int64_t shift) const;

  // Of an op whose answers are tables, of which many are right: what a planner
  // is asked, and the mask that its tables are judged by. Null: answers are
  // the outputs, and all below speaks of them.
  virtual const BlockPlanScene* scene() const { return nullptr; }

  // Its inputs by name, for whatever knows no op. They refer to the trial.
  virtual KernelInputs Inputs() const = 0;
  // Calls of a kernel that make the outputs, one after the other: 1, unless the
  // op is a chain of steps.
  virtual int64_t Calls() const { return 1; }
  // Call n with its part of `outputs`, which Allocate made and the calls before
  // have written. Refers to both.  Requires: 0 <= n < Calls().
  virtual KernelCall Call(int64_t n, const OutputSet& outputs) const;
  // Adds what a host wants made of the inputs (docs/wire.md, "What a host may
  // want"). Returns why it cannot be; empty: it is done.
  virtual std::string AddWanted(const std::string& want,
                                KernelInputs* inputs) const {
    (void)inputs;
    return "'" + want + "' has no meaning for this op";
  }

  // Of the logical contents of all inputs, and of every byte in memory, with
  // guards and padding: equal before and after a call that left them alone.
  virtual std::string InputDigest() const;
  virtual std::string StorageDigest() const { return InputDigest(); }
  virtual std::vector<Fact> Facts() const { return {}; }
  // None: no work is counted for the op, and its rows have times only.
  virtual std::optional<Work> CountWork() const { return std::nullopt; }

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
  virtual std::vector<int64_t> TellingRows() const { return {0}; }

  virtual RunOutcome RunReference(const OutputSet& outputs,
                                  Execution* execution) const = 0;
  // Where an op has no optimized path, the reference, which says so.
  virtual RunOutcome RunOptimized(const Variation& how,
                                  const OutputSet& outputs,
                                  Execution* execution) const;
  // Ways to run the optimized path under `fixed`, most telling first.
  virtual std::vector<Variation> OptimizedVariations(
      const Variation& fixed) const {
    (void)fixed;
    return {};
  }

  // Names of the laws that have a meaning for this problem.
  virtual std::vector<std::string> Laws() const { return {}; }
  // One of them; what it draws follows from `salt`. Errors: memory.
  virtual Result<Law> MakeLaw(const std::string& name, uint64_t salt) const {
    (void)salt;
    return Status::Error("there is no law '" + name + "'");
  }

  // Those that have a meaning for this problem. They keep references to the
  // trial.
  virtual std::vector<NullCandidate> Nulls() const { return {}; }

  // Single faults of every kind that this problem can have, at some places that
  // follow from `salt`. The kinds of a case and of its probes are the same.
  // They keep references to the trial.
  virtual std::vector<PlantedFault> Faults(uint64_t salt) const {
    (void)salt;
    return {};
  }

  // Why the profile claims nothing about this trial; empty if it does. An op
  // without an envelope takes profiles of exact bits only.
  virtual std::string WhyUndeclared(const NumericProfile& profile) const;
  // The envelope of a profile that claims no exact bits, for these rows.
  virtual std::unique_ptr<AllowedResults> Envelope(
      const NumericProfile& profile, std::vector<int64_t> rows,
      int threads) const {
    (void)profile, (void)rows, (void)threads;
    return nullptr;
  }
  // Lines of an output of which the profile says nothing, whatever was
  // produced: structural laws leave them out.
  virtual std::vector<int64_t> OpenLines(const NumericProfile& profile,
                                         size_t output) const {
    (void)profile, (void)output;
    return {};
  }
  // Per output, what no element of any row can leave under the profile: weak,
  // but no more than the sizes of the inputs has to be known for it. None:
  // nothing is known of any.
  virtual std::vector<ValueSet> Ranges(const NumericProfile& profile) const {
    (void)profile;
    return {};
  }
  // The first witness of rows under a profile that claims no exact bits. Null:
  // it would vouch for none, costs too much, or cannot run here.
  virtual std::unique_ptr<FirstWitness> Witness(const NumericProfile& profile,
                                                int threads) const {
    (void)profile, (void)threads;
    return nullptr;
  }
  // The exact expectation; null where the inputs are no probe's, or prove
  // nothing under the profile.
  virtual std::unique_ptr<AllowedResults> Probe(
      const NumericProfile& profile, std::vector<int64_t> rows) const {
    (void)profile, (void)rows;
    return nullptr;
  }

  // For pictures. Places along axis `down` of an output where a segment, or a
  // run, begins; 0 is none. `at`: an element of the part that is drawn.
  virtual std::vector<int64_t> SegmentStarts(
      size_t output, const std::array<int64_t, 4>& at) const {
    (void)output, (void)at;
    return {};
  }
  // Whether the lines of a wrong row can be blamed on keys, and on which. The
  // row's error and truth, channel by channel. Empty: not known.
  virtual KeyErrors ErrorByKey(size_t output, const std::array<int64_t, 4>& at,
                               std::span<const double> error,
                               std::span<const double> truth) const {
    (void)output, (void)at, (void)error, (void)truth;
    return {};
  }

  // Emulated kernels: a correct one of common precision, for rules that
  // compare with one, and specs of candidates known to be wrong somewhere.
  virtual void RunBaseline(const OutputSet& outputs) const;
  // Spec, same arithmetic.
  virtual const char* CorrectKernel() const { return "builtin:reference"; }
  virtual std::span<const char* const> Canaries() const { return {}; }
};

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
