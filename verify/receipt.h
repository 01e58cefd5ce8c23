// The receipt of a run: what was asked, what was resolved, what really ran,
// and what came of it; enough to judge the run without its log. Groups follow
// docs/verdicts.md; schema: docs/schemas/receipt.schema.json.
#ifndef LOCKSTEP_VERIFY_RECEIPT_H_
#define LOCKSTEP_VERIFY_RECEIPT_H_

#include <memory>
#include <string>
#include <vector>

#include "verify/environment.h"
#include "verify/verdict.h"

namespace lockstep::verify {

// What was asked of the run.
struct ReceiptRequest {
  std::vector<std::string> arguments;  // of the command line
  std::vector<std::string> candidates;
  bool candidate_explicit = false;  // named by the caller, not the default
  std::string profile;
  bool require_executed = false;
  std::string time;  // ISO 8601, UTC
};

class Receipt {
 public:
  Receipt(const Environment& environment, ReceiptRequest request);
  ~Receipt();

  void Add(const CaseResult& result);
  std::string Document(const Totals& totals, int exit_code) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RECEIPT_H_
