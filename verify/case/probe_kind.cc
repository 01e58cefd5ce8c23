#include "verify/case/probe_kind.h"

#include <array>
#include <cstddef>
#include <string>

#include "verify/base/nearest_name.h"

namespace lockstep::verify {
namespace {

constexpr std::array<ProbeInfo, 28> kProbes = {{
    {ProbeKind::kCancel, "cancel",
     "equal weights, integer values whose sum over any run of keys is small"},
    {ProbeKind::kPrefix, "prefix",
     "equal weights, values that step up and down in turn"},
    {ProbeKind::kSelect, "select",
     "one key outweighs all others: a row that sees it has its value"},
    {ProbeKind::kAim, "aim",
     "the last key outweighs all others, and must have no effect where it is "
     "masked"},
    {ProbeKind::kReset, "reset",
     "late keys outweigh early ones that hold big values"},
    {ProbeKind::kShift, "shift",
     "all scores equal, and too large for exp without a maximum"},
    {ProbeKind::kHeadTag, "head-tag",
     "values are a code of batch row and kv head"},
    {ProbeKind::kSink, "sink",
     "the sink of every head takes a different part of the row's weight"},
    {ProbeKind::kComb, "comb",
     "a row averages the keys of one residue class modulo a prime"},
    {ProbeKind::kThirds, "thirds", "a row averages a third of its keys"},
    {ProbeKind::kThirdsNext, "thirds-next",
     "the next third, where a kv head has one row only"},
    {ProbeKind::kHoles, "holes",
     "all channels of q and k take part in a tie, which a lost channel breaks"},
    {ProbeKind::kDeep, "deep",
     "all scores equal and far below any finite start of the maximum"},
    {ProbeKind::kIntegrate, "integrate", "scans: nothing is ever forgotten"},
    {ProbeKind::kForget, "forget", "scans: all is forgotten at drawn tokens"},
    {ProbeKind::kHalves, "halves",
     "scans: decays 1, 1/2, 1/4, one impulse at a time"},
    {ProbeKind::kTurns, "turns",
     "scans: the same decays with angles, one impulse at a time"},
    {ProbeKind::kTriples, "triples",
     "scans: nothing is forgotten, and k changes every three tokens"},
    {ProbeKind::kSpin, "spin",
     "scans: angles that turn one way for ever, by many turns, or once"},
    {ProbeKind::kGradKeys, "grad-keys",
     "gradients: every weight is 1, dk and dv count queries"},
    {ProbeKind::kGradQueries, "grad-queries",
     "gradients: every weight is 1, dq counts keys"},
    {ProbeKind::kGradKeysPowers, "grad-keys-powers",
     "gradients: grad-keys where every dS is 1 or 2, for a scaled dS"},
    {ProbeKind::kGradQueriesPowers, "grad-queries-powers",
     "gradients: grad-queries where every dS is 1 or 2, for a scaled dS"},
    {ProbeKind::kGradOwnKeys, "grad-own-keys",
     "gradients: equal weights, every term of dk and dv of one size"},
    {ProbeKind::kGradOwnQueries, "grad-own-queries",
     "gradients: equal weights, every term of dq of one size"},
    {ProbeKind::kMergeSelect, "merge-select",
     "merges: two parts of a row outweigh all others"},
    {ProbeKind::kMergeCount, "merge-count",
     "merges: equal weights, and integers whose sum shows every part"},
    {ProbeKind::kMergeShift, "merge-shift",
     "merges: the same, with every lse far beyond the range of exp"},
}};

}  // namespace

std::span<const ProbeInfo> Probes() { return kProbes; }

const char* ProbeName(ProbeKind kind) {
  return kProbes[static_cast<size_t>(kind)].name;
}

Result<ProbeKind> FindProbe(std::string_view name) {
  std::string names;
  for (const ProbeInfo& probe : kProbes) {
    if (name == probe.name) return probe.kind;
    names += std::string(names.empty() ? "" : ", ") + probe.name;
  }
  return Status::Error(
      "unknown probe '" + std::string(name) + "'; " +
      NearestIs(name, Probes(), [](const auto& p) { return p.name; }) +
      "; probes are " + names);
}

}  // namespace lockstep::verify
