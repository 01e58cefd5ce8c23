// Wrong scans that are drawn, each with one wrong number: the base of its
// decay, a step size, a skip that is left out. They are written here, apart
// from the emulators that their numbers are fitted with.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "tests/verify/wrong_kernel.h"
#include "verify/base/elements.h"
#include "verify/causes/questions.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {
namespace {

constexpr uint32_t kScanSeed = 0x80ae3435;
constexpr int kWrongScans = 24;
constexpr int kLeastScans = 22;

struct WrongScan {
  std::string bug;    // as in a cause
  double factor = 1;  // 0: left out
  double Of(const char* what) const { return bug == what ? factor : 1; }
};

// Mamba-2 with one run, no gate and no carry, in float, rounded at the end.
void Scan(const Mamba3ScanData& data, const WrongScan& wrong,
          const OutputSet& outputs) {
  const Mamba3ScanProblem& p = data.problem;
  const LaneView q = data.at(ScanTensor::kQ).tensor.const_view();
  const LaneView k = data.at(ScanTensor::kK).tensor.const_view();
  for (int64_t h = 0; h < p.heads; ++h) {
    const int64_t g = h / (p.heads / p.groups);
    for (int64_t c = 0; c < p.head_dim; ++c) {
      std::vector<double> state(static_cast<size_t>(p.state_dim));
      for (int64_t t = 0; t < p.length; ++t) {
        const double dt = double{data.inputs.dt(0, h, t)} * wrong.Of("dt");
        const double x = double{data.inputs.v.Float(0, t, h, c)};
        const double alpha =
            std::exp(double{data.inputs.a(0, h, t)} * wrong.Of("decay"));
        double y = 0;
        for (int64_t n = 0; n < p.state_dim; ++n) {
          double& s = state[static_cast<size_t>(n)];
          s = alpha * s + dt * double{k.Float(0, g, t, n)} * x;
          y += double{q.Float(0, g, t, n)} * s * wrong.Of("q");
        }
        y += double{data.inputs.d(h)} * x * wrong.Of("d") * wrong.Of("no_d");
        SetElement(outputs.tensors[0].view, {0, t, h, c}, BitsOf(p.lane, y));
      }
      for (int64_t n = 0; n < p.state_dim; ++n) {
        SetElement(outputs.tensors[1].view, {0, h, c, n},
                   BitsOf(Lane::kF32, state[static_cast<size_t>(n)]));
      }
    }
  }
}

struct DrawnScan {
  WrongScan wrong;
  std::string line, profile;
};

DrawnScan DrawScan(int n, std::mt19937* random) {
  const auto of = [&](auto... choices) {
    const std::vector<std::common_type_t<decltype(choices)...>> all{choices...};
    return all[(*random)() % all.size()];
  };
  constexpr const char* kBugs[] = {"decay", "dt", "no_d", "d"};
  DrawnScan drawn;
  drawn.wrong.bug = kBugs[n % 4];
  const double octaves = of(-2.0, -1.0, -0.6, -0.3, 0.3, 0.6, 1.0, 2.0);
  drawn.wrong.factor = std::exp2(octaves);
  if (drawn.wrong.bug == "decay" && of(0, 1) == 1) {
    drawn.wrong.factor = std::log(2.0);
  }
  if (drawn.wrong.bug == "no_d") drawn.wrong.factor = 0;
  const std::string lane = of("f32", "bf16", "f16");
  drawn.profile = lane == "f32" ? "scan-f32" : "scan-chunked";
  const int tokens = of(64, 96, 128, 200, 256);
  drawn.line = "ssd_scan t=" + std::to_string(tokens) +
               " h=2 n=" + std::to_string(of(8, 16)) +
               " p=" + std::to_string(of(8, 16, 32)) + " lane=" + lane +
               " skip=yes";
  return drawn;
}

bool NumberIsNamed(const DrawnScan& drawn,
                   const std::vector<Explanation>& causes) {
  if (causes.empty() || !causes[0].Proved()) return false;
  const std::string& what = causes[0].what;
  if (drawn.wrong.factor == 0) return true;
  if (causes[0].bug.ends_with(".exp2_of_natural")) {
    return drawn.wrong.factor == std::log(2.0);
  }
  return std::fabs(NumberIn(what) / drawn.wrong.factor - 1) < 0.02;
}

TEST(Questions, DrawnWrongNumbersOfScansAreNamed) {
  std::mt19937 random(kScanSeed);
  int named = 0;
  for (int n = 0; n < kWrongScans; ++n) {
    const DrawnScan drawn = DrawScan(n, &random);
    WrongKernel kernel([&](const Trial& trial, const OutputSet& outputs) {
      Scan(dynamic_cast<const RunsTrial&>(trial).data(), drawn.wrong, outputs);
    });
    JudgeOptions options = With(drawn.profile.c_str());
    options.causes = true;
    options.explain_seconds = 1;
    options.invariance = options.evidence = options.canaries = false;
    options.threads = 1;
    const CaseResult result = JudgeLine(drawn.line, kernel, options);
    EXPECT_EQ(result.verdict, Verdict::kFail)
        << drawn.line << ": " << result.reason;
    const bool is = NumberIsNamed(drawn, result.causes);
    named += is ? 1 : 0;
    std::printf(
        "%2d %-6s truth %.4g  %s %s\n    %s\n", n, drawn.wrong.bug.c_str(),
        drawn.wrong.factor, is ? "named" : "-----", drawn.line.c_str(),
        result.causes.empty() ? result.no_cause.c_str()
                              : ExplanationText(result.causes[0]).c_str());
    std::fflush(stdout);
  }
  EXPECT_GE(named, kLeastScans);
}

}  // namespace
}  // namespace lockstep::verify
