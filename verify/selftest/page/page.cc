// The selftest as a page: what the judge is worth, for a sceptic to read.
#include <string>
#include <vector>

#include "verify/base/format.h"
#include "verify/report/markup/html.h"
#include "verify/report/markup/svg.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify {
namespace {

constexpr const char* kStyle = R"(
table.kills td, table.kills th { text-align: center; padding: .15rem .45rem; }
table.kills td:first-child, table.kills th:first-child { text-align: left;
  position: sticky; left: 0; background: var(--paper); }
table.kills td:first-child { font: .85em ui-monospace, monospace; }
table.kills td.no { color: var(--soft); }
table.kills td.kill { font-weight: 700; background: color-mix(in srgb,
  var(--accent) 22%, var(--paper)); }
table.kills tr.survivor td { outline: 2px solid var(--bad); }
table.kills .rule { border-left: 2px solid var(--soft); }
svg.rate { width: 8rem; height: 1.1em; max-width: none; display: inline-block;
  vertical-align: -.15em; }
svg.rate .whole { fill: var(--line); } svg.rate .range { fill: var(--accent); }
svg.rate .dot { fill: var(--ink); }
)";

// A rate with its interval, in words and as a stretch of [0, 1].
std::string RateHtml(const Rate& rate) {
  const auto [low, high] = Wilson(rate);
  return "<svg class=\"rate\" viewBox=\"0 0 100 14\" aria-hidden=\"true\">" +
         SvgRect(0, 6, 100, 8, "class=\"whole\"") +
         SvgRect(100 * low, 4, 100 * high, 10, "class=\"range\"") +
         SvgRect(std::min(100 * rate.value(), 97.0), 0,
                 std::min(100 * rate.value(), 97.0) + 3, 14, "class=\"dot\"") +
         Format("</svg> %.0f %% to %.0f %%", 100 * low, 100 * high);
}

std::string RateRow(const std::string& name, const Rate& rate,
                    const std::string& more) {
  return "<tr>" + HtmlCell(HtmlText(name)) +
         HtmlCell(Format("%lld of %lld", static_cast<long long>(rate.hits),
                         static_cast<long long>(rate.total))) +
         HtmlCell(RateHtml(rate)) + more + "</tr>\n";
}

std::string FamiliesHtml(const SelftestResult& result) {
  if (result.Mutants() == 0) return "";
  std::string text =
      "<h2>Known bugs by family</h2>\n<p>Killed: a tier that proves found the "
      "bug. With Wilson's 95 % interval.</p>\n<div class=\"wide\"><table>\n"
      "<tr><th>family</th><th>killed</th><th>interval</th></tr>\n";
  for (const auto& [name, rate] : KillsByFamily(result)) {
    text += RateRow(name, rate, "");
  }
  return text + "</table></div>\n";
}

std::string Killed(bool killed, const std::string& kind) {
  const std::string all = kind + (killed ? "kill" : "no");
  return HtmlCell(killed ? "kill" : "\xc2\xb7", all.c_str());
}

std::string KillsHead() {
  std::string text = "<tr><th>bug</th>";
  for (size_t t = 0; t < kProofTiers; ++t) {
    text += std::string("<th>") + ProofTierName(ProofTier(t)) + "</th>";
  }
  for (size_t r = 0; r < kForeignRules; ++r) {
    text += std::string("<th") + (r == 0 ? " class=\"rule\"" : "") + ">" +
            ForeignRuleName(ForeignRule(r)) + "</th>";
  }
  return text + "<th>cases</th><th>seconds</th></tr>\n";
}

std::string KillsHtml(const SelftestResult& result) {
  if (result.kills.empty()) return "";
  std::string text =
      "<h2>Which tier, and which other rule, finds which bug</h2>\n"
      "<p>Left of the line the tiers of Lockstep: the contract's bits, exact "
      "probes, the envelope, invariance, and the envelope on the ordinary "
      "cases alone. Right of it rules of the trade on the same ordinary "
      "cases. Framed: bugs that survive.</p>\n"
      "<div class=\"wide\"><table class=\"kills\">\n" +
      KillsHead();
  for (const KillRow& row : result.kills) {
    text += row.Killed() ? "<tr>" : "<tr class=\"survivor\">";
    text += HtmlCell(HtmlText(row.mutant->name));
    for (size_t t = 0; t < kProofTiers; ++t) text += Killed(row.killed[t], "");
    for (size_t r = 0; r < kForeignRules; ++r) {
      text += Killed(row.foreign[r], r == 0 ? "rule " : "");
    }
    text += HtmlCell(std::to_string(row.cases)) +
            HtmlCell(Format("%.3f", row.seconds)) + "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string PlansHtml(const SelftestResult& result) {
  if (result.plan_kills.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const PlanKill& row : result.plan_kills) {
    rows.push_back({row.mutant->name, InfoOf(row.mutant->invariant).name,
                    row.Killed() ? "kill"
                    : row.named  ? "found without the defect, too"
                                 : "survives"});
  }
  return "<h2>Planted defects of block tables</h2>\n" +
         HtmlTable({"defect", "invariant", ""}, rows, "text");
}

std::string RulesHtml(const SelftestResult& result) {
  if (result.kills.empty()) return "";
  const auto all = static_cast<int64_t>(result.kills.size());
  std::string text =
      "<h2>Other rules on the same bugs</h2>\n<div class=\"wide\"><table>\n"
      "<tr><th>rule</th><th>finds</th><th>interval</th><th>a correct kernel"
      "</th></tr>\n";
  for (size_t r = 0; r < kForeignRules; ++r) {
    const auto rule = static_cast<ForeignRule>(r);
    text += RateRow(ForeignRuleName(rule), {all, result.KilledByRule(rule)},
                    result.rejects_correct[r]
                        ? HtmlCell("rejected, too: worth nothing", "bad")
                        : HtmlCell("accepted"));
  }
  int64_t killed = 0;
  for (const KillRow& row : result.kills) killed += row.Killed() ? 1 : 0;
  return text +
         RateRow("Lockstep", {all, killed},
                 result.proof_false_alarms == 0
                     ? HtmlCell("accepted")
                     : HtmlCell("rejected somewhere", "bad")) +
         "</table></div>\n";
}

std::string ZooHtml(const SelftestResult& result) {
  if (result.zoo_cases == 0) return "";
  const auto row = [](const char* name, const Rate& rate) {
    const double high = Wilson(rate).second;
    return std::vector<std::string>{
        name,
        Format("%lld of %lld", static_cast<long long>(rate.hits),
               static_cast<long long>(rate.total)),
        Format("at most %.2g", high)};
  };
  std::string text =
      "<h2>False alarms on correct kernels</h2>\n<p>" +
      std::to_string(result.zoo_variants) +
      " correct variants, each under "
      "the profile it keeps; " +
      std::to_string(result.zoo_probes) +
      " of the cases were judged on a probe's inputs, too. The upper limit is "
      "that of Wilson's 95 % interval.</p>\n" +
      HtmlTable({"", "cases with an alarm", "rate"},
                {row("tiers that prove",
                     {result.zoo_cases, result.proof_false_alarms}),
                 row("suspicion",
                     {result.zoo_cases, result.statistics_false_alarms})});
  if (result.alarms.empty()) return text;
  std::vector<std::vector<std::string>> alarms;
  for (const ZooAlarm& alarm : result.alarms) {
    alarms.push_back({alarm.variant, alarm.line, alarm.what});
  }
  return text + "<h3>Alarms</h3>\n" +
         HtmlTable({"variant", "case", "what"}, alarms, "text");
}

std::string SurvivorsHtml(const SelftestResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const KillRow& row : result.kills) {
    if (!row.Killed()) rows.push_back({row.mutant->name, row.mutant->pattern});
  }
  for (const PlanKill& row : result.plan_kills) {
    if (!row.Killed()) rows.push_back({row.mutant->name, row.mutant->pattern});
  }
  if (rows.empty()) return "";
  return "<h2>Survivors</h2>\n" + HtmlTable({"bug", "cases"}, rows, "text");
}

}  // namespace

std::string SelftestPage(const SelftestResult& result) {
  const std::string body =
      "<h1>lockstep selftest</h1>\n" +
      HtmlFacts(
          {{"known bugs", result.Mutants() == 0
                              ? ""
                              : std::to_string(result.Killed()) + " of " +
                                    std::to_string(result.Mutants()) +
                                    " killed, the slowest in " +
                                    Format("%.2f s", result.SlowestKill())},
           {"correct kernels",
            result.zoo_cases == 0
                ? ""
                : std::to_string(result.proof_false_alarms) +
                      " alarms of tiers that prove in " +
                      Count(result.zoo_cases, "case") + " of " +
                      Count(result.zoo_variants, "variant")}}) +
      SurvivorsHtml(result) + FamiliesHtml(result) + RulesHtml(result) +
      ZooHtml(result) + KillsHtml(result) + PlansHtml(result);
  return HtmlPage("lockstep selftest", kStyle, body);
}

}  // namespace lockstep::verify
