// The selftest's tables and JSON.
#include <algorithm>
#include <map>
#include <string>

#include "verify/base/format.h"
#include "verify/oracle/targets.h"
#include "verify/report/json_text.h"
#include "verify/selftest/program.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify {
namespace {

std::string Pad(std::string text, size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

std::string KillLine(const KillRow& row) {
  std::string line = Pad(row.mutant->name, 34);
  for (size_t t = 0; t < kProofTiers; ++t) {
    line += Pad(row.killed[t] ? "kill" : ".", 11);
  }
  for (size_t r = 0; r < kForeignRules; ++r) {
    line += Pad(row.foreign[r] ? "kill" : ".", 11);
  }
  return line + Pad(std::to_string(row.cases), 6) + Format("%.3f", row.seconds);
}

std::string AlarmsText(const std::string& kind,
                       const std::vector<ZooAlarm>& alarms) {
  std::string text;
  for (const ZooAlarm& alarm : alarms) {
    text += kind + ": " + alarm.variant + "  " + alarm.line + "  " +
            alarm.what + "\n";
  }
  return text;
}

Json AlarmsJson(const std::vector<ZooAlarm>& alarms) {
  Json json = Json::array();
  for (const ZooAlarm& alarm : alarms) {
    json.push_back({{"variant", alarm.variant},
                    {"case", alarm.line},
                    {"what", alarm.what}});
  }
  return json;
}

}  // namespace

std::map<std::string, Rate> KillsByFamily(const SelftestResult& result) {
  std::map<std::string, Rate> families;
  for (const KillRow& row : result.kills) {
    Rate& family = families[row.mutant->family];
    ++family.total;
    family.hits += row.Killed();
  }
  for (const PlanKill& row : result.plan_kills) {
    Rate& family = families[std::string("plan/") + row.mutant->family];
    ++family.total;
    family.hits += row.Killed();
  }
  return families;
}

std::string ZooText(const SelftestResult& result) {
  std::string text =
      "zoo: " + std::to_string(result.zoo_variants) + " variants, " +
      std::to_string(result.zoo_cases) + " cases, " +
      std::to_string(result.zoo_probes) + " probes, " +
      std::to_string(result.proof_false_alarms) + " proof alarms, " +
      std::to_string(result.statistics_false_alarms) + " suspicious cases, " +
      Format("%.1f", result.zoo_seconds) + " s\n";
  for (const auto& [key, cases] : result.zoo_with) {
    text += "with " + key + ": " + std::to_string(cases) + " cases\n";
  }
  for (const oracle::Target target : oracle::CompiledTargets()) {
    if (oracle::IsSupported(target)) continue;
    text += std::string("not run: the oracle on ") +
            oracle::TargetName(target) + " (this CPU)\n";
  }
  text += AlarmsText("alarm", result.alarms);
  return text + AlarmsText("suspicious", result.suspicious);
}

std::string SelftestText(const SelftestResult& result) {
  std::string text = Pad("mutant", 34);
  for (size_t t = 0; t < kProofTiers; ++t) {
    text += Pad(ProofTierName(static_cast<ProofTier>(t)), 11);
  }
  for (size_t r = 0; r < kForeignRules; ++r) {
    text += Pad(ForeignRuleName(static_cast<ForeignRule>(r)), 11);
  }
  text += "cases seconds\n";
  for (const KillRow& row : result.kills) text += KillLine(row) + "\n";
  for (const PlanKill& kill : result.plan_kills) {
    text += Pad(kill.mutant->name, 34) +
            (kill.named ? InfoOf(kill.mutant->invariant).name : ".") +
            (kill.sound ? "" : " (and without the defect, too)") + "\n";
  }
  text += "\n";
  for (const auto& [name, family] : KillsByFamily(result)) {
    const auto [low, high] = Wilson(family);
    text += Pad(name, 13) + std::to_string(family.hits) + " of " +
            std::to_string(family.total) + " killed, 95 % interval " +
            Format("%.2f", low) + " to " + Format("%.2f", high) + "\n";
  }
  text += "\nmutants: " + std::to_string(result.Killed()) + " of " +
          std::to_string(result.Mutants()) + " killed, slowest " +
          Format("%.2f", result.SlowestKill()) + " s; foreign rules:";
  for (size_t r = 0; r < kForeignRules; ++r) {
    const auto rule = static_cast<ForeignRule>(r);
    text += std::string(" ") + ForeignRuleName(rule) + " " +
            std::to_string(result.KilledByRule(rule));
    if (result.rejects_correct[r]) text += " (rejects a correct kernel, too)";
  }
  for (const KillRow& row : result.kills) {
    if (!row.Killed()) {
      text += std::string("\nsurvivor: ") + row.mutant->name + "  " +
              row.mutant->pattern;
    }
  }
  for (const PlanKill& row : result.plan_kills) {
    if (row.Killed()) continue;
    text += std::string("\nsurvivor: ") + row.mutant->name + "  " +
            row.mutant->pattern;
  }
  return text + "\n" + ZooText(result);
}

std::string SelftestJson(const SelftestResult& result) {
  Json rules = Json::object();
  Json rejects_correct = Json::array();
  for (size_t r = 0; r < kForeignRules; ++r) {
    const auto rule = static_cast<ForeignRule>(r);
    rules[ForeignRuleName(rule)] = result.KilledByRule(rule);
    if (result.rejects_correct[r]) {
      rejects_correct.push_back(ForeignRuleName(rule));
    }
  }
  Json survivors = Json::array();
  Json kills = Json::array();
  for (const KillRow& row : result.kills) {
    if (!row.Killed()) survivors.push_back(row.mutant->name);
    Json tiers = Json::array();
    for (size_t t = 0; t < kProofTiers; ++t) {
      if (row.killed[t]) tiers.push_back(ProofTierName(ProofTier(t)));
    }
    Json foreign = Json::array();
    for (size_t r = 0; r < kForeignRules; ++r) {
      if (row.foreign[r]) foreign.push_back(ForeignRuleName(ForeignRule(r)));
    }
    kills.push_back({{"mutant", row.mutant->name},
                     {"family", row.mutant->family},
                     {"tiers", tiers},
                     {"rules", foreign},
                     {"cases", row.cases},
                     {"seconds", row.seconds},
                     {"case", row.by},
                     {"envelope_case", row.envelope_by}});
  }
  for (const PlanKill& row : result.plan_kills) {
    if (!row.Killed()) survivors.push_back(row.mutant->name);
    kills.push_back(
        {{"mutant", row.mutant->name},
         {"family", std::string("plan/") + row.mutant->family},
         {"tiers", row.Killed()
                       ? Json::array({InfoOf(row.mutant->invariant).name})
                       : Json::array()},
         {"rules", Json::array()},
         {"cases", 1},
         {"seconds", row.seconds},
         {"case", std::string("block_plan ") + row.mutant->pattern},
         {"envelope_case", ""}});
  }
  Json zoo = Json::array();
  for (const ZooCount& op : result.zoo) {
    zoo.push_back({{"op", op.op},
                   {"variants", op.variants},
                   {"cases", op.cases},
                   {"proof_false_alarms", op.proof_alarms}});
  }
  Json json = {{"kind", "selftest"},
               {"program", ProgramJson()},
               {"seed", result.seed},
               {"mutants_total", result.Mutants()},
               {"mutants_killed", result.Killed()},
               {"survivors", survivors},
               {"slowest_kill_s", result.SlowestKill()},
               {"zoo", zoo},
               {"zoo_seconds", result.zoo_seconds},
               {"zoo_variants", result.zoo_variants},
               {"zoo_cases", result.zoo_cases},
               {"zoo_probes", result.zoo_probes},
               {"proof_false_alarms", result.proof_false_alarms},
               {"statistics_false_alarms", result.statistics_false_alarms},
               {"rules", rules},
               {"rules_rejecting_correct", rejects_correct},
               {"kills", kills},
               {"alarms", AlarmsJson(result.alarms)},
               {"suspicious", AlarmsJson(result.suspicious)}};
  if (!result.zoo_with.empty()) json["zoo_with"] = result.zoo_with;
  return DumpJson(json, 2);
}

}  // namespace lockstep::verify
