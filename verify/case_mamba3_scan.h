// The keys of mamba3_scan and mamba3_step case lines, and what they mean.
#ifndef LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_H_
#define LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_H_

#include <cstdint>
#include <optional>
#include <span>

#include "reference/contract/status.h"
#include "verify/case.h"
#include "verify/case_keys.h"

namespace lockstep::verify {

// In canonical order.
std::span<const CaseKey> Mamba3ScanKeys();

// Rows of the op table; Requires: a case of either op.
Status ValidateMamba3Scan(const Case& c);
int64_t Mamba3ScanBytes(const Case& c);
bool Mamba3ScanNamesFiles(const Case& c);

// How many runs the case has; those of cu_seqlens may be empty.
int64_t CountRuns(const Mamba3ScanCase& c);

// The probe whose inputs the case has, if any.
std::optional<ProbeKind> ProbeOf(const Mamba3ScanCase& c);

const char* RegimeName(ScanRegime regime);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_H_
