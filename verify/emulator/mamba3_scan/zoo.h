// Correct ways to compute a scan, each under its honest profile. A proof tier
// that accuses one of them is wrong.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_ZOO_H_
#define LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_ZOO_H_

#include <span>
#include <string_view>

#include "reference/contract/status.h"
#include "verify/emulator/mamba3_scan/kernel.h"

namespace lockstep::verify {

std::span<const ScanVariant> ScanZoo();

// Errors: an unknown name; the message lists the known ones.
Result<ScanVariant> FindScanVariant(std::string_view name);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_ZOO_H_
