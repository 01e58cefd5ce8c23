// The keys of mamba3_scan and mamba3_step case lines, and what they mean.
#ifndef LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_LINE_H_
#define LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_LINE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/case/keys.h"
#include "verify/case/mamba3_scan/case.h"

namespace lockstep::verify {

// In canonical order.
std::span<const CaseKey> Mamba3ScanKeys();

// Of their rows, below.  Requires: a case of either op.
Status ValidateMamba3Scan(const Case& c);
int64_t Mamba3ScanBytes(const Case& c);
bool Mamba3ScanNamesFiles(const Case& c);

// How many runs the case has; those of cu_seqlens may be empty.
int64_t CountRuns(const Mamba3ScanCase& c);

// The probe whose inputs the case has, if any.
std::optional<ProbeKind> ProbeOf(const Mamba3ScanCase& c);

// Whether tau is +infinity at every token: lambda = 1, no look-ahead, which
// is Mamba-2's scan. Its probes keep it.
bool AlwaysSure(const Mamba3ScanCase& c);

const char* RegimeName(ScanRegime regime);

std::string WhyNotMamba3ScanProbe(ProbeKind probe, const Case& c);

// `why`: why a probe proves nothing for a case.
template <typename T>
constexpr CaseRow Mamba3Text(const char* name, const char* description,
                             std::string (*why)(ProbeKind, const Case&),
                             uint8_t shard_axes = 0) {
  return {
      name,
      description,
      &Mamba3ScanKeys,
      &MakeValues<T>,
      &ValidateMamba3Scan,
      &Mamba3ScanBytes,
      &Mamba3ScanNamesFiles,
      [](const Case& c) { return ProbeOf(c.Get<Mamba3ScanCase>()); },
      [](Case* c) { DropProbe(&c->Get<Mamba3ScanCase>().fill); },
      why,
      [](Lane lane, Case* c) { c->Get<Mamba3ScanCase>().problem.lane = lane; },
      shard_axes};
}
inline constexpr CaseRow kMamba3ScanText = Mamba3Text<Mamba3ScanCase>(
    "mamba3_scan", "Mamba-3 state-space scan, forward, with its carries",
    &WhyNotMamba3ScanProbe, ShardBit(ShardAxis::kTime));
inline constexpr CaseRow kMamba3StepText = Mamba3Text<Mamba3StepCase>(
    "mamba3_step", "the same decoded token by token, from carry to carry",
    nullptr);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_LINE_H_
