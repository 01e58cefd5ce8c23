// How long `lockstep identify` says a scan's chunks are.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/verify/identify_questions.h"
#include "verify/candidate/mutant_mamba3_scan.h"
#include "verify/candidate/mutant_mamba3_scan_backward.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/identify/mamba3_scan/chunk.h"

namespace lockstep::verify {
namespace {

// A kernel whose chunks begin at multiples of a length. Its exps are f32's, off
// by `error` of their own: those of one decay up, those of two down.
ChunkQuestions KernelOfChunk(int64_t chunk, double error = 0) {
  ChunkQuestions ask;
  ask.decays = [chunk, error](const std::vector<TwoDecays>& of_heads,
                              int64_t) -> Result<std::vector<Numbers>> {
    Numbers left;
    for (const TwoDecays& two : of_heads) {
      const bool one = two.first / chunk == two.second / chunk;
      const double off = one && two.a != 0 && two.b != 0 ? -error : error;
      const auto exp = [off](double x) {
        return static_cast<float>(std::exp(x) * (1 + off));
      };
      left.push_back(one ? exp(two.a + two.b) : exp(two.a) * exp(two.b));
    }
    return std::vector<Numbers>{left};
  };
  ask.by_state = [](int64_t) -> Result<bool> { return true; };
  return ask;
}

FieldEvidence ChunkOf(const ChunkQuestions& ask) {
  const auto candidate = ParseCandidate("variant:scan");
  ScanAsker asker(*candidate.value(), Lane::kF32);
  LearnChunk(&asker, ask);
  FieldEvidence said = *asker.found.Find("scan.chunk");
  said.value = ValueOf(asker.profile, "scan.chunk");
  return said;
}

TEST(IdentifyChunk, SeesChunks) {
  for (const auto& [chunk, seen] :
       {std::pair{1, "64"}, std::pair{5, "64"}, std::pair{64, "64"},
        std::pair{65, "128"}, std::pair{100, "128"}, std::pair{128, "128"},
        std::pair{129, "256"}, std::pair{256, "256"}, std::pair{257, "any"},
        std::pair{100000, "any"}}) {
    SCOPED_TRACE(chunk);
    const FieldEvidence said = ChunkOf(KernelOfChunk(chunk));
    EXPECT_EQ(said.value, seen) << said.evidence;
    EXPECT_EQ(said.word, said.value == "any" ? Word::kAssumed : Word::kSeen);
  }
  // The largest legal error of an exp makes no chunk shorter.
  EXPECT_EQ(ChunkOf(KernelOfChunk(300, 0x1p-16)).value, "any");
  EXPECT_EQ(ChunkOf(KernelOfChunk(128, 0x1p-16)).value, "128");
  // Sums over more tokens than decays are long.
  ChunkQuestions ask = KernelOfChunk(4);
  ask.by_state = [](int64_t apart) -> Result<bool> { return apart > 128; };
  EXPECT_EQ(ChunkOf(ask).value, "256");
  ask.by_state = [](int64_t) -> Result<bool> { return false; };
  EXPECT_EQ(ChunkOf(ask).word, Word::kAssumed);
  // A state that is rounded on the way is no chunk's.
  const auto exact = ask.decays;
  ask.decays = [exact](const std::vector<TwoDecays>& of_heads, int64_t tokens) {
    auto came = exact(of_heads, tokens);
    for (double& x : came.value()[0]) x *= 1 + 0x1p-9 * of_heads[0].second;
    return came;
  };
  EXPECT_EQ(ChunkOf(ask).word, Word::kCannotTell);
  EXPECT_EQ(ChunkOf(ask).value, "64");
}

void ExpectChunk(const Identified& found, const std::string& value) {
  const FieldEvidence* field = found.Find("scan.chunk");
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->word, Word::kSeen) << field->evidence;
  EXPECT_EQ(field->value, value);
}

// Decays are products token by token, whatever the chunks: y alone shows these.
TEST(IdentifyChunk, SeesWhatATokenReads) {
  for (const auto& [chunk, seen] :
       {std::pair{"64", "64"}, std::pair{"65", "128"}, std::pair{"256", "256"},
        std::pair{"257", "any"}}) {
    SCOPED_TRACE(chunk);
    const auto kernel =
        ParseCandidate(std::string("builtin:optimized,chunk=") + chunk);
    ASSERT_TRUE(kernel.ok());
    const Identified found =
        AskedOf("mamba3_scan", *kernel.value(), Lane::kF32, 0);
    EXPECT_EQ(ValueOf(found.profile, "scan.chunk"), seen);
  }
}

TEST(IdentifyChunk, SeesChunksOfKernels) {
  ScanVariant variant = FindScanVariant("scan-chunk64").value();
  const auto asked = [&] {
    const auto kernel = MakeEmulatedScan("variant", "planted", variant, {});
    return AskedOf("mamba3_scan", *kernel, Lane::kF32, 0);
  };
  ExpectChunk(asked(), "64");
  variant.chunk = 100;
  ExpectChunk(asked(), "128");
  ScanGradVariant grad = FindScanGradVariant("scan-grad-pairs64").value();
  const auto gradients = [&] {
    const auto kernel = MakeEmulatedScanGradients("variant", "planted", grad,
                                                  ScanGradFault::kNone);
    return AskedOf("mamba3_scan_backward", *kernel, Lane::kF32, 0);
  };
  ExpectChunk(gradients(), "64");
  grad.scores = true;
  ExpectChunk(gradients(), "64");
  grad.scan.chunk = 100;
  ExpectChunk(gradients(), "128");
}

}  // namespace
}  // namespace lockstep::verify
