// Correct kernels before the proof tiers, by the hundred thousand: none may be
// accused.
#ifndef LOCKSTEP_VERIFY_SELFTEST_ZOO_RUN_H_
#define LOCKSTEP_VERIFY_SELFTEST_ZOO_RUN_H_

#include <cstdint>

#include "verify/selftest/selftest.h"

namespace lockstep::verify {

// What came of one case.
struct ZooOutcome {
  bool judged = false;
  bool outside = false;   // a proof tier accuses it
  bool unlikely = false;  // statistics call it suspicious
  int64_t probes = 0;     // of the case, judged too
  ZooAlarm alarm;
};

// The op's correct kernels, each on a case of its own and on one of its probes;
// adds to the zoo's counts and times of `result`.
void TryZoo(const SelftestRow& op, const SelftestOptions& options,
            SelftestResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_ZOO_RUN_H_
