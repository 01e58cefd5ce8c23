// Inputs of a scan made of another's: tokens, heads and runs chosen and put in
// order, without drawing anything anew.
#ifndef LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_PICK_H_
#define LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_PICK_H_

#include <cstdint>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/inputs/mamba3_scan.h"

namespace lockstep::verify {

// Where everything comes from; the order is that of the new inputs.
struct ScanPick {
  std::vector<int64_t> tokens;  // [row * length + t]: the same of the source
  std::vector<int64_t> heads;   // whole groups, or one head of a group each
  std::vector<int64_t> runs;    // of the carry
};

// Everything, where it is.
ScanPick PickAll(const Mamba3ScanData& from);

// The inputs of `to`: its rows, length, runs and whether there is a carry are
// its own, everything else as in `from`. A carry that `from` does not have is
// left for the caller to fill (poison). file_shape stays empty.
//   Errors: memory, a pick that leaves `from` or does not fill `to`.
Result<Mamba3ScanData> PickScan(const Mamba3ScanData& from,
                                const ScanPick& pick, const Mamba3ScanCase& to);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_PICK_H_
