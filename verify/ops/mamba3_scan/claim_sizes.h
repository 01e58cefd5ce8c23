// The cases of a scan's claims, in other sizes than the line's own.
#ifndef LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_CLAIM_SIZES_H_
#define LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_CLAIM_SIZES_H_

#include <cstdint>
#include <vector>

#include "verify/case/case.h"
#include "verify/ops/claims.h"

namespace lockstep::verify {

// Multiply-adds of a call; a chain of steps has what its calls cost besides.
int64_t ScanClaimWork(const Case& c);
// As many tokens as that; runs are cut, or the last ones go on.
Result<Case> ScanOfLength(const Case& c, const ClaimSize& size);
// So many rows; ragged: runs of one row, whose lengths differ.
Result<Case> ScanOfBatch(const Case& c, const ClaimSize& size);
// So many groups of heads.
Result<Case> ScanOfHeads(const Case& c, const ClaimSize& size);
// Every row is one run; of those that are cut into chunks there is one.
Result<Case> ScanOfRows(const Case& c, const ClaimSize& size);
Result<Case> ScanOfOneRow(const Case& c, const ClaimSize& size);

std::vector<int64_t> ScanBatches(const Case& c, int64_t length);
std::vector<int64_t> ScanGroups(const Case& c, int64_t length);
std::vector<int64_t> ScanPaddings(const Case& c, int64_t length);
std::vector<int64_t> ScanChunks(const Case& c, int64_t length);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_MAMBA3_SCAN_CLAIM_SIZES_H_
