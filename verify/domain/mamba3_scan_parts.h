// Parts of the domain of scans: see mamba3_scan.h.
#ifndef LOCKSTEP_VERIFY_DOMAIN_MAMBA3_SCAN_PARTS_H_
#define LOCKSTEP_VERIFY_DOMAIN_MAMBA3_SCAN_PARTS_H_

#include <cstdint>
#include <vector>

#include "verify/case/mamba3_scan/case.h"
#include "verify/domain/domain.h"

namespace lockstep::verify {

// A scan of small sizes, maybe called twice.
std::vector<Case> DrawSmallScan(const OpRow& op, Draw* draw,
                                const DomainOptions& options);

// mamba3_scan/sizes.cc: multiply-adds of the state.
int64_t WorkOf(const Mamba3ScanProblem& p);
// Another number of tokens; runs are cut off, or the last one ends early.
void SetTokens(int64_t length, Mamba3ScanCase* c);
// Another width of the state, with at most as many angles as it holds.
void SetState(int64_t n, Mamba3ScanCase* c);
// Now and then the widths of real models, or many tokens.
std::vector<Case> WithScanSizes(Draw* draw, std::vector<Case> sequence);

// mamba3_scan/served.cc: scans that people train and serve.
std::vector<Case> WithServedScans(Draw* draw, const DomainOptions& options,
                                  std::vector<Case> sequence);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_MAMBA3_SCAN_PARTS_H_
