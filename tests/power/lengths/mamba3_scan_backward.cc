// The cases that bugs of a scan's gradients meet at real lengths.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/power/lengths/cases.h"
#include "verify/base/mixing.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/emulator/mutants.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

constexpr const char* kOpWord = "mamba3_scan_backward ";

// Variants, runs, carries, gates, norms and groups. Where weights are summed
// up, terms of one sign: what is left out of a sum then grows as its bound
// does.
std::vector<std::string> ScanBackwardLines(int64_t t) {
  const std::string half = std::to_string(t / 2);
  const std::string rest = std::to_string(t - t / 2);
  return {"t=" + std::to_string(t) + " n=6 p=3 h=2 carry=yes dcarry=yes",
          "t=" + std::to_string(t) +
              " n=4 p=2 h=4 g=2 regime=long gate=yes seg=runs:" + half + "," +
              rest,
          "t=" + std::to_string(t) +
              " n=8 p=2 variant=mimo r=2 gate=yes reduce=yes dcarry=yes "
              "fill=uniform:0,1 dy=uniform:0,1",
          "b=2 t=" + std::to_string(t) + " n=4 p=3 norm=1e-3 regime=short",
          "t=" + std::to_string(t) + " n=5 p=2 h=2 s=2 carry=yes cu=0," + half +
              "," + half + "," + std::to_string(t) + " dcarry=yes",
          "t=" + std::to_string(t) +
              " n=4 p=4 h=3 g=1 regime=strong skip=no bias=no"};
}

}  // namespace

std::vector<LengthCase> ScanGradientLengthCases(int64_t length) {
  std::vector<LengthCase> cases;
  for (const std::string& line : ScanBackwardLines(length)) {
    cases.push_back({kOpWord + line, "", false, "", false});
  }
  for (const MutantInfo& info : Mutants()) {
    if (!info.scan_gradients()) continue;
    Result<Case> c = ParseCase(info.pattern);
    if (!c.ok()) continue;
    auto& scan = c->Get<Mamba3ScanCase>();
    const int64_t more = length / 4 * 4;
    scan.problem.length += more;
    for (auto& row : scan.seg.rows) row.back().length += more;
    if (!ValidateCase(c.value()).ok()) continue;
    cases.push_back({MinimalLine(c.value()), "", false, info.name, false});
  }
  return cases;
}

std::string ScanGradientLineAt(uint64_t seed, int64_t length,
                               const NumericProfile& profile) {
  uint64_t state = seed;
  const std::vector<std::string> lines =
      ScanBackwardLines(length + static_cast<int64_t>(NextMixed(&state) % 6));
  return kOpWord + lines[NextMixed(&state) % lines.size()] + LaneWord(profile) +
         " seed=" + std::to_string(seed);
}

}  // namespace lockstep::verify
