// Our kernels pass every case of the files that only tests read. Hundreds of
// verdicts: .ci/run waits for them, scripts/test.sh does not.
#include "gtest/gtest.h"
#include "tests/verify/judge_claims.h"

namespace lockstep::verify {
namespace {

TEST(CaseFiles, OurGradientsOfAttentionPass) {
  ExpectOursToPass("attention_backward", 150);
}

TEST(CaseFiles, OurGradientsOfTheScanPass) {
  ExpectOursToPass("mamba3_scan_backward", 200);
}

TEST(CaseFiles, OurMergesPass) { ExpectOursToPass("attention_merge", 70); }

TEST(CaseFiles, OurStateSpaceScanPasses) { ExpectOursToPass("ssd_scan", 70); }

}  // namespace
}  // namespace lockstep::verify
