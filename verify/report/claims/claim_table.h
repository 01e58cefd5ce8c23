// What a kernel keeps, over all cases of a run: a row a claim, for the
// terminal, the page and programs (docs/invariance.md).
#ifndef LOCKSTEP_VERIFY_REPORT_CLAIMS_CLAIM_TABLE_H_
#define LOCKSTEP_VERIFY_REPORT_CLAIMS_CLAIM_TABLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "verify/base/io/json.h"
#include "verify/judge/claims/claim.h"
#include "verify/judge/verdict.h"
#include "verify/report/report.h"

namespace lockstep::verify {

// A difference between two calls that a claim says are equal.
struct ClaimWitness {
  std::string line;     // the case, minimal
  std::string pair;     // the two calls, in words
  std::string element;  // "o [b=0 h=1 i=2 c=3]"
  std::string one;      // "+0x1.8p-3 (0x3e400000)": of the first call
  std::string other;
  std::string counts;  // "12 of 64 elements, max 3 ulp"
  std::string replay;
};

// A claim over all cases.
struct ClaimRow {
  Claim claim = Claim::kRepeat;
  bool claimed = false;
  // Where no pair was compared: kNotRun, if the claim says something of a case.
  ClaimState state = ClaimState::kNotApplicable;
  int64_t cases = 0;         // with at least one pair
  int64_t broken_cases = 0;  // with one that differs
  int64_t pairs = 0;
  int64_t broken = 0;
  int64_t elements = 0;   // compared, over all pairs
  int64_t differing = 0;  // of them
  uint64_t max_ulp = 0;
  ClaimTried widest;     // the largest sizes that were tried, of any case
  ClaimTried begins;     // where broken: of the case that begins at the least
  ClaimWitness witness;  // of the same
  // Why no pair was tried, and forms that the kernel does not compute: cases.
  std::map<std::string, int64_t> untried;
};

class ClaimTable {
 public:
  void Add(const CaseResult& result);

  // In the order in which claims were first met.
  const std::vector<ClaimRow>& rows() const { return rows_; }
  int64_t pairs() const;
  // Those that are claimed, and of which no pair was compared.
  std::vector<Claim> Unproved() const;

 private:
  ClaimRow* RowOf(Claim claim);

  std::vector<ClaimRow> rows_;
};

// `exit_code`: of the run, by its verdicts. Where it would pass: kExitVacuous
// if nothing was tried, or not all that is claimed.
int ClaimsExitCode(const ClaimTable& table, int exit_code);

// The table and a paragraph for each broken claim; ends with a newline.
std::string ClaimTableText(const ClaimTable& table, const ReportStyle& style);
std::string ClaimTableHtml(const ClaimTable& table);
// An object a row.
Json ClaimTableJson(const ClaimTable& table);
// An object a claim of the case.
Json TriedClaimsJson(const CaseResult& result);

// The last lines of `lockstep invariance`.
std::string InvarianceSummary(const ClaimTable& table, const Totals& totals,
                              const RunStatistics& statistics, int exit_code,
                              const ReportStyle& style);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_CLAIMS_CLAIM_TABLE_H_
