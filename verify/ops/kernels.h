// How one of our own kernels runs for a trial, and what it reports about the
// run.
#ifndef LOCKSTEP_VERIFY_OPS_KERNELS_H_
#define LOCKSTEP_VERIFY_OPS_KERNELS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/run_outcome.h"
#include "verify/ops/outputs.h"

namespace lockstep::verify {

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

// Whose word a host's `seconds` are.
enum class Teller : uint8_t {
  kNone,    // none are told
  kHost,    // the program lockstep-host, with its own clock around the kernel
  kKernel,  // the kernel, or a host that others wrote
  kDevice,  // likewise, of a device's clock, and the host waited for the device
};

// What really ran, as opposed to what was asked for.
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
  // Of the kernel alone, where its host has measured that: the clock around a
  // host's call includes the wire.
  std::optional<double> seconds{};
  // Likewise: processor time of one thread that waited for nothing but its turn
  // on a core. None where it had company, or waited for a device.
  std::optional<double> processor_seconds{};
  Teller teller = Teller::kNone;
  // Of a host's calls, by the judge's clock: from the message to the answer.
  std::optional<double> call_seconds{};

  int64_t Count(const std::string& name) const;
};

// A trial's kernels of our own, right and wrong.
class TrialKernels {
 public:
  virtual ~TrialKernels() = default;

  virtual RunOutcome RunReference(const OutputSet& outputs,
                                  Execution* execution) const;
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
  // Emulated kernels: a correct one of common precision, for rules that
  // compare with one, and specs of candidates known to be wrong somewhere.
  virtual void RunBaseline(const OutputSet& outputs) const;
  // Spec, same arithmetic.
  virtual const char* CorrectKernel() const { return "builtin:reference"; }
  virtual std::span<const char* const> Canaries() const { return {}; }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_KERNELS_H_
