// NDJSON: one object a line, for programs. Keys are stable; more may be added.
// Schema: docs/schemas/events.schema.json.
#ifndef LOCKSTEP_VERIFY_REPORT_EVENTS_H_
#define LOCKSTEP_VERIFY_REPORT_EVENTS_H_

#include <string>
#include <vector>

#include "verify/judge/verdict.h"
#include "verify/report/claims/claim_table.h"
#include "verify/run/environment.h"

namespace lockstep::verify {

// Each ends with a newline.
std::string StartEvent(const Environment& environment,
                       const std::vector<std::string>& candidates,
                       int64_t cases);
// The case, and one line per finding.
std::string CaseEvents(const CaseResult& result);
// Where there are claims: their table.
std::string ClaimsEvent(const ClaimTable& claims);
std::string SummaryEvent(const Totals& totals, int exit_code);

// `lockstep env --json`.
std::string EnvironmentJson(const Environment& environment);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_EVENTS_H_
