// A run as a page that a person reads: what was asked, what came of every case,
// and of the first failures where the answer is wrong.
#ifndef LOCKSTEP_VERIFY_REPORT_PAGE_VERDICTS_H_
#define LOCKSTEP_VERIFY_REPORT_PAGE_VERDICTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "verify/judge/verdict.h"
#include "verify/report/claims/claim_table.h"
#include "verify/report/receipt.h"
#include "verify/report/report.h"
#include "verify/run/environment.h"

namespace lockstep::verify {

// Cases told at length, and lines of the table of all; the page says what is
// left out beyond them.
inline constexpr int64_t kToldCases = 100;
inline constexpr int64_t kListedCases = 1000;

class VerdictPage {
 public:
  VerdictPage(const Environment& environment, ReceiptRequest request);

  // Each cause has a section, with the first case that shows it, and with the
  // others in short; cases that passed have a line.
  void Add(const CaseResult& result);
  std::string Write(const Totals& totals, const RunStatistics& statistics,
                    const ClaimTable& claims, int exit_code) const;

 private:
  // One cause, and what is drawn of its first case, up to the other cases.
  struct Told {
    std::string kind, bug;  // of the fault; the known bug, empty: none
    std::string title;
    int64_t number = 0;  // of the first case
    std::string head, tail;
    std::string others;
    int64_t more = 0;
  };

  std::string Asked() const;
  // The section that a case belongs to; it may be new.
  Told& ToldOf(const CaseResult& result);
  std::string Sections() const;

  Environment environment_;
  ReceiptRequest request_;
  int64_t cases_ = 0;
  int64_t told_ = 0;
  int64_t untold_ = 0;    // not passed, without a section
  int64_t unlisted_ = 0;  // passed, without a line
  std::string rows_;      // of the table
  std::vector<Told> causes_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_PAGE_VERDICTS_H_
