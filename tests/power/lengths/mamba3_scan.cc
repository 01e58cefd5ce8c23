#include "tests/power/lengths/mamba3_scan.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/registry/ops.h"
#include "verify/selftest/mamba3_scan.h"
#include "verify/selftest/trialist.h"

namespace lockstep::verify {

bool IsStructural(const MutantInfo& info) {
  const std::string_view family = info.family;
  // Axes are only exchanged where they have one length.
  return info.scan() && family != "numeric" && family != "cheat" &&
         info.PointOf<ScanFault>() != ScanFault::kTimeHeadSwapped;
}

Result<Case> ScanCaseAt(const MutantInfo& info, int64_t length) {
  Result<Case> c = ParseCase(info.pattern);
  if (!c.ok()) return c;
  Mamba3ScanCase& scan = c->Get<Mamba3ScanCase>();
  Mamba3ScanProblem& p = scan.problem;
  // What is odd or ragged in the pattern stays so.
  p.length = length + p.length % 4;
  p.state_dim = 16 + p.state_dim % 2;
  p.angles = scan.ssd ? 0 : p.state_dim / 4;
  p.heads = std::max<int64_t>(p.heads, 2);
  for (auto& row : scan.seg.rows) {
    // The first run ends within a chunk where it did, the last one has what
    // remains; between them nothing changes.
    row.front().length += length / 2 / 64 * 64;
    int64_t rest = p.length;
    for (SegmentRun& run : row) {
      if (&run == &row.back()) run.length = rest;
      rest -= run.length;
    }
  }
  return c;
}

Result<KillRow> TryScanMutantAt(const MutantInfo& info, int64_t length,
                                uint64_t seed) {
  ASSIGN_OR_RETURN(Subject subject, OpenScanMutant(info, BugBase::kOwn));
  Result<Case> c = ScanCaseAt(info, length);
  if (!c.ok()) return c.status();
  c->seed = seed;
  Trialist trialist(std::move(subject));
  c = InLane(c.value(), trialist.profile());
  KillRow row;
  row.mutant = &info;
  row.cases = 1;
  row.by = MinimalLine(c.value());
  ASSIGN_OR_RETURN(const Found probes,
                   trialist.Probes(c.value(), std::nullopt));
  row.killed[static_cast<size_t>(ProofTier::kProbes)] = probes.outside;
  if (probes.outside) return row;
  ASSIGN_OR_RETURN(const Answer answer, trialist.Run(c.value()));
  row.killed[static_cast<size_t>(ProofTier::kEnvelope)] =
      trialist.Envelope(answer).outside;
  return row;
}

}  // namespace lockstep::verify
