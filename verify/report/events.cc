#include "verify/report/events.h"

#include "verify/report/json_text.h"

namespace lockstep::verify {

std::string StartEvent(const Environment& environment,
                       const std::vector<std::string>& candidates,
                       int64_t cases) {
  Json json;
  json["kind"] = "start";
  json["schema"] = 1;
  json["candidates"] = candidates;
  json["cases"] = cases;
  json["environment"] = EnvironmentObject(environment);
  return DumpJson(json, -1) + "\n";
}

namespace {

std::string FindingEvents(const CaseResult& result) {
  std::string lines;
  for (const Finding& finding : result.findings) {
    lines += DumpJson(FindingJson(result, finding), -1) + "\n";
  }
  return lines;
}

}  // namespace

std::string CaseEvents(const CaseResult& result) {
  Json json;
  json["kind"] = "case";
  json["case"] = result.line;
  json["candidate"] = result.candidate;
  json["verdict"] = VerdictName(result.verdict);
  json["reason"] = result.reason;
  json["one_field"] = OneFieldJson(result);
  json["rows"] = result.rows;
  json["rows_compared"] = result.rows_compared;
  json["unbounded"] = UnboundedJson(result);
  json["evidence"] = EvidenceJson(result);
  json["statistics"] = StatisticsJson(result);
  json["untried"] = UntriedJson(result);
  json["input_digest"] = result.input_digest;
  Json digests = Json::object();
  for (size_t t = 0; t < result.output_digests.size(); ++t) {
    digests[result.outputs[t].name] = result.output_digests[t];
  }
  json["output_digests"] = digests;
  json["executed"] = ExecutionJson(result);
  if (!result.draws.empty()) json["draws"] = DrawsJson(result);
  if (result.shards) json["shards"] = ShardsJson(*result.shards);
  if (!result.claims_tried.empty()) json["claims"] = TriedClaimsJson(result);
  json["seconds"] = result.seconds;
  std::string lines = DumpJson(json, -1) + "\n" + FindingEvents(result);
  for (const CaseResult& drawn : result.draws) {
    // Drawn blindly: that one proves little is no finding.
    if (drawn.verdict != Verdict::kUntrusted) lines += FindingEvents(drawn);
  }
  return lines;
}

std::string ClaimsEvent(const ClaimTable& claims) {
  const Json json = {{"kind", "claims"}, {"claims", ClaimTableJson(claims)}};
  return DumpJson(json, -1) + "\n";
}

std::string SummaryEvent(const Totals& totals, int exit_code) {
  return DumpJson(TotalsJson(totals, exit_code), -1) + "\n";
}

std::string EnvironmentJson(const Environment& environment) {
  return DumpJson(EnvironmentObject(environment), 2) + "\n";
}

}  // namespace lockstep::verify
