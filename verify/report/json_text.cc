#include "verify/report/json_text.h"

#include "verify/allowed/cause.h"
#include "verify/base/format.h"
#include "verify/judge/evidence/evidence.h"
#include "verify/report/report.h"

namespace lockstep::verify {
namespace {

std::string HexBits(Lane lane, uint32_t bits) {
  return Format("0x%0*x", static_cast<int>(2 * LaneBytes(lane)), bits);
}

// A float that matters is a hex string.
std::string HexFloat(double value) { return Format("%a", value); }

Json ElementJson(const OutputSpec& spec, const ElementWitness& witness) {
  Json index = Json::object();
  for (size_t axis = 0; axis < 4; ++axis) {
    if (spec.axes[axis] == nullptr) continue;
    index[spec.axes[axis]] = witness.index[axis];
  }
  Json json;
  json["index"] = index;
  json["class"] = PairClassName(witness.pair);
  json["expected_bits"] = HexBits(spec.lane, witness.expected);
  json["produced_bits"] = HexBits(spec.lane, witness.produced);
  json["expected"] = FormatElement(spec.lane, witness.expected);
  json["produced"] = FormatElement(spec.lane, witness.produced);
  json["ulp"] = witness.ulp;
  json["unwritten"] = witness.unwritten;
  return json;
}

// [lo, hi] as hex strings; "nan" where it belongs to the set.
Json SetJson(const ValueSet& set) {
  Json json = {{"lo", HexFloat(set.lo)}, {"hi", HexFloat(set.hi)}};
  if (set.nan) json["nan"] = true;
  return json;
}

Json BoundsJson(const CaseResult& result, const std::string& tensor,
                const EnvelopeWitness& witness) {
  Json index = Json::object();
  for (const OutputSpec& spec : result.outputs) {
    if (spec.name != tensor) continue;
    for (size_t axis = 0; axis < 4; ++axis) {
      if (spec.axes[axis] == nullptr) continue;
      index[spec.axes[axis]] = witness.index[axis];
    }
  }
  return {{"index", index},
          {"produced", HexFloat(witness.produced)},
          {"allowed", SetJson(witness.bounds.allowed)},
          {"truth", HexFloat(witness.bounds.truth)},
          {"bound", HexFloat(witness.bounds.error)}};
}

}  // namespace

Json EnvelopeJson(const CaseResult& result, const EnvelopeResult& found) {
  Json shares = Json::object();
  for (size_t i = 0; i < kCauses; ++i) {
    if (found.shares[i] > 0) {
      shares[CauseName(static_cast<Cause>(i))] = found.shares[i];
    }
  }
  Json json;
  json["tensor"] = found.tensor;
  json["passed"] = found.Passed();
  json["expected"] = found.expected;
  json["inside"] = found.inside;
  json["unbounded"] = found.unbounded;
  json["vacuous"] = found.vacuous;
  json["outside"] = found.outside;
  json["unlikely"] = found.unlikely;
  json["worst"] = HexFloat(found.worst);
  json["shares"] = shares;
  if (found.first)
    json["first"] = BoundsJson(result, found.tensor, *found.first);
  if (found.furthest) {
    json["furthest"] = BoundsJson(result, found.tensor, *found.furthest);
  }
  return json;
}

Json JudgedJson(const CaseResult& result) {
  Json list = Json::array();
  for (const Judged& judged : result.judged) {
    Json json = EnvelopeJson(result, judged.result);
    json["tier"] = TierName(judged.tier);
    json["case"] = judged.line;
    json["evidence"] = judged.evidence;
    list.push_back(json);
  }
  return list;
}

Json UnboundedJson(const CaseResult& result) {
  Json json = Json::object();
  for (const Judged& judged : result.judged) {
    if (judged.tier != Tier::kEnvelope || judged.result.Open() == 0) continue;
    json[judged.result.tensor] = judged.result.Open();
  }
  return json;
}

namespace {

Json OneStatisticJson(const Statistic& s) {
  return {{"name", s.name}, {"where", s.where},          {"value", s.value},
          {"rows", s.rows}, {"ln_probability", s.log_p}, {"ln_limit", s.limit}};
}

}  // namespace

Json StatisticsJson(const CaseResult& result) {
  if (!result.statistics || !result.statistics->why_not.empty()) {
    const std::string why = result.statistics ? result.statistics->why_not
                            : result.claims   ? "not come to"
                                              : "exact bits are claimed";
    return {{"looked_at", false}, {"why_not", why}};
  }
  const StatisticsResult& found = *result.statistics;
  Json alarms = Json::array();
  for (const Statistic& s : found.alarms) {
    if (alarms.size() == 16) break;  // of thousands of keys
    alarms.push_back(OneStatisticJson(s));
  }
  return {{"looked_at", true},
          {"tensor", found.tensor},
          {"false_alarms", kStatisticsRate},
          {"rows", found.rows},
          {"rows_judged", found.judged},
          {"tests", found.tests},
          {"by_key", found.pools},
          {"strongest", OneStatisticJson(found.strongest)},
          {"alarms", alarms}};
}

Json EvidenceJson(const CaseResult& result) {
  Json faults = Json::array();
  for (const Evidence& entry : result.evidence) {
    faults.push_back({{"kind", entry.kind},
                      {"what", entry.what},
                      {"shown_by", entry.shown_by},
                      {"looked_at", entry.looked_at}});
  }
  Json probes = Json::array();
  for (const std::string& line : result.probes_met) probes.push_back(line);
  Json missed = Json::array();
  for (const std::string& name : result.probes_missed) missed.push_back(name);
  return {{"faults", faults},
          {"unprobed", UnshownKinds(result, true)},
          {"not_looked_at", UnshownKinds(result, false)},
          {"probes_met", probes},
          {"probes_missed", missed}};
}

Json CausesJson(const std::vector<Explanation>& causes) {
  Json json = Json::array();
  for (const Explanation& cause : causes) {
    json.push_back({{"cause", cause.bug},
                    {"sentence", ExplanationText(cause)},
                    {"what", cause.what},
                    {"where", cause.where},
                    {"candidate", cause.candidate},
                    {"score", cause.explained},
                    {"same_bits", cause.same_bits},
                    {"proved", cause.Proved()},
                    {"doubt", cause.doubt},
                    {"alike", cause.alike}});
  }
  return json;
}

Json OneFieldJson(const CaseResult& result) {
  if (result.one_field.empty()) return Json::object();
  return {{"field", result.one_field},
          {"verdict", VerdictName(result.one_field_verdict)}};
}

Json UntriedJson(const CaseResult& result) {
  Json unanswered = Json::array();
  for (const Unanswered& one : result.unanswered) {
    unanswered.push_back({{"check", one.check}, {"why", one.why}});
  }
  std::vector<std::string> checks = result.untried;
  for (const auto* more : {&result.refused, &result.too_large}) {
    checks.insert(checks.end(), more->begin(), more->end());
  }
  return {{"checks", checks},
          {"outputs", result.lacking},
          {"unanswered", unanswered}};
}

Json ShardsJson(const ShardsTried& tried) {
  return {{"shard", tried.shard}, {"calls", tried.calls},
          {"empty", tried.empty}, {"elements", tried.elements},
          {"parts", tried.parts}, {"why_not", tried.why_not}};
}

Json ComparisonJson(const CaseResult& result, const Comparison& comparison) {
  OutputSpec spec;
  for (const OutputSpec& output : result.outputs) {
    if (output.name == comparison.tensor) spec = output;
  }
  Json classes = Json::object();
  for (size_t n = 0; n < kPairClasses; ++n) {
    classes[PairClassName(static_cast<PairClass>(n))] = comparison.counts[n];
  }
  Json json;
  json["tensor"] = comparison.tensor;
  json["lane"] = LaneName(comparison.lane);
  json["shape"] = comparison.shape;
  json["passed"] = comparison.Passed();
  if (!comparison.mismatch.empty()) json["mismatch"] = comparison.mismatch;
  json["compared"] = comparison.Compared();
  json["over"] = comparison.Over();
  json["unwritten"] = comparison.unwritten;
  json["max_ulp"] = comparison.max_ulp;
  json["max_abs"] = HexFloat(comparison.max_abs);
  json["bound"] = result.claims ? "none" : "bits";
  json["classes"] = classes;
  if (comparison.first) {
    json["first"] = ElementJson(spec, *comparison.first);
    json["worst"] = ElementJson(spec, *comparison.worst);
  }
  return json;
}

Json FindingJson(const CaseResult& result, const Finding& finding) {
  Json json;
  json["kind"] = "finding";
  json["verdict"] = VerdictName(result.verdict);
  json["tier"] = TierName(finding.tier);
  json["check"] = finding.check;
  json["signature"] = SignatureOf(finding);
  json["message"] = finding.message;
  json["case"] = finding.line.empty() ? result.line : finding.line;
  json["sequence"] = ReplayCase(result, finding);
  if (!result.draw_of.empty()) json["draw_of"] = result.draw_of;
  json["profile"] = result.profile;
  json["candidate"] = ReplayCandidate(result, finding);
  json["options"] = result.replay_options;
  json["attribution"] = CausesJson(result.causes);
  json["replay"] = ReplayLine(result, finding);
  if (result.origin.file != nullptr) {
    json["file"] = *result.origin.file;
    json["line"] = result.origin.number;
  }
  if (result.known) {
    json["known"] = result.known->text;
    json["excused"] = Excused(result);
  }
  if (finding.comparison) {
    json["comparison"] = ComparisonJson(result, *finding.comparison);
  }
  if (finding.envelope) {
    json["envelope"] = EnvelopeJson(result, *finding.envelope);
  }
  return json;
}

Json DrawsJson(const CaseResult& result) {
  Json json = Json::array();
  for (const CaseResult& drawn : result.draws) {
    json.push_back({{"case", drawn.line},
                    {"verdict", VerdictName(drawn.verdict)},
                    {"reason", drawn.reason},
                    {"input_digest", drawn.input_digest}});
  }
  return json;
}

namespace {

Json CountsJson(const VerdictCounts& draws) {
  return {{"draws", draws.cases},         {"pass", draws.pass},
          {"fail", draws.fail},           {"suspicious", draws.suspicious},
          {"untrusted", draws.untrusted}, {"skipped", draws.skipped},
          {"error", draws.error},         {"known", draws.known}};
}

}  // namespace

Json TotalsJson(const Totals& totals, int exit_code) {
  Json json;
  json["kind"] = "summary";
  json["cases"] = totals.cases;
  json["pass"] = totals.pass;
  json["fail"] = totals.fail;
  json["suspicious"] = totals.suspicious;
  json["untrusted"] = totals.untrusted;
  json["skipped"] = totals.skipped;
  json["error"] = totals.error;
  json["known"] = totals.known;
  if (totals.draws.cases > 0) json["draws"] = CountsJson(totals.draws);
  json["not_run"] = totals.not_run;
  json["runs"] = totals.runs;
  json["faults_rarer_than_1_in"] = RarestFault(totals.runs);
  json["interrupted"] = totals.interrupted;
  json["seconds"] = totals.seconds;
  json["exit"] = exit_code;
  return json;
}

namespace {

Json OracleObject(const Environment& environment) {
  Json supported = Json::array();
  Json not_run = Json::array();
  for (const TargetState& target : environment.oracle) {
    (target.supported ? supported : not_run).push_back(target.name);
  }
  return {{"supported", supported},
          {"not_run", not_run},
          {"used", supported.empty() ? Json("") : supported.back()}};
}

}  // namespace

Json EnvironmentObject(const Environment& environment) {
  Json compiled = Json::array();
  Json supported = Json::array();
  Json not_run = Json::array();
  Json native_dot = Json::array();
  Json matrix_unit = Json::array();
  for (const TargetState& target : environment.targets) {
    compiled.push_back(target.name);
    (target.supported ? supported : not_run).push_back(target.name);
    if (target.native_dot) native_dot.push_back(target.name);
    if (target.matrix_unit) matrix_unit.push_back(target.name);
  }
  Json json;
  json["targets"] = {{"compiled", compiled},       {"supported", supported},
                     {"not_run", not_run},         {"native_dot", native_dot},
                     {"matrix_unit", matrix_unit}, {"used", environment.used}};
  json["oracle"] = OracleObject(environment);
  json["version"] = environment.version;
  json["commit"] = environment.commit;
  json["dirty"] = environment.dirty;
  json["compiler"] = environment.compiler;
  json["build_type"] = environment.build_type;
  json["highway"] = environment.highway;
  json["system"] = environment.system;
  json["machine"] = environment.machine;
  json["cpu"] = environment.cpu;
  json["threads"] = environment.threads;
  if (!environment.waiting.empty()) json["waiting"] = environment.waiting;
  json["memory_bytes"] = environment.memory_bytes;
  json["rounding"] = environment.rounding;
  json["ftz"] = environment.ftz;
  json["daz"] = environment.daz;
  json["contract_version"] = environment.contract_version;
  return json;
}

Json ExecutionJson(const CaseResult& result) {
  const Execution& ran = result.execution;
  Json json;
  json["backend"] = ran.backend;
  json["target"] = ran.target;
  json["threads"] = ran.threads;
  json["fallback_reason"] = ran.fallback_reason;
  if (!ran.products.empty()) json["products"] = ran.products;
  json["as_requested"] = result.executed_as_requested;
  json["runs"] = result.runs;
  if (result.runs_again > 0) {
    json["runs_again"] = result.runs_again;
    json["runs_apart"] = result.runs_apart;
  }
  json["targets"] = result.targets;
  json["targets_not_run"] = TargetsNotRun(result);
  return json;
}

}  // namespace lockstep::verify
