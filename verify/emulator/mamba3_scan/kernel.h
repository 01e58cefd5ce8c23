// A scan kernel that rounds where its profile says, or, with a fault, what a
// broken one would compute. Slow, scalar, one thread. Rounding sites: the
// fields of ScanNumeric.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_KERNEL_H_
#define LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_KERNEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "verify/emulator/mamba3_scan/faults.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Arithmetic (a profile, taken as what is done) and what it leaves open.
struct ScanVariant {
  NumericProfile numeric;  // its name is the variant's
  int64_t chunk = 4;       // tokens; profiles with form = chunked
  // Chunks are counted from the start of every run, not of the row: no run
  // begins inside one.
  bool grid_of_runs = false;
  bool backward = false;  // sums over channels in descending order
  bool fused = true;      // multiply-adds with one rounding
  // Masks within a run multiply by 0: NaN of later tokens of a chunk shows.
  bool mask_multiplies = false;
  // Reads no tau, has no look-ahead: right where tau is +infinity everywhere.
  bool ssd = false;

  const std::string& name() const { return numeric.name; }
};

class ScanEmulator {
 public:
  explicit ScanEmulator(ScanVariant variant, ScanDial dial = {});

  // y and the carry of every run.
  //   Requires: Validate(problem, inputs, outputs).ok(), an exported carry; its
  //   k and v may both be null.
  void Run(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
           const Mamba3ScanOutputs& outputs);

  const ScanVariant& variant() const { return variant_; }

 private:
  ScanVariant variant_;
  ScanDial dial_;
  std::vector<float> last_;  // y of the call before
  int64_t calls_ = 0;        // where runs may differ
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_KERNEL_H_
