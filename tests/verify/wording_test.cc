// Figures in sentences: how far from the truth, which field of the profile most
// of the slack comes from, how far a run is. A reader acts on these, so that
// each is compared to the last digit.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tests/verify/no_rows.h"
#include "verify/allowed/cause.h"
#include "verify/allowed/counts.h"
#include "verify/allowed/result.h"
#include "verify/cli/progress.h"
#include "verify/judge/bounded.h"
#include "verify/judge/evidence/stage.h"
#include "verify/ops/op.h"
#include "verify/report/report.h"

namespace lockstep::verify {
namespace {

// Around a truth of 1, with a bound of 2^-10 before the last rounding.
constexpr double kBound = 0x1p-10;
Bounds AroundOne() {
  Bounds bounds;
  bounds.allowed = bounds.likely = {1 - kBound, 1 + kBound, false};
  bounds.truth = 1;
  bounds.error = bounds.likely_error = kBound;
  return bounds;
}

// What the report says of outputs that lie there.
EnvelopeResult Judged(Lane lane, const std::vector<double>& produced) {
  EnvelopeJudge judge("o", static_cast<int64_t>(produced.size()), lane);
  for (size_t c = 0; c < produced.size(); ++c) {
    judge.Add({0, 0, 0, static_cast<int64_t>(c)}, produced[c], AroundOne());
  }
  CauseAmounts shares{};
  shares[static_cast<size_t>(Cause::kTileKv)] = 31;
  shares[static_cast<size_t>(Cause::kAccQk)] = 30;
  shares[static_cast<size_t>(Cause::kOracle)] = 39 - 10;
  shares[static_cast<size_t>(Cause::kP)] = 10;
  return judge.Finish(shares);
}

OutputSpec Spec() {
  OutputSpec spec;
  spec.name = "o";
  spec.shape = {1, 1, 1, 4};
  spec.axes = {"b", "h", "i", "c"};
  return spec;
}

// Half a unit in the last place is the last rounding's: 2^-24 in f32, 2^-8 in
// bf16, of the truth.
TEST(Distance, IsWithoutTheLastRounding) {
  for (const auto& [lane, half] :
       {std::pair{Lane::kF32, 0x1p-24}, {Lane::kBf16, 0x1p-8}}) {
    for (const double sign : {-1.0, 1.0}) {
      EXPECT_EQ(Judged(lane, {1}).worst, 0);
      EXPECT_EQ(Judged(lane, {1 + sign * half}).worst, 0);
      EXPECT_EQ(Judged(lane, {1 + sign * (half + kBound)}).worst, 1);
      EXPECT_EQ(Judged(lane, {1 + sign * (half + 3 * kBound)}).worst, 3);
      EXPECT_EQ(Judged(lane, {1 + sign * (half + kBound / 4)}).worst, 0.25);
    }
  }
  // The largest of all, whichever comes first.
  const double two = 1 + 0x1p-24 + 2 * kBound, half = 1 + kBound / 2;
  EXPECT_EQ(Judged(Lane::kF32, {two, half}).worst, 2);
  EXPECT_EQ(Judged(Lane::kF32, {half, two}).worst, 2);
}

TEST(Distance, IsSaidWithItsBound) {
  const double near = 1 + 0x1p-24 + 2 * kBound, far = 1 + 0x1p-24 + 5 * kBound;
  const EnvelopeResult found = Judged(Lane::kF32, {1, near, far, near});
  EXPECT_EQ(DescribeEnvelope(Spec(), found),
            "o at [b=0 h=0 i=0 c=1]: produced 1.00195318, allowed "
            "0.999023438 .. 1.00097656, truth 1; furthest at "
            "[b=0 h=0 i=0 c=2]: produced 1.00488287, allowed "
            "0.999023438 .. 1.00097656, truth 1; 3 of 4 elements outside, "
            "error before the last rounding at most 5 x the bound; of the "
            "bound 31 % from tile_kv");
  CaseResult result;
  result.line = "case";
  result.verdict = Verdict::kPass;
  result.judged.push_back({});
  result.judged[0].tier = Tier::kEnvelope;
  result.judged[0].result =
      Judged(Lane::kF32, {1, 1 + 0x1p-24 + 0.78 * kBound});
  EXPECT_EQ(ReportCase(result, {.color = false, .verbose = true}),
            "pass  case  0.00 s\n"
            "      envelope o: 2 of 2 inside, error before the last rounding "
            "at most 0.78 x the bound, 31 % from tile_kv\n");
}

// The field that a share names is the one that it was counted for.
TEST(Share, NamesTheFieldOfTheLargest) {
  const std::array<const char*, kCauses> names = {
      "acc_qk",     "scale_at",  "score",     "cap_div",  "tanh_rel",
      "exp_rel",    "shift",     "max",       "p",        "acc_pv",
      "acc_l",      "state",     "normalise", "division", "out_round",
      "operand_qk", "operand_v", "tile_kv",   "splits",   "underflow",
      "oracle"};
  for (size_t n = 0; n < kCauses; ++n) {
    EXPECT_STREQ(CauseName(static_cast<Cause>(n)), names[n]);
    EnvelopeJudge judge("o", 0, Lane::kF32);
    CauseAmounts amounts;
    amounts.fill(2);
    amounts[n] = 10;
    const EnvelopeResult found = judge.Finish(amounts);
    EXPECT_EQ(found.shares[n], 0.2);
    EXPECT_EQ(found.Dominant(), "20 % from " + std::string(names[n]));
  }
  EXPECT_EQ(EnvelopeResult().Dominant(), "");
}

// Of 1600 elements 100 may be open, a sixteenth.
std::string OpenFinding(int64_t open, int64_t expected, bool share = true) {
  CaseResult result;
  result.line = "case";
  struct Judged judged;
  judged.tier = Tier::kEnvelope;
  judged.line = "case";
  judged.result.tensor = "o";
  judged.result.expected = expected;
  judged.result.unbounded = open / 2;
  judged.result.vacuous = open - open / 2;
  judged.result.inside = expected - open;
  if (share) judged.result.shares[static_cast<size_t>(Cause::kP)] = 0.755;
  result.judged.push_back(judged);
  FindOpenOutputs("flash-bf16", NoRows(), &result);
  EXPECT_LE(result.findings.size(), 1u);
  return result.findings.empty() ? "" : result.findings[0].message;
}

TEST(Share, OfOpenElementsIsOfAllOfThem) {
  const auto message = [](const std::string& share, const std::string& of) {
    return "o: " + share + " of " + of +
           " elements are unbounded under profile flash-bf16, any answer near "
           "them would pass; the slack is 76 % from p: declare that field as "
           "narrow as it is true, or judge a shorter case";
  };
  EXPECT_EQ(OpenFinding(100, 1600), "");
  EXPECT_EQ(OpenFinding(101, 1600), message("6.31 %", "1600"));
  EXPECT_EQ(OpenFinding(800, 1600), message("50 %", "1600"));
  // All but one are not all.
  EXPECT_EQ(OpenFinding(99999, 100000), message("99.9 %", "100000"));
  EXPECT_EQ(OpenFinding(100000, 100000), message("100 %", "100000"));
  EXPECT_NE(OpenFinding(7, 8, false).find("87.5 % of 8 elements"),
            std::string::npos);
  EXPECT_NE(OpenFinding(7, 8, false).find("inputs whose sums cannot overflow"),
            std::string::npos);
}

// Lines of a run that are looked at every 50 ms for so long, by a clock of the
// test's own.
std::string Shown(bool terminal, std::chrono::milliseconds until) {
  std::ostringstream out;
  cli::Progress::Clock::time_point now{};
  const cli::Progress::Clock::time_point start = now;
  {
    cli::Progress progress(40, terminal, &out, [&] { return now; });
    for (; now <= start + until; now += std::chrono::milliseconds(50)) {
      progress.Show(10, 2);
    }
  }
  return out.str();
}

TEST(Progress, OffATerminalIsALineEveryHalfMinute) {
  using std::chrono::milliseconds;
  const std::string first = "10 of 40 cases, 0.3/s, 90 s left, 2 findings\n";
  const std::string second = "10 of 40 cases, 0.2/s, 180 s left, 2 findings\n";
  EXPECT_EQ(Shown(false, milliseconds(29950)), "");
  EXPECT_EQ(Shown(false, milliseconds(30000)), first);
  EXPECT_EQ(Shown(false, milliseconds(59950)), first);
  EXPECT_EQ(Shown(false, milliseconds(60000)), first + second);
}

TEST(Progress, OnATerminalIsOneLineThatGoes) {
  using std::chrono::milliseconds;
  const std::string erase = "\r\x1b[K";
  EXPECT_EQ(Shown(true, milliseconds(50)), "");
  EXPECT_EQ(Shown(true, milliseconds(150)),
            erase + "10 of 40 cases, 100.0/s, 0.30 s left, 2 findings" + erase);
}

}  // namespace
}  // namespace lockstep::verify
