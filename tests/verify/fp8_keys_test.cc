// Keys and values in fp8 in case lines: rounding to the formats, fills at the
// ends of the formats, scales, line texts, the truth's inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/support/volume.h"
#include "tests/verify/encoding_lines.h"
#include "tests/verify/trials.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/random/deviates.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"
#include "verify/domain/domain.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/numbers.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/report/export.h"

namespace lockstep::verify {
namespace {

constexpr Lane kLanes[] = {Lane::kE4m3, Lane::kE5m2};

uint8_t Rounded(Lane lane, double x) { return RoundBitsToFp8(lane, Bits(x)); }
double NumberOf(Lane lane, int byte) {
  return ElementValue(lane, static_cast<uint32_t>(byte));
}

TEST(Fp8, RoundsToNearestEven) {
  for (const Lane lane : kLanes) {
    const int largest = lane == Lane::kE4m3 ? 0x7e : 0x7b;
    for (int byte = 0; byte <= largest; ++byte) {
      const double x = NumberOf(lane, byte);
      EXPECT_EQ(Rounded(lane, x), byte) << LaneName(lane);
      EXPECT_EQ(Rounded(lane, -x) & 0x7f, byte) << LaneName(lane);
      if (byte == largest) break;
      const double next = NumberOf(lane, byte + 1);
      const double middle = (x + next) / 2;
      EXPECT_EQ(Rounded(lane, middle), byte + byte % 2) << LaneName(lane);
      const double step = (next - x) / 1024;
      EXPECT_EQ(Rounded(lane, middle - step), byte) << LaneName(lane);
      EXPECT_EQ(Rounded(lane, middle + step), byte + 1) << LaneName(lane);
    }
    EXPECT_EQ(Rounded(lane, 1e30), largest);
    EXPECT_EQ(Rounded(lane, -1e30), largest | 0x80);
    EXPECT_EQ(Rounded(lane, 1e-30), 0);
    EXPECT_TRUE(std::isnan(NumberOf(lane, Rounded(lane, NAN))));
  }
  EXPECT_TRUE(
      std::isnan(NumberOf(Lane::kE4m3, Rounded(Lane::kE4m3, HUGE_VAL))));
  EXPECT_EQ(NumberOf(Lane::kE5m2, Rounded(Lane::kE5m2, -HUGE_VAL)), -HUGE_VAL);
}

// The number of elements of k that are `wanted`.
template <class Wanted>
int Count(const AttentionForwardData& data, const Wanted& wanted) {
  int count = 0;
  ForElements(data.inputs.k.shape, [&](const At& at) {
    const double x = std::fabs(
        ElementValue(data.inputs.k.lane, ElementBits(data.inputs.k, at)));
    count += wanted(x) ? 1 : 0;
  });
  return count;
}

TEST(Fp8, FillsMeanTheEndsOfTheFormat) {
  for (const Lane lane : kLanes) {
    const LaneRow& row = LaneRowOf(lane);
    const double normal = std::ldexp(1.0, row.min_exponent);
    const std::string line =
        std::string("attention_forward sq=1 skv=100 d=10 kvlane=") + row.name +
        " fill=const:1+k.";
    EXPECT_EQ(Count(DataOf(line + "subnormal:1"),
                    [&](double x) { return x > 0 && x < normal; }),
              1000);
    EXPECT_EQ(Count(DataOf(line + "tiny:1"),
                    [&](double x) { return x >= normal && x <= 32 * normal; }),
              1000);
    EXPECT_EQ(Count(DataOf(line + "huge:1"),
                    [&](double x) { return x >= row.largest / 2; }),
              1000);
    EXPECT_GT(Count(DataOf(line + "special:1"),
                    [](double x) { return std::isnan(x); }),
              300);
  }
}

TEST(Fp8, ScalesAreOfTheLayout) {
  const AttentionForwardData data = DataOf(
      "attention_forward b=2 hq=4 hkv=2 sq=3 skv=37 d=4 kvlane=e5m2 "
      "kscale=block:16:uniform:0.5,2 vscale=head:uniform:3,4");
  EXPECT_EQ(data.inputs.k.lane, Lane::kE5m2);
  EXPECT_EQ(data.inputs.q.lane, Lane::kF32);
  EXPECT_EQ(data.inputs.k_scale.shape, (std::array<int64_t, 3>{2, 2, 3}));
  EXPECT_EQ(data.inputs.v_scale.shape, (std::array<int64_t, 3>{1, 2, 1}));
  EXPECT_NE(data.inputs.k_scale(0, 0, 0), data.inputs.k_scale(1, 0, 0));
  const KeyNumbers numbers = MakeNumbers(data);
  ForElements(data.inputs.k.shape, [&](const At& at) {
    EXPECT_EQ(numbers.data.inputs.k.Float(at[0], at[1], at[2], at[3]),
              data.inputs.k.Float(at[0], at[1], at[2], at[3]) *
                  data.inputs.k_scale(at[0], at[1], at[2] / 16));
    EXPECT_EQ(numbers.data.inputs.v.Float(at[0], at[1], at[2], at[3]),
              data.inputs.v.Float(at[0], at[1], at[2], at[3]) *
                  data.inputs.v_scale(0, at[1], 0));
  });
}

TEST(Fp8, ScalesOfQueriesAreOfTheLayout) {
  const AttentionForwardData data = DataOf(
      "attention_forward b=2 hq=4 hkv=2 sq=11 skv=7 d=4 kvlane=e4m3 qlane=e5m2 "
      "qscale=block:4:uniform:0.5,2 valid_q=11,6");
  EXPECT_EQ(data.inputs.q.lane, Lane::kE5m2);
  EXPECT_EQ(data.inputs.q_scale.shape, (std::array<int64_t, 3>{2, 4, 3}));
  EXPECT_NE(data.inputs.q_scale(0, 0, 0), data.inputs.q_scale(1, 0, 0));
  const KeyNumbers numbers = MakeNumbers(data);
  ForElements(data.inputs.q.shape, [&](const At& at) {
    const bool there = at[2] < data.inputs.ValidQ(data.problem, at[0]);
    EXPECT_EQ(numbers.data.inputs.q.Float(at[0], at[1], at[2], at[3]),
              data.inputs.q.Float(at[0], at[1], at[2], at[3]) *
                  (there ? data.inputs.q_scale(at[0], at[1], at[2] / 4) : 1));
  });
}

TEST(Fp8, LinesWithoutAMeaningSaySo) {
  const auto why = [](const std::string& keys) {
    return ErrorOf("sq=3 skv=4 d=4 " + keys);
  };
  EXPECT_EQ(why("kscale=tensor:2"),
            "kscale without kvlane; want kvlane=e4m3 or e5m2 beside it");
  EXPECT_EQ(why("kvlane=e4m3 vscale=token:uniform:-1,2"),
            "vscale: -1 is out of range; want 2^-60..2^60");
  EXPECT_EQ(why("kvlane=e4m3 kscale=head:const:2 fill=probe:select"),
            "fill probe:select: scales other than 1 change its numbers; want "
            "const:1, or tensor:1");
  EXPECT_EQ(why("qlane=e4m3"),
            "qlane=e4m3 without kvlane; want kvlane=e4m3 or e5m2 beside it");
  EXPECT_EQ(why("kvlane=e4m3 qscale=tensor:2"),
            "qscale without qlane; want qlane=e4m3 or e5m2 beside it");
  EXPECT_EQ(why("kvlane=e4m3 qlane=e4m3 qscale=tensor:0"),
            "qscale: 0 is out of range; want 2^-60..2^60");
  const std::string both = "kvlane=e4m3 qlane=e4m3 kscale=tensor:0x1p60 ";
  EXPECT_EQ(why(both + "qscale=tensor:0x1p60 scale=512"),
            "kscale: 1152921504606846976 times qscale: 1152921504606846976 "
            "times scale=512 leaves f32's range; want a smaller one");
  EXPECT_EQ(why(both + "scale=0x1p70 cap=0.5"),
            "kscale: 1152921504606846976 times scale=1180591620717411303424 "
            "leaves f32's range with cap=0.5; want a smaller one");
  EXPECT_NE(why("lane=e4m3").find("e4m3 is a lane of q, k and v alone"),
            std::string::npos);
  EXPECT_NE(why("kvlane=e4m3 kscale=block:0:const:1")
                .find("a block of 0 keys is out of range; want 1..65536"),
            std::string::npos);
}

// Drawn cases: our kernel has the reference's bits.
TEST(Fp8, DrawnCasesHaveTheReferencesBits) {
  const Domain& domain = *FindDomain("attention_forward").value();
  int64_t narrow = 0, scaled = 0, of_q = 0;
  for (uint64_t n = 0; n < test::Volume(4000); ++n) {
    for (const Case& c : DrawCase(domain, {}, 18, n)) {
      const auto& a = c.Get<AttentionForwardCase>();
      if (!a.kv_lane) continue;
      ++narrow;
      scaled += a.k_scale.any() || a.v_scale.any() ? 1 : 0;
      of_q += a.q_lane ? 1 : 0;
      const auto trial = Open(c);
      ExpectSameBits(Reference(*trial), Optimized(*trial), MinimalLine(c));
    }
  }
  EXPECT_GT(narrow, test::Volume(120));
  EXPECT_GT(scaled, test::Volume(80));
  EXPECT_GT(of_q, test::Volume(40));
}

// Scales that are powers of two, the next ones below.
void CutScales(const GuardedBuffer& scales) {
  const auto count = scales.bytes() / static_cast<int64_t>(sizeof(float));
  for (int64_t n = 0; n < count; ++n) {
    float* const x = reinterpret_cast<float*>(scales.data()) + n;
    *x = std::ldexp(1.0f, std::ilogb(*x));
  }
}

// The law `encoding` asks for the same numbers in the case's own lane: drawn
// cases have the same bits there.
TEST(Fp8, DrawnCasesHaveTheBitsOfPlainNumbers) {
  const Domain& domain = *FindDomain("attention_forward").value();
  int64_t plain = 0, scaled = 0, values = 0, of_q = 0;
  for (uint64_t n = 0; n < test::Volume(6000); ++n) {
    for (const Case& c : DrawCase(domain, {}, 19, n)) {
      if (!c.Get<AttentionForwardCase>().kv_lane) continue;
      AttentionForwardData data = DataOf(MinimalLine(c));
      for (const auto* scales : {&data.q_scale, &data.k_scale, &data.v_scale}) {
        if (scales->data() != nullptr) CutScales(*scales);
      }
      const AttentionForwardProblem p = data.problem;
      const AttentionForwardTrial trial(c, std::move(data));
      const Result<Law> law = trial.laws().MakeLaw("encoding", n);
      ASSERT_TRUE(law.ok()) << law.message();
      const Trial& other = *law->calls[0].trial;
      if (dynamic_cast<const AttentionForwardTrial&>(other)
              .data()
              .problem.kv_lane)
        continue;
      ++plain;
      scaled += p.k_scales.any() || p.q_scales.any() ? 1 : 0;
      values += p.v_scales.any() ? 1 : 0;
      of_q += p.q_lane ? 1 : 0;
      ExpectSameBits(Reference(trial), Reference(other), MinimalLine(c));
    }
  }
  EXPECT_GT(plain, test::Volume(60));
  EXPECT_GT(scaled, test::Volume(20));
  EXPECT_GT(values, test::Volume(5));
  EXPECT_GT(of_q, test::Volume(20));
}

// What would round, or leave f32, has no such form.
TEST(Fp8, PlainNumbersAreExact) {
  const auto has = [](const std::string& keys) {
    const auto names =
        Open("attention_forward sq=3 skv=4 d=4 " + keys)->laws().LawNames();
    return std::count(names.begin(), names.end(), "encoding") == 1;
  };
  EXPECT_TRUE(has("kvlane=e4m3"));
  EXPECT_TRUE(has("lane=f16 kvlane=e5m2 kscale=tensor:2"));
  EXPECT_TRUE(has("lane=bf16 kvlane=e4m3 qlane=e5m2 qscale=head:const:0.25"));
  EXPECT_FALSE(has("kvlane=e4m3 kscale=tensor:3"));
  EXPECT_FALSE(has("kvlane=e4m3 vscale=token:uniform:0.5,2"));
  // 448 * 256 is no number of f16, nor is 2^-9 * 2^-16.
  EXPECT_FALSE(has("lane=f16 kvlane=e4m3 vscale=tensor:256 fill=huge:1"));
  EXPECT_FALSE(
      has("lane=f16 kvlane=e4m3 kscale=tensor:0x1p-16 "
          "fill=subnormal:1"));
  // Constants and products beyond f32, or near its end.
  EXPECT_FALSE(has("kvlane=e4m3 kscale=tensor:0x1p-60 scale=1e-30"));
  EXPECT_FALSE(has("kvlane=e4m3 kscale=tensor:0x1p-60 fill=q.tiny:1"));
  // Weights that may be far apart, times a scale of v.
  EXPECT_TRUE(has("kvlane=e4m3 scale=100"));
  EXPECT_FALSE(has("kvlane=e4m3 scale=100 vscale=tensor:2"));
}

// A weight may overflow when its scale multiplies it, where no maximum has been
// subtracted: zero times that is NaN, and small values are infinite.
TEST(Fp8, AMinimalExportHasItsTypes) {
  const std::string folder = testing::TempDir() + "/fp8_export";
  std::filesystem::create_directories(folder);
  for (const Lane lane : kLanes) {
    const std::string line = "attention_forward sq=3 skv=8 d=4 kvlane=" +
                             std::string(LaneName(lane));
    const Status made = ExportCase(ParseCase(line).value(),
                                   folder + "/" + LaneName(lane), true, {});
    EXPECT_TRUE(made.ok()) << made.message();
  }
}

TEST(Fp8, ScaledWeightsOverflowWithoutAMaximum) {
  const struct {
    const char* kernel;
    const char* line;
  } kOverflows[] = {
      {"cpu-fixed-max",
       "attention_forward hq=4 hkv=2 sq=4 skv=4 d=64 p=bf16 kvlane=e4m3 "
       "vscale=block:32:uniform:1048576,2097152 mask=causal valid_kv=3 "
       "fill=spread:80 seed=64658"},
      {"flash-fixed-max",
       "attention_forward b=3 sq=31 skv=31 d=8 lane=bf16 kvlane=e4m3 "
       "vscale=token:uniform:0.001,100 fill=spread:80 seed=367508"},
      {"cpu-no-max",
       "attention_forward b=2 hq=4 hkv=2 sq=15 skv=9 d=64 kvlane=e5m2 "
       "kscale=head:uniform:0.001,100 vscale=block:1:uniform:1048576,2097152 "
       "mask=causal align=1 seed=353949"},
      {"cpu-no-max",
       "attention_forward b=2 hq=8 hkv=1 sq=2 skv=5 d=64 kvlane=e4m3 "
       "kscale=head:uniform:0.25,4 vscale=block:32:uniform:1048576,2097152 "
       "cap=100 mask=sink:5 q_seg=[runs:2;runs:1,1] kv_seg=[runs:5;runs:3,2] "
       "seed=215799"},
  };
  for (const auto& [kernel, line] : kOverflows) {
    const CaseResult result = JudgeSpec(line, std::string("variant:") + kernel);
    EXPECT_NE(result.verdict, Verdict::kFail) << kernel << " on " << line;
  }
}

}  // namespace
}  // namespace lockstep::verify
