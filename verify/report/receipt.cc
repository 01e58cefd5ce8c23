#include "verify/report/receipt.h"

#include <cstdlib>
#include <sstream>
#include <utility>

#include "reference/contract/attention_forward.h"
#include "reference/contract/numerics.h"
#include "verify/base/digest.h"
#include "verify/base/io/spool.h"
#include "verify/report/identify/json.h"
#include "verify/report/json_text.h"
#include "verify/report/report.h"

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
  if (!result.execution.products.empty()) {
    json["products"] = result.execution.products;
  }
  json["executed_as_requested"] = result.executed_as_requested;
  json["target"] = result.execution.target;
  json["threads"] = result.execution.threads;
  if (!result.kernel.empty()) {
    Json& kernel = json["kernel"] = Json::object();
    for (const Fact& fact : result.kernel) kernel[fact.name] = fact.value;
  }
  json["runs"] = result.runs;
  if (result.runs_again > 0) {
    json["runs_again"] = result.runs_again;
    json["runs_apart"] = result.runs_apart;
  }
  json["targets"] = result.targets;
  json["targets_not_run"] = TargetsNotRun(result);
  return json;
}

Json Problem(const CaseResult& result) {
  Json json;
  json["case"] = result.line;
  json["fresh"] = result.origin.fresh;
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
  const std::string order = key.value("order", OrderName(ProductOrder::kChain));
  return {
      {"contract_version", kContractVersion},
      {"profile", profile},
      {"lane", key.value("lane", "")},
      {"p_dtype", key.value("p", "")},
      {"product_order", order},
      {"qk_acc_dtype", "f32"},
      {"pv_acc_dtype", "f32"},
      {"l_source", "unrounded f32 p"},
      {"exp_base", 2},
      {"max_policy", "integer"},
      {"normalisation", "deferred"},
      {"reciprocal_impl", "exact division"},
      {"rounding", "nearest even"},
      {"ftz_daz", order == OrderName(ProductOrder::kAmx)},
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
  json["unbounded"] = UnboundedJson(result);
  json["rows"] = result.rows;
  json["rows_compared"] = result.rows_compared;
  json["rows_held"] = {
      {"reference", result.rows_compared}, {"optimized", result.rows_optimized},
      {"witness", result.rows_witnessed},  {"oracle", result.rows_oracle},
      {"range", result.rows_ranged},       {"none", UnheldRows(result)}};
  json["evidence"] = EvidenceJson(result);
  json["statistics"] = StatisticsJson(result);
  json["untried"] = UntriedJson(result);
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
          {"one_field", OneFieldJson(result)},
          {"findings", findings}};
}

// Further draws, with what was found on them.
Json Draws(const CaseResult& result) {
  Json draws = DrawsJson(result);
  for (size_t n = 0; n < draws.size(); ++n) {
    draws[n]["outcome"] = Outcome(result.draws[n]);
  }
  return draws;
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
  if (!result.draws.empty()) json["draws"] = Draws(result);
  if (result.shards) json["shards"] = ShardsJson(*result.shards);
  if (!result.claims_tried.empty()) json["claims"] = TriedClaimsJson(result);
  return json;
}

// As it stands inside a document, `spaces` deep.
std::string Indented(const Json& json, size_t spaces) {
  std::string text;
  for (const char c : DumpJson(json, 2)) {
    text += c;
    // No other newline than its own: those of strings are escaped.
    if (c == '\n') text.append(spaces, ' ');
  }
  return text;
}

}  // namespace

struct Receipt::State {
  Environment environment;
  ReceiptRequest request;
  Json head;        // what stands before the cases, the identity apart
  Digester digest;  // of the time and the body, which the identity names
  Spool cases;
};

Receipt::Receipt(const Environment& environment, ReceiptRequest request,
                 const std::string& folder)
    : state_(
          new State{environment, std::move(request), {}, {}, Spool(folder)}) {
  const ReceiptRequest& asked = state_->request;
  Json& head = state_->head;
  head["device"] = {{"kind", "cpu"},
                    {"name", environment.cpu},
                    {"count", 1},
                    {"threads", environment.threads}};
  head["request"] = {{"arguments", asked.arguments},
                     {"requested_backend", asked.candidates},
                     {"requested_backend_source",
                      asked.candidate_explicit ? "explicit" : "auto"},
                     {"profile", asked.profile},
                     {"profile_source", asked.profile_source},
                     {"config", asked.config},
                     {"fresh_seed", asked.fresh_seed},
                     {"require_executed", asked.require_executed}};
  if (asked.identified) {
    head["request"]["identified"] = IdentifiedJson(*asked.identified);
  }
  head["environment"] = EnvironmentObject(environment);
  std::string open = DumpJson(head, -1);
  open.pop_back();  // the brace: cases and outcome follow
  state_->digest.UpdateText(asked.time);
  state_->digest.UpdateText(open + ",\"cases\":[");
}

Receipt::~Receipt() = default;

void Receipt::Add(const CaseResult& result) {
  const Json one = CaseObject(result);
  const bool first = state_->cases.empty();
  state_->digest.UpdateText((first ? "" : ",") + DumpJson(one, -1));
  state_->cases.Append((first ? "\n    " : ",\n    ") + Indented(one, 4));
}

Status Receipt::Write(const Totals& totals, const ClaimTable& claims,
                      int exit_code, const Sink& sink) {
  const Environment& environment = state_->environment;
  const ReceiptRequest& request = state_->request;
  Json outcome = TotalsJson(totals, exit_code);
  outcome.erase("kind");
  if (!claims.rows().empty()) outcome["claims"] = ClaimTableJson(claims);
  state_->digest.UpdateText("],\"outcome\":" + DumpJson(outcome, -1) + "}");

  Json front;
  front["kind"] = "receipt";
  front["schema"] = kSchema;
  front["identity"] = {{"receipt_id", state_->digest.Hex()},
                       {"timestamp", request.time},
                       {"commit", environment.commit},
                       {"dirty", environment.dirty},
                       {"version", environment.version},
                       {"contract_version", environment.contract_version},
                       {"compiler", environment.compiler},
                       {"highway", environment.highway}};
  front.update(state_->head);
  std::string text = DumpJson(front, 2);
  text.resize(text.size() - 2);  // the newline and the brace
  sink(text + ",\n  \"cases\": [");
  const Status copied = state_->cases.CopyTo(sink);
  sink((state_->cases.empty() ? "],\n" : "\n  ],\n") +
       ("  \"outcome\": " + Indented(outcome, 2)) + "\n}\n");
  return copied;
}

}  // namespace lockstep::verify
