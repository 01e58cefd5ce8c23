#include "verify/selftest/row.h"

namespace lockstep::verify {

std::span<const SelftestRow* const> SelftestRows() {
  static const SelftestRow* const kRows[] = {
      &kAttentionForwardSelftest, &kAttentionBackwardSelftest,
      &kMamba3ScanSelftest, &kSsdScanSelftest};
  return kRows;
}

}  // namespace lockstep::verify
