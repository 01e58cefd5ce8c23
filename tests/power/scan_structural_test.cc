// Scans of wrong structure at the lengths that people run: a defect that a
// short case shows may hide behind the wider bounds of a long one. 14 s in a
// release build, minutes under a sanitizer, hence apart from scan_judge_test.
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/power/lengths/mamba3_scan.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {
namespace {

TEST(ScanMutants, StructuralOnesAreProvedWrongAtRealLengths) {
  int tried = 0;
  for (const MutantInfo& info : Mutants()) {
    if (!IsStructural(info)) continue;
    for (const int64_t length : {1024, 4096}) {
      const Result<KillRow> row = TryScanMutantAt(info, length, 1);
      ASSERT_TRUE(row.ok()) << info.name << row.message();
      EXPECT_TRUE(row->Killed()) << info.name << " " << row->by;
    }
    ++tried;
  }
  EXPECT_GE(tried, 80);
}

}  // namespace
}  // namespace lockstep::verify
