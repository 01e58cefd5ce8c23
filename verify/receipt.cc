#include "verify/receipt.h"

#include <cstdlib>
#include <sstream>
#include <utility>

#include "reference/contract/numerics.h"
#include "verify/digest.h"
#include "verify/json_text.h"

namespace lockstep::verify {
namespace {

constexpr int kSchema = 1;

// "name=value name=value ..." as an object; words without '=' are left out.
Json Words(const std::string& text, char between = ' ',
           const std::string& equals = "=") {
  Json json = Json::object();
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, between);) {
    const size_t at = word.find(equals);
    if (at == std::string::npos) continue;
    json[word.substr(0, at)] = word.substr(at + equals.size());
  }
  return json;
}

Json Resolution(const CaseResult& result) {
  Json json;
  json["requested_backend"] = result.requested_backend;
  json["requested"] = result.candidate;
  json["actual_backend"] = result.execution.backend;
  Json chain = Json::array({result.requested_backend});
  if (!result.execution.fallback_reason.empty()) {
    chain.push_back(result.execution.backend);
  }
  json["backend_chain"] = chain;
  json["fallback_reason"] = result.execution.fallback_reason;
  json["executed_as_requested"] = result.executed_as_requested;
  json["target"] = result.execution.target;
  json["threads"] = result.execution.threads;
  json["runs"] = result.runs;
  json["targets"] = result.targets;
  return json;
}

Json Problem(const CaseResult& result) {
  Json json;
  json["case"] = result.line;
  json["static_key"] = Words(result.canonical);
  for (const Fact& fact : result.facts) {
    if (fact.number) {
      json[fact.name] = std::strtoll(fact.value.c_str(), nullptr, 10);
    } else {
      json[fact.name] = fact.value;
    }
  }
  json["input_digest"] = result.input_digest;
  return json;
}

Json PlanGroup(const CaseResult& result) {
  const Execution& ran = result.execution;
  Json json = Words(ran.plan);
  json["digest"] = ran.plan.empty() ? "" : DigestText(ran.plan);
  for (const Counter& counter : ran.counters) {
    json[counter.name] = counter.value;
  }
  json["tiles_visited"] = ran.Count("tiles_full") + ran.Count("tiles_partial");
  return json;
}

// The knobs of the exact contract; a candidate judged by the bits tier claims
// all of them.
Json NumericContract(const CaseResult& result) {
  const Json key = Words(result.canonical);
  if (result.claims) {
    Json fields = {{"contract_version", kContractVersion},
                   {"profile", result.claims->name},
                   {"lane", key.value("lane", "")},
                   {"ftz_daz", result.claims->ftz},
                   {"determinism_tier", "profile"}};
    if (!result.claims->scan) fields["p_dtype"] = key.value("p", "");
    fields["fields"] = Words(ProfileText(*result.claims), '\n', " = ");
    return fields;
  }
  const std::string profile = result.profile.empty() ? "exact" : result.profile;
  if (!result.canonical.starts_with("attention_forward ")) {
    return {{"contract_version", kContractVersion},
            {"profile", profile},
            {"lane", key.value("lane", "")},
            {"rotated_lane", key.value("rot", "")},
            {"rounding", "nearest even"},
            {"ftz_daz", false},
            {"determinism_tier", "bits"}};
  }
  return {
      {"contract_version", kContractVersion},
      {"profile", profile},
      {"lane", key.value("lane", "")},
      {"p_dtype", key.value("p", "")},
      {"qk_acc_dtype", "f32"},
      {"pv_acc_dtype", "f32"},
      {"l_source", "unrounded f32 p"},
      {"exp_base", 2},
      {"max_policy", "integer"},
      {"normalisation", "deferred"},
      {"reciprocal_impl", "exact division"},
      {"rounding", "nearest even"},
      {"ftz_daz", false},
      {"mask_position", "after_cap"},
      {"empty_row_policy", "zero_neginf"},
      {"determinism_tier", "bits"},
  };
}

Json Checks(const CaseResult& result) {
  Json json = Json::object();
  Json runs = Json::object();
  for (const Check& check : result.checks) {
    json[check.name] = check.passed;
    runs[check.name] = check.runs;
  }
  Json power = Json::object();
  for (const Power& null : result.power) power[null.null] = null.rejected;
  Json rules = Json::object();
  for (const Baseline& rule : result.baselines) rules[rule.rule] = rule.passes;
  Json canaries = Json::object();
  for (const Canary& canary : result.canaries) {
    canaries[canary.candidate] = canary.caught;
  }
  json["runs"] = runs;
  json["nulls_rejected"] = power;
  json["canaries_caught"] = canaries;
  json["other_rules_pass"] = rules;
  json["rows"] = result.rows;
  json["rows_compared"] = result.rows_compared;
  json["rows_excluded"] = result.rows - result.rows_compared;
  json["rows_excluded_reason"] =
      result.rows > result.rows_compared && result.rows_compared > 0
          ? "reference on sampled rows: all of them would cost too much"
          : "";
  return json;
}

Json Outcome(const CaseResult& result) {
  Json findings = Json::array();
  for (const Finding& finding : result.findings) {
    findings.push_back(FindingJson(result, finding));
  }
  return {{"status", VerdictName(result.verdict)},
          {"expect", ExpectName(result.expect)},
          {"failure_reason", result.reason},
          {"findings", findings}};
}

Json CaseObject(const CaseResult& result) {
  Json errors = Json::array();
  for (const Comparison& comparison : result.comparisons) {
    errors.push_back(ComparisonJson(result, comparison));
  }
  Json digests = Json::object();
  for (size_t t = 0; t < result.output_digests.size(); ++t) {
    digests[result.outputs[t].name] = result.output_digests[t];
  }
  Json json;
  json["resolution"] = Resolution(result);
  json["problem"] = Problem(result);
  json["plan"] = PlanGroup(result);
  json["numeric_contract"] = NumericContract(result);
  json["checks"] = Checks(result);
  json["errors"] = errors;
  json["allowed"] = JudgedJson(result);
  json["output_digests"] = digests;
  json["performance"] = {{"seconds", result.seconds},
                         {"candidate_seconds", result.candidate_seconds},
                         {"reference_seconds", result.reference_seconds}};
  json["outcome"] = Outcome(result);
  return json;
}

}  // namespace

struct Receipt::State {
  Environment environment;
  ReceiptRequest request;
  Json cases = Json::array();
};

Receipt::Receipt(const Environment& environment, ReceiptRequest request)
    : state_(std::make_unique<State>()) {
  state_->environment = environment;
  state_->request = std::move(request);
}

Receipt::~Receipt() = default;

void Receipt::Add(const CaseResult& result) {
  state_->cases.push_back(CaseObject(result));
}

std::string Receipt::Document(const Totals& totals, int exit_code) const {
  const Environment& environment = state_->environment;
  const ReceiptRequest& request = state_->request;
  Json body;
  body["device"] = {{"kind", "cpu"},
                    {"name", environment.cpu},
                    {"count", 1},
                    {"threads", environment.threads}};
  body["request"] = {{"arguments", request.arguments},
                     {"requested_backend", request.candidates},
                     {"requested_backend_source",
                      request.candidate_explicit ? "explicit" : "auto"},
                     {"profile", request.profile},
                     {"require_executed", request.require_executed}};
  body["environment"] = EnvironmentObject(environment);
  body["cases"] = state_->cases;
  Json outcome = TotalsJson(totals, exit_code);
  outcome.erase("kind");
  body["outcome"] = outcome;

  Json receipt;
  receipt["kind"] = "receipt";
  receipt["schema"] = kSchema;
  receipt["identity"] = {
      {"receipt_id", DigestText(request.time + DumpJson(body, -1))},
      {"timestamp", request.time},
      {"commit", environment.commit},
      {"dirty", environment.dirty},
      {"version", environment.version},
      {"contract_version", environment.contract_version},
      {"compiler", environment.compiler},
      {"highway", environment.highway}};
  receipt.update(body);
  return DumpJson(receipt, 2) + "\n";
}

}  // namespace lockstep::verify
