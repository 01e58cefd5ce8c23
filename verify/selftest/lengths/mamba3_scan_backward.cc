// The cases that bugs of a scan's gradients meet at real lengths.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/mixing.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/emulator/mutants.h"
#include "verify/registry/ops.h"
#include "verify/selftest/lengths/cases.h"

namespace lockstep::verify {
namespace {

constexpr const char* kOp = "mamba3_scan_backward ";

std::string Text(int64_t n) { return std::to_string(n); }

// Variants, runs, carries, gates, norms and groups. Where weights are summed
// up, terms of one sign: what is left out of a sum then grows as its bound
// does.
std::vector<std::string> Lines(int64_t t) {
  const std::string half = Text(t / 2);
  const std::string rest = Text(t - t / 2);
  return {"t=" + Text(t) + " n=6 p=3 h=2 carry=yes dcarry=yes",
          "t=" + Text(t) + " n=4 p=2 h=4 g=2 regime=long gate=yes seg=runs:" +
              half + "," + rest,
          "t=" + Text(t) +
              " n=8 p=2 variant=mimo r=2 gate=yes reduce=yes dcarry=yes "
              "fill=uniform:0,1 dy=uniform:0,1",
          "b=2 t=" + Text(t) + " n=4 p=3 norm=1e-3 regime=short",
          "t=" + Text(t) + " n=5 p=2 h=2 s=2 carry=yes cu=0," + half + "," +
              half + "," + Text(t) + " dcarry=yes",
          "t=" + Text(t) + " n=4 p=4 h=3 g=1 regime=strong skip=no bias=no"};
}

}  // namespace

std::vector<LengthCase> ScanGradientLengthCases(int64_t length) {
  std::vector<LengthCase> cases;
  for (const std::string& line : Lines(length)) {
    cases.push_back({kOp + line, "", false, "", false});
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
      Lines(length + static_cast<int64_t>(NextMixed(&state) % 6));
  return kOp + lines[NextMixed(&state) % lines.size()] +
         (profile.lane == Lane::kBf16 ? " lane=bf16" : "") +
         " seed=" + std::to_string(seed);
}

}  // namespace lockstep::verify
