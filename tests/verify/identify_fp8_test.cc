// What `lockstep identify` says of weights in e4m3, and of scales of v.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/verify/identify_questions.h"
#include "verify/candidate/candidate.h"
#include "verify/identify/identify.h"

namespace lockstep::verify {
namespace {

// Weights in e4m3 are reported with the scale that they have before they are
// rounded, and the place of the scale of v is seen.
TEST(IdentifyFp8, ReportsWeightsInE4m3WithTheirScale) {
  const struct {
    const char* kernel;
    const char* line;
    const char* place;  // of v's scale; empty: not seen
  } kKernels[] = {
      {"fp8-p-e4m3", "p = e4m3, p_scale = 256", "any"},
      {"fp8-fa3", "p = e4m3, p_scale = 256", "any"},
      {"fp8-cudnn", "p = e4m3, p_scale = 448", "any"},
      {"fp8-p-unscaled", "p = e4m3, p_scale = 1", "any"},
      {"fp8-l-rounded", "p = e4m3, p_scale = 256", "acc"},
      {"fp8-scale-in-p", "p = e4m3, p_scale = 1", "p"},
      {"fp8-scale-in-acc", "p = e4m3, p_scale = 256", "acc"},
      {"fp8-unfused", "p = e4m3, p_scale = 256", ""},
  };
  for (const auto& [kernel, line, place] : kKernels) {
    SCOPED_TRACE(kernel);
    const auto candidate = ParseCandidate(std::string("variant:") + kernel);
    ASSERT_TRUE(candidate.ok()) << candidate.message();
    const Identified found =
        AskedOf("attention_forward", *candidate.value(), Lane::kBf16);
    const FieldEvidence* p = found.Find("p");
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(p->word, Word::kReported) << IdentifiedText(found);
    EXPECT_EQ(p->line, line);
    EXPECT_EQ(found.profile.p, NumberType::kF32);
    const FieldEvidence* at = found.Find("vscale_at");
    EXPECT_EQ(at != nullptr, *place != 0);
    if (at == nullptr) continue;
    EXPECT_EQ(at->word, Word::kSeen) << IdentifiedText(found);
    EXPECT_EQ(ValueOf(found.profile, "vscale_at"),
              std::string(place) == "any" ? "" : place);
  }
}

}  // namespace
}  // namespace lockstep::verify
