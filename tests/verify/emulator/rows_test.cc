// Rows that are asked for alone are the rows of the whole answer, with every
// bug: also where one is stored elsewhere, or made of another.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/verify/answers.h"
#include "tests/verify/trials.h"
#include "verify/candidate/emulated.h"
#include "verify/causes/fit.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {
namespace {

TEST(EmulatedRows, AreThoseOfTheWholeAnswer) {
  const auto trial = Open(
      "attention_forward b=2 hq=4 hkv=2 sq=22 skv=37 d=9 dv=13 cap=2 "
      "mask=causal&window:12,1 align=br valid_kv=37,21 valid_q=20,22 "
      "sinklogit=normal:1");
  const LookedAt rows = {1, 6, 7, 21, 43, 44, 90, 111, 131, 132, 171};
  for (const MutantInfo& bug : Mutants()) {
    if (!bug.attention()) continue;
    const std::string spec = std::string("mutant:") + bug.name;
    const Numbers all =
        NumbersOf(*trial, AnswerOf(spec, *trial), nullptr, rows);
    const auto kernel = ParseCandidate(spec);
    const OutputSet outputs = std::move(trial->Allocate(0).value());
    Execution execution;
    dynamic_cast<EmulatedCandidate&>(*kernel.value())
        .RunRows(*trial, rows, outputs, &execution);
    const Numbers alone = NumbersOf(*trial, outputs, nullptr, rows);
    for (size_t t = 0; t < all.size(); ++t) {
      for (size_t n = 0; n < all[t].size(); ++n) {
        const bool same = all[t][n] == alone[t][n] ||
                          (std::isnan(all[t][n]) && std::isnan(alone[t][n]));
        ASSERT_TRUE(same) << bug.name << " output " << t << " number " << n;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::verify
