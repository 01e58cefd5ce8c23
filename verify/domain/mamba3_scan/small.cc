// Long scans made short, with the same runs, groups and parts.
#include <algorithm>
#include <optional>
#include <utility>

#include "verify/case/mamba3_scan/case.h"
#include "verify/domain/mamba3_scan.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// A scan is one chain of all its tokens, and bugs are replayed on all of them.
constexpr int64_t kScanSide = 64;
constexpr int64_t kScanHeads = 4;

}  // namespace

std::optional<Case> SmallScan(const Case& c, int64_t side) {
  if (NamesFiles(c)) return std::nullopt;
  Case twin = c;
  Mamba3ScanCase& scan = twin.Get<Mamba3ScanCase>();
  Mamba3ScanProblem& p = scan.problem;
  const int64_t tokens = p.length;
  p.length = TwinLength(tokens, std::min(side, kScanSide));
  ScaleRuns(&scan.seg, tokens, p.length);
  for (int64_t& end : scan.cu) end = end * p.length / tokens;
  if (p.heads > kScanHeads) {
    const int64_t group = std::min<int64_t>(p.heads / p.groups, 2);
    p.heads = kScanHeads;
    p.groups = kScanHeads / group;
  }
  const std::optional<Case> normal = NormalForm(twin);
  if (!normal || normal == c) return std::nullopt;
  return normal;
}

}  // namespace lockstep::verify
