// How mild a known bug may be and still be found: its dial, turned down.
#ifndef LOCKSTEP_TESTS_POWER_DIALS_DIALS_H_
#define LOCKSTEP_TESTS_POWER_DIALS_DIALS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "tests/power/dials/curves.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {

struct DialRow {
  const MutantInfo* info = nullptr;
  // The least count of keys, rescales or growth that a proof tier finds in
  // 1..4096, or the most bits in 1..23; 0: none.
  int64_t mildest = 0;
  std::string tier;  // that finds it
  std::string line;  // there
};

// Every mutant of attention with a dial, as a bf16 flash kernel has it, on
// these cases and their probes; what is worse is taken to be found, too.
// Errors: a line that is no case.
Result<std::vector<DialRow>> MeasureDials(const std::vector<std::string>& lines,
                                          int threads);

// "dial attn.drop_last_key: 1 keys by cancel on LINE", one line each.
std::string DialsText(const std::vector<DialRow>& rows);
std::string DialsJson(const std::vector<DialRow>& rows,
                      const std::vector<DialCurve>& curves);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_DIALS_DIALS_H_
