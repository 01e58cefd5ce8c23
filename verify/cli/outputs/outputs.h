// What a run of `lockstep verify`, `replay` or `invariance` leaves behind: the
// report on the screen, and files for machines.
#ifndef LOCKSTEP_VERIFY_CLI_OUTPUTS_OUTPUTS_H_
#define LOCKSTEP_VERIFY_CLI_OUTPUTS_OUTPUTS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>

#include "verify/base/io/spool.h"
#include "verify/cli/progress.h"
#include "verify/cli/session.h"
#include "verify/report/claims/claim_table.h"
#include "verify/report/gate/root_causes.h"
#include "verify/report/page/verdicts.h"

namespace lockstep::verify::cli {

// "2026-11-22T17:05:00Z".
std::string UtcNow();

// What fails a run although every verdict passed, as the options have it.
ExitPolicy PolicyOf(const SessionOptions& options);

// Errors: a file cannot be written, would replace another or one that is read,
// or stdout is asked for twice.
Status CheckOutputs(const SessionOptions& options);

// From here on a JUnit file is there, whatever happens: it says that the run
// did not come to its end, until another takes its place. Requires:
// CheckOutputs().
void BeginOutputs(const SessionOptions& options);

// The run ends before anything was judged: `message` on stderr, as a remark in
// the log of a CI job, and in the JUnit file. Returns `code`.
int Refuse(const SessionOptions& options, const std::string& message,
           int code = kExitUsage);

// Its functions may be called from several threads.
class Outputs : public RunObserver {
 public:
  // Files of an earlier run are gone then. Requires: CheckOutputs().
  Outputs(const SessionOptions& options, int64_t total,
          const Environment& environment, ReceiptRequest request);

  void OnDecided(const CaseResult& result) override;
  void OnCase(const CaseResult& result, const Totals&, int64_t) override;
  void ShowProgress();
  // Ends the process inside a case, with all that is known by then; the case
  // counts as one that did not run.
  [[noreturn]] void EndInside(bool interrupted);
  // The same where the run cannot go on: `why` on stderr. The exit code is
  // `code`; not that for usage where a kernel is known to be wrong.
  [[noreturn]] void EndShort(const std::string& why, int code);
  // Delivers everything. Returns the exit code: `exit_code`, or one for usage
  // where that is none and a file could not be written.
  int Finish(const Totals& totals, int exit_code);

 private:
  // The last lines on the screen.
  std::string Summary(const Totals& totals, int exit_code) const;
  // With what claims add to the exit code of the verdicts.
  int ExitOf(int exit_code) const;
  // Of what is known inside a case.  Requires: the mutex, held for good.
  int CloseTotals();
  [[noreturn]] void End(int exit_code);
  Status Deliverables(const Totals& totals, int exit_code);
  void Emit(const std::string& lines);
  void ShowRemarks(const Totals& totals);

  const SessionOptions& options_;
  const ExitPolicy policy_;
  Progress progress_;
  JUnit junit_;
  Spool events_;
  std::unique_ptr<Receipt> receipt_;
  std::unique_ptr<VerdictPage> page_;
  std::ostream* text_;
  ReportStyle style_;
  RunStatistics statistics_;
  ClaimTable claims_;
  RootCauses causes_;
  KnownUse known_;
  std::mutex mutex_;
  Totals totals_;  // so far
  const int64_t total_;
  bool begun_ = false;  // the next case is on the screen as one that fails
  int64_t done_ = 0;
  int64_t fresh_ = 0;  // of them, with drawn seeds
  int64_t findings_ = 0;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_OUTPUTS_OUTPUTS_H_
