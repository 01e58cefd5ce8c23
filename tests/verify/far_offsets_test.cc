// Tensors that reach over 2^31 elements or bytes: kernels whose offsets have
// too few bits fail there, and nowhere else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/verify/encoding_lines.h"
#include "verify/case/attention_forward/case.h"
#include "verify/domain/domain.h"
#include "verify/emulator/mutants.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

constexpr const char* kNear =
    "attention_forward b=2 hq=2 sq=3 skv=5 d=8 mask=causal align=br";

// On dense tensors the products have room in 32 bits.
TEST(FarOffsets, BugsDoNothingOnDenseTensors) {
  int bugs = 0;
  for (const MutantInfo& info : Mutants()) {
    if (std::string_view(info.family) != "far") continue;
    ++bugs;
    for (const std::string line :
         {kNear, "attention_forward sq=2 skv=20 d=4 page=4"}) {
      const CaseResult result =
          JudgeSpec(line, "mutant:" + std::string(info.name));
      EXPECT_EQ(result.verdict, Verdict::kPass) << info.name << " on " << line;
    }
  }
  EXPECT_EQ(bugs, 14);
}

// The domain draws such tensors: each of q, k, v and o.
TEST(FarOffsets, AreDrawn) {
  const Domain& domain = *FindDomain("attention_forward").value();
  const auto names = domain.features();
  const auto far = static_cast<size_t>(
      std::find(names.begin(), names.end(), std::string_view("stride_far")) -
      names.begin());
  ASSERT_LT(far, names.size());
  int64_t q = 0, k = 0, v = 0, o = 0;
  for (uint64_t n = 0; n < 2000; ++n) {
    for (const Case& c : DrawCase(domain, {}, 21, n)) {
      if (!domain.features_of(c).has[far]) continue;
      const StrideOverrides& strides = c.Get<AttentionForwardCase>().strides;
      q += strides.q.has_value() ? 1 : 0;
      k += strides.k.has_value() ? 1 : 0;
      v += strides.v.has_value() ? 1 : 0;
      o += strides.o.has_value() ? 1 : 0;
    }
  }
  for (const int64_t count : {q, k, v, o}) EXPECT_GT(count, 3);
}

}  // namespace
}  // namespace lockstep::verify
