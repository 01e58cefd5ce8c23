// lockstep list: what there is, one entry a line.
#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "optimized/plan.h"
#include "verify/base/nearest_name.h"
#include "verify/base/printable.h"
#include "verify/base/status_macros.h"
#include "verify/case/probe_kind.h"
#include "verify/cli/cli.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/emulator/mutants.h"
#include "verify/emulator/mutants_claims.h"
#include "verify/emulator/mutants_shards/bugs.h"
#include "verify/profile/claims.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"
#include "verify/report/json_text.h"
#include "verify/tables/mutants.h"

namespace lockstep::verify::cli {
namespace {

const std::vector<std::string> kLists = {"ops",     "targets",  "profiles",
                                         "claims",  "families", "probes",
                                         "mutants", "variants", "cases"};

struct Listed {
  std::string name;
  std::string description;
  Json record;  // the rest, for --json
};

std::vector<Listed> ListOps() {
  std::vector<Listed> entries;
  for (const OpRow* op : Ops()) {
    entries.push_back({op->text.name, op->text.description, Json::object()});
  }
  return entries;
}

std::vector<Listed> ListTargets() {
  std::vector<Listed> entries;
  bool used = false;
  for (const optimized::Target& target : optimized::Targets()) {
    const bool best = target.supported && !used;
    used = used || target.supported;
    std::string text = target.supported ? "supported" : "not on this CPU";
    if (target.native_dot) text += ", bf16 dot instruction";
    if (target.matrix_unit) text += ", matrix unit";
    if (best) text += ", used by default";
    entries.push_back({target.name,
                       text,
                       {{"supported", target.supported},
                        {"native_dot", target.native_dot},
                        {"matrix_unit", target.matrix_unit},
                        {"used", best}}});
  }
  return entries;
}

std::vector<Listed> ListProfiles() {
  std::vector<Listed> entries;
  for (const NumericProfile& profile : BuiltinProfiles()) {
    Json fields = Json::object();
    std::istringstream lines(ProfileText(profile));
    for (std::string line; std::getline(lines, line);) {
      const size_t equals = line.find(" = ");
      fields[line.substr(0, equals)] = line.substr(equals + 3);
    }
    entries.push_back(
        {profile.name, profile.description, {{"fields", fields}}});
  }
  return entries;
}

std::vector<Listed> ListClaims() {
  std::vector<Listed> entries;
  for (const ClaimInfo& info : ClaimInfos()) {
    entries.push_back({info.name, info.means, Json::object()});
  }
  return entries;
}

std::vector<Listed> ListMutants() {
  std::vector<Listed> entries;
  for (const MutantInfo& info : Mutants()) {
    entries.push_back({info.name,
                       info.breaks,
                       {{"op", info.op()},
                        {"family", info.family},
                        {"base", info.base},
                        {"dial", info.dial ? Json(info.dial) : Json()},
                        {"severity", info.severity},
                        {"pattern", info.pattern}}});
  }
  for (const ClaimBug& bug : ClaimBugs()) {
    entries.push_back({bug.name,
                       bug.breaks,
                       {{"op", bug.op()},
                        {"family", "claims"},
                        {"claim", ClaimName(bug.claim)},
                        {"also", bug.also},
                        {"base", bug.usual},
                        {"dial", Json()},
                        {"severity", 0},
                        {"pattern", bug.pattern}}});
  }
  for (const ShardBug& bug : ShardBugs()) {
    entries.push_back({bug.name,
                       bug.breaks,
                       {{"op", bug.op()},
                        {"family", "shards"},
                        {"shard", bug.shard},
                        {"base", bug.usual},
                        {"dial", Json()},
                        {"severity", 0},
                        {"pattern", bug.pattern}}});
  }
  for (const PlanMutantInfo& info : PlanMutants()) {
    entries.push_back({info.name,
                       info.breaks,
                       {{"op", "block_plan"},
                        {"family", info.family},
                        {"invariant", InfoOf(info.invariant).name},
                        {"pattern", info.pattern}}});
  }
  return entries;
}

std::vector<Listed> ListVariants() {
  std::vector<Listed> entries;
  const auto add = [&](const auto& variant, const char* op) {
    entries.push_back(
        {variant.name(), variant.numeric.description, {{"op", op}}});
  };
  for (const AttentionVariant& v : AttentionZoo()) add(v, "attention_forward");
  for (const GradVariant& v : GradZoo()) add(v, "attention_backward");
  for (const MergeVariant& v : MergeZoo()) add(v, "attention_merge");
  for (const ScanVariant& v : ScanZoo()) add(v, "mamba3_scan");
  for (const ScanGradVariant& v : ScanGradZoo()) {
    entries.push_back({v.name(),
                       v.scan.numeric.description,
                       {{"op", "mamba3_scan_backward"}}});
  }
  return entries;
}

std::vector<Listed> ListFamilies() {
  std::vector<Listed> entries;
  for (const FillFamily& family : FillFamilies()) {
    entries.push_back(
        {family.name,
         family.description,
         {{"arguments", family.arguments}, {"modifier", family.modifier}}});
  }
  return entries;
}

std::vector<Listed> ListProbes() {
  std::vector<Listed> entries;
  for (const ProbeInfo& probe : Probes()) {
    entries.push_back({probe.name, probe.description, Json::object()});
  }
  return entries;
}

// A case that is refused has no size.
std::string SizeText(int64_t bytes) {
  if (bytes == INT64_MAX) return "refused";
  return std::to_string(bytes / 1024 + (bytes % 1024 != 0 ? 1 : 0)) + " KiB";
}

Result<std::vector<Listed>> ListCases(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<Job> jobs, JobsFromFile(path, Ops()));
  std::vector<Listed> entries;
  for (const Job& job : jobs) {
    int64_t bytes = 0;
    for (const Case& c : job.sequence) {
      bytes = std::max(bytes, EstimateBytes(c));
    }
    const int64_t line = job.origin.number;
    entries.push_back({MinimalLine(job.sequence),
                       "line " + std::to_string(line) + ", expect " +
                           ExpectName(job.sequence.back().expect) + ", " +
                           SizeText(bytes),
                       {{"canonical", CanonicalLine(job.sequence)},
                        {"line", line},
                        {"expect", ExpectName(job.sequence.back().expect)},
                        {"bytes", bytes == INT64_MAX ? Json() : Json(bytes)}}});
  }
  return entries;
}

Result<std::vector<Listed>> List(const std::string& what,
                                 const std::string& file) {
  if (what == "cases") {
    if (file.empty()) {
      return Status::Error(
          "list cases wants a case file, such as "
          "data/cases/smoke.cases");
    }
    return ListCases(file);
  }
  if (!file.empty()) {
    return Status::Error("list " + what + " takes no file");
  }
  if (what == "ops") return ListOps();
  if (what == "targets") return ListTargets();
  if (what == "profiles") return ListProfiles();
  if (what == "claims") return ListClaims();
  if (what == "mutants") return ListMutants();
  if (what == "variants") return ListVariants();
  if (what == "families") return ListFamilies();
  if (what == "probes") return ListProbes();
  return Status::Error(
      "list '" + what + "': " + NearestIs(what, kLists, std::identity()) +
      "; want ops, targets, profiles, claims, families, probes, mutants, "
      "variants or cases");
}

int Print(const std::vector<Listed>& entries, bool as_json) {
  if (!as_json) {
    for (const Listed& entry : entries) {
      std::cout << Printable(entry.name) << "  " << entry.description << "\n";
    }
    return kExitPass;
  }
  Json list = Json::array();
  for (const Listed& entry : entries) {
    Json record = {{"name", entry.name}, {"description", entry.description}};
    record.update(entry.record);
    list.push_back(record);
  }
  std::cout << DumpJson(list, 2) << "\n";
  return kExitPass;
}

}  // namespace

void AddList(Parser* program) {
  Verb* verb = program->Add(
      "list",
      "Names of ops, targets, profiles, claims, families, probes, mutants, "
      "variants, cases",
      "Examples:\n"
      "  lockstep list targets\n"
      "  lockstep list cases data/cases/smoke.cases --json");
  struct Arguments {
    std::string what;
    std::string file;
    bool json = false;
  };
  auto a = std::make_shared<Arguments>();
  verb->Value("WHAT", &a->what,
              "ops, targets, profiles, claims, families, probes, mutants, "
              "variants, cases")
      .Required()
      .Suggest(kLists);
  verb->Value("FILE", &a->file, "Case file, for cases");
  verb->Flag("--json", &a->json, "Whole records, as JSON");
  verb->run = [a] {
    const Result<std::vector<Listed>> entries = List(a->what, a->file);
    if (!entries.ok()) return Fail(entries.message());
    return Print(entries.value(), a->json);
  };
}

}  // namespace lockstep::verify::cli
