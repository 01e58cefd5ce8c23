// The receipt of a run: what was asked, what was resolved, what really ran,
// and what came of it; enough to judge the run without its log. Groups follow
// docs/verdicts.md; schema: docs/schemas/receipt.schema.json.
#ifndef LOCKSTEP_VERIFY_REPORT_RECEIPT_H_
#define LOCKSTEP_VERIFY_REPORT_RECEIPT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/base/io/files.h"
#include "verify/identify/evidence.h"
#include "verify/judge/verdict.h"
#include "verify/report/claims/claim_table.h"
#include "verify/run/environment.h"

namespace lockstep::verify {

// What was asked of the run.
struct ReceiptRequest {
  std::vector<std::string> arguments;  // of the command line
  std::vector<std::string> candidates;
  bool candidate_explicit = false;  // named by the caller, not the default
  std::string profile;
  // "option", "config", "candidate", "auto" or "builtin"
  std::string profile_source;
  std::optional<Identified> identified;  // of "auto"
  std::string config;                    // file; empty: none
  uint64_t fresh_seed = 0;               // 0: no fresh data; below 2^53
  bool require_executed = false;
  std::string time;  // ISO 8601, UTC
};

// Cases wait in a Spool: memory does not grow with their number.
class Receipt {
 public:
  // `folder`: of the spool.
  Receipt(const Environment& environment, ReceiptRequest request,
          const std::string& folder);
  ~Receipt();

  void Add(const CaseResult& result);
  // The whole document; once. Errors: the spool's.
  Status Write(const Totals& totals, const ClaimTable& claims, int exit_code,
               const Sink& sink);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_RECEIPT_H_
