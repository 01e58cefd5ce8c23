// Parts of results as JSON, shared by events and receipts. Text that is not
// UTF-8 (paths may be anything) is replaced, never thrown about.
#ifndef LOCKSTEP_VERIFY_JSON_TEXT_H_
#define LOCKSTEP_VERIFY_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "verify/environment.h"
#include "verify/verdict.h"

namespace lockstep::verify {

using Json = nlohmann::ordered_json;

// indent < 0: one line.
std::string DumpJson(const Json& json, int indent);

Json ComparisonJson(const CaseResult& result, const Comparison& comparison);
Json EnvelopeJson(const CaseResult& result, const EnvelopeResult& found);
// Everything judged by allowed results, one entry per output and inputs.
Json JudgedJson(const CaseResult& result);
Json FindingJson(const CaseResult& result, const Finding& finding);
Json TotalsJson(const Totals& totals, int exit_code);
Json EnvironmentObject(const Environment& environment);
Json ExecutionJson(const CaseResult& result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JSON_TEXT_H_
