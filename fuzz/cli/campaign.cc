// lockstep campaign merge
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "fuzz/campaign.h"
#include "fuzz/cli/cli.h"
#include "fuzz/text.h"
#include "verify/base/io/files.h"
#include "verify/base/printable.h"
#include "verify/base/status_macros.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz::cli {
namespace {

using verify::cli::Fail;

constexpr const char* kCampaignFooter =
    "Example:\n  lockstep campaign merge runs --out merged.ndjson\n\nExit "
    "codes: those of the records; 5 if cases are missing, 6 if a\nfinding "
    "cannot be reproduced.";

constexpr size_t kMaxFile = size_t{1} << 34;
constexpr int64_t kMostGaps = 20;

struct CampaignArguments {
  std::string action;
  std::vector<std::string> folders;
  std::string out;
  std::string candidate;    // empty: the one that the records name
  bool trust_file = false;  // they may name a program
  bool allow_auto = false;  // and --profile auto in a CI job
  verify::cli::HostArguments hosts;
  double shrink = 60;
};

Result<std::vector<ShardFile>> ReadShards(
    const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) {
      paths.push_back(folder);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> below,
                     verify::FilesBelow(folder));
    const size_t before = paths.size();
    for (const std::string& path : below) {
      const std::string name = std::filesystem::path(path).filename();
      if (name.starts_with("shard-") && name.ends_with(".ndjson")) {
        paths.push_back(path);
      }
    }
    if (paths.size() == before) {
      return Status::Error("no shard-*.ndjson below " + folder);
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ShardFile> shards;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const auto bytes, verify::ReadWholeFile(path, kMaxFile));
    ASSIGN_OR_RETURN(
        ShardFile shard,
        ParseShardFile(
            {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path));
    shards.push_back(std::move(shard));
  }
  return shards;
}

// The plan and target whose records these are.
Status Reopen(const CampaignArguments& a, const CampaignHeader& header,
              Plan* plan, Target* target) {
  ASSIGN_OR_RETURN(const verify::Domain* domain, verify::FindDomain(header.op));
  if (header.generator != verify::kDomainVersion) {
    return Status::Error("drawn by generator " +
                         std::to_string(header.generator) + "; this is " +
                         std::to_string(verify::kDomainVersion));
  }
  if (a.candidate.empty() && !a.trust_file &&
      verify::StartsProgram(header.candidate)) {
    return Status::Error("the records name the candidate '" +
                         verify::Printable(header.candidate) +
                         "', which is a program: give --candidate yourself, "
                         "or --trust-file if they may start it");
  }
  ASSIGN_OR_RETURN(
      Target opened,
      Target::Open(a.candidate.empty() ? header.candidate : a.candidate,
                   header.profile, header.op, false, a.allow_auto));
  *target = std::move(opened);
  target->variations = header.plans - 1;
  target->suspicious = header.suspicious;
  plan->domain = domain;
  plan->seed = header.seed;
  plan->draw.tile_q = header.tile_q;
  plan->draw.tile_kv = header.tile_kv;
  plan->draw.guards = *verify::GuardsByName(header.guards);
  plan->draw.gpu_orders = header.orders == "all";
  plan->draw.in_shards = header.in_shards;
  plan->draw.lane = target->lane;
  return {};
}

// What a merge adds to the records: one finding per signature, judged again
// and shrunk.
class Confirmer {
 public:
  Confirmer(const Plan& plan, const Target& target, double seconds)
      : plan_(plan), target_(target), seconds_(seconds) {}

  void Confirm(const ShardFile& merged) {
    std::map<std::string, const CaseRecord*> firsts;
    for (const auto& [index, record] : merged.records) {
      if (!record.signature.empty()) firsts.emplace(record.signature, &record);
    }
    for (const auto& [signature, record] : firsts) One(signature, *record);
  }

  const std::string& text() const { return text_; }
  const std::string& events() const { return events_; }
  const std::vector<Fault>& faults() const { return faults_; }
  bool all_confirmed() const { return all_confirmed_; }

 private:
  void One(const std::string& signature, const CaseRecord& record) {
    const auto sequence =
        verify::DrawCase(*plan_.domain, plan_.draw, plan_.seed, record.index);
    const Outcome outcome =
        TryCase(sequence, target_, static_cast<int64_t>(record.index) + 1);
    Fault fault;
    fault.index = record.index;
    fault.line = verify::MinimalLine(sequence);
    if (outcome.signature != signature || fault.line != record.line) {
      all_confirmed_ = false;
      text_ += "NOT CONFIRMED " + verify::Printable(signature) + " by case " +
               std::to_string(record.index) +
               "\n      recorded: " + verify::Printable(record.line) +
               "\n      drawn now: " + fault.line + "\n";
      return;
    }
    fault.shrunk = Shrink(*plan_.domain, sequence, outcome, target_, seconds_);
    text_ += FaultText(fault);
    fault.shrunk.seconds = 0;  // a merged file has no timings
    events_ += FaultEvent(fault, target_);
    faults_.push_back(std::move(fault));
  }

  const Plan& plan_;
  const Target& target_;
  const double seconds_;
  std::string text_;
  std::string events_;
  std::vector<Fault> faults_;
  bool all_confirmed_ = true;
};

Report ReportOf(const ShardFile& merged, const Plan& plan,
                std::vector<Fault> faults) {
  Report report;
  report.features.resize(plan.domain->features().size());
  for (const auto& [index, record] : merged.records) {
    CountRecord(record, &report.counts);
    verify::FeatureSet features;
    const auto sequence =
        verify::DrawCase(*plan.domain, plan.draw, plan.seed, index);
    for (const verify::Case& call : sequence) {
      features.Add(plan.domain->features_of(call));
    }
    if (record.canaries_missed > 0 && report.missed.size() < kMostMissedNamed) {
      report.missed.push_back({index, true, "", verify::MinimalLine(sequence)});
    }
    if (record.verdict == verify::VerdictName(verify::Verdict::kSkipped)) {
      continue;
    }
    for (size_t f = 0; f < features.has.size(); ++f) {
      report.features[f] += features.has[f] ? 1 : 0;
    }
  }
  report.faults = std::move(faults);
  return report;
}

int RunCampaign(const CampaignArguments& a) {
  if (!a.out.empty()) {
    const Status writable = verify::cli::CheckDeliverable(a.out);
    if (!writable.ok()) return Fail(writable.message());
  }
  const Result<std::vector<ShardFile>> shards = ReadShards(a.folders);
  if (!shards.ok()) return Fail(shards.message());
  const Result<ShardFile> merged = MergeShards(shards.value());
  if (!merged.ok()) return Fail(merged.message());
  Plan plan;
  Target target;
  const Status limited = verify::cli::LimitHosts(a.hosts, {a.candidate});
  if (!limited.ok()) return Fail(limited.message());
  const Status status = Reopen(a, merged->header, &plan, &target);
  if (!status.ok()) return Fail(status.message());
  Confirmer confirmer(plan, target, a.shrink);
  confirmer.Confirm(merged.value());
  const Report report = ReportOf(merged.value(), plan, confirmer.faults());
  const std::string gaps = Gaps(merged.value(), kMostGaps);
  int exit_code = ExitCode(report, target);
  if (exit_code == verify::kExitPass && !gaps.empty()) {
    exit_code = verify::kExitVacuous;
  }
  if (!confirmer.all_confirmed()) exit_code = verify::kExitSelf;
  // Where stdout belongs to a program, people read stderr.
  std::ostream& text = a.out == "-" ? std::cerr : std::cout;
  text << confirmer.text();
  if (!gaps.empty()) text << "incomplete: no record of cases " << gaps << "\n";
  text << SummaryText(report, *plan.domain, exit_code);
  if (a.out.empty()) return exit_code;
  std::string file = HeaderLine(merged->header);
  for (const auto& [index, record] : merged->records) {
    file += RecordLine(record, false);
  }
  file += confirmer.events() + SummaryEvent(report, *plan.domain, exit_code);
  const Status delivered = verify::cli::Deliver(a.out, file);
  return delivered.ok() ? exit_code : Fail(delivered.message());
}

}  // namespace

void AddCampaign(Parser* program) {
  Verb* verb = program->Add(
      "campaign", "Join the shards of fuzz --out, and confirm their findings",
      kCampaignFooter);
  auto a = std::make_shared<CampaignArguments>();
  verb->Value("ACTION", &a->action, "merge").Required().OneOf({"merge"});
  verb->Value("DIR", &a->folders, "Folders of shards, or shard files")
      .Required();
  verb->Value("--out", &a->out, "The merged records, findings, summary")
      .Type("FILE|-");
  verb->Value("--candidate", &a->candidate,
              "Confirm with this candidate, not the one that the records name")
      .Type("SPEC");
  verb->Flag("--allow-auto", &a->allow_auto, verify::cli::kAllowAutoHelp);
  verb->Flag("--trust-file", &a->trust_file,
             "Start a program that the records name as candidate");
  verify::cli::AddHostArguments(verb, &a->hosts);
  verb->Value("--shrink", &a->shrink,
              "Seconds to shrink each finding (default 60)")
      .NonNegative();
  verb->run = [a] { return verify::cli::AfterHosts(RunCampaign(*a)); };
}

}  // namespace lockstep::fuzz::cli
