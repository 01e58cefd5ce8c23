// Parts of results as JSON, shared by events and receipts.
#ifndef LOCKSTEP_VERIFY_REPORT_JSON_TEXT_H_
#define LOCKSTEP_VERIFY_REPORT_JSON_TEXT_H_

#include "verify/base/io/json.h"
#include "verify/judge/verdict.h"
#include "verify/run/environment.h"

namespace lockstep::verify {

Json ComparisonJson(const CaseResult& result, const Comparison& comparison);
Json EnvelopeJson(const CaseResult& result, const EnvelopeResult& found);
// Everything judged by allowed results, one entry per output and inputs.
Json JudgedJson(const CaseResult& result);
// Elements of each output that could hardly have failed, where there are any.
Json UnboundedJson(const CaseResult& result);
// What statistics of the errors looked at, and the least probable of them.
Json StatisticsJson(const CaseResult& result);
// Planted faults with what shows them, and probes without an answer.
Json EvidenceJson(const CaseResult& result);
// What could not be tried: checks that the way in does not allow, and checks
// that lack an answer.
// Known bugs that give the same answer, best first.
Json CausesJson(const std::vector<Explanation>& causes);
Json OneFieldJson(const CaseResult& result);
Json UntriedJson(const CaseResult& result);
// Which shard was which.
Json ShardsJson(const ShardsTried& tried);
Json FindingJson(const CaseResult& result, const Finding& finding);
// The further draws of a case: line, verdict, reason, digest of the inputs.
Json DrawsJson(const CaseResult& result);
Json TotalsJson(const Totals& totals, int exit_code);
Json EnvironmentObject(const Environment& environment);
Json ExecutionJson(const CaseResult& result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_JSON_TEXT_H_
