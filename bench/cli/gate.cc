// lockstep gate
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/cli/cli.h"
#include "bench/cli/ticker.h"
#include "bench/gate.h"
#include "verify/base/io/files.h"
#include "verify/base/io/json.h"
#include "verify/base/status_macros.h"
#include "verify/registry/ops.h"
#include "verify/run/self_check.h"

namespace lockstep::bench::cli {
namespace {

using verify::cli::Fail;

constexpr size_t kMostRuleBytes = size_t{1} << 20;
constexpr size_t kMostJsonBytes = size_t{256} << 20;

constexpr const char* kGateFooter =
    "Examples:\n"
    "  lockstep gate builtin:optimized,tile=24x64 builtin:optimized \\\n"
    "      'attention_forward sq=512 skv=512 d=64 mask=causal'\n"
    "  lockstep gate so:old/kernel.so so:new/kernel.so --profile cpu-f32 \\\n"
    "      --cases shapes.cases\n"
    "  lockstep gate before.json after.json\n\n"
    "Exit codes: 0 promote, 1 delete, 2 usage, 4 experimental or keep-out,\n"
    "5 undecided, 130 interrupted (docs/benchmarking.md).";

struct GateArguments {
  std::string baseline, candidate;
  verify::cli::CaseArguments cases;
  std::string profile;
  std::string rules;
  bool print_rules = false;
  std::string budget = "20s";
  std::string json;
  verify::cli::HostArguments hosts;
};

Result<std::string> ReadText(const std::string& path, size_t most) {
  ASSIGN_OR_RETURN(const auto bytes, verify::ReadWholeFile(path, most));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<Rules> ReadRules(const std::string& path) {
  if (path.empty()) return ParseRules(DefaultRules(), "the built-in rules");
  ASSIGN_OR_RETURN(const std::string text, ReadText(path, kMostRuleBytes));
  return ParseRules(text, path);
}

// A spec has a kind before a colon; anything else is a file.
bool IsSpec(const std::string& word) {
  for (const verify::CandidateKind& kind : verify::CandidateKinds()) {
    if (word.starts_with(kind.prefix)) return true;
  }
  return false;
}

Result<verify::Json> ReadResult(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path, kMostJsonBytes));
  return verify::ParseJson(text);
}

Status CompareResults(const GateArguments& a, const Rules& rules,
                      GateReport* report) {
  if (!a.cases.lines.empty() || !a.cases.files.empty()) {
    return Status::Error(
        "gate: two files have their cases; give kernels, such as "
        "builtin:optimized or so:PATH, to time others");
  }
  ASSIGN_OR_RETURN(const auto baseline, ReadResult(a.baseline));
  ASSIGN_OR_RETURN(const auto candidate, ReadResult(a.candidate));
  Thresholds thresholds = rules.paired;
  thresholds.floor = rules.unpaired_floor;
  auto shapes = CompareFiles(baseline, candidate, SameBy::kCase, thresholds);
  if (!shapes.ok()) return Status::Error("gate: " + shapes.message());
  report->paired = false;
  report->shapes = std::move(shapes.value());
  return {};
}

// Foreign kernels are judged by what they claim.
Status CheckSpecs(const GateArguments& a) {
  for (const std::string& spec : {a.baseline, a.candidate}) {
    ASSIGN_OR_RETURN(const auto parsed, verify::ParseCandidate(spec));
    if (parsed->traits().ours || !a.profile.empty()) continue;
    return Status::Error("candidate '" + spec +
                         "' needs --profile, the numeric contract it claims "
                         "(docs/profiles.md)");
  }
  return {};
}

Status CompareKernels(const GateArguments& a, const Rules& rules,
                      GateReport* report) {
  ASSIGN_OR_RETURN(const auto jobs, verify::cli::ReadJobs(a.cases));
  ASSIGN_OR_RETURN(const verify::Budget budget, verify::ParseBudget(a.budget));
  if (!budget.seconds) {
    return Status::Error("--budget '" + a.budget +
                         "': want seconds to spend, such as 20s");
  }
  GateOptions options;
  options.seconds = *budget.seconds;
  options.profile = a.profile;
  options.thresholds = rules.paired;
  options.stop = verify::cli::WatchInterrupt();
  Dice dice(options.seed);
  Ticker ticker("cases compared");
  for (const verify::Job& job : jobs) {
    if (job.sequence.size() != 1) {
      return Status::Error("gate: '" + verify::MinimalLine(job.sequence) +
                           "' is a sequence of calls; compare its cases one "
                           "by one");
    }
    if (job.sequence[0].expect != verify::Expect::kPass) continue;
    if (*options.stop) break;
    ticker.Show(static_cast<int64_t>(report->shapes.size()),
                static_cast<int64_t>(jobs.size()));
    ASSIGN_OR_RETURN(auto shape,
                     CompareOn(job, a.baseline, a.candidate, options, &dice));
    report->shapes.push_back(std::move(shape));
  }
  if (!report->shapes.empty() || *options.stop) return {};
  return Status::Error(
      "gate: no case is expected to pass, so there is "
      "nothing to compare");
}

int RunGate(const GateArguments& a) {
  if (a.print_rules) {
    std::cout << DefaultRules();
    return verify::kExitPass;
  }
  if (a.baseline.empty() || a.candidate.empty()) {
    return Fail(
        "gate wants BASELINE and CANDIDATE: two kernels, such as "
        "builtin:optimized, or two results of lockstep bench --json");
  }
  Status status = verify::cli::LimitHosts(a.hosts, {a.baseline, a.candidate});
  if (status.ok() && !a.json.empty()) {
    status = verify::cli::CheckDeliverable(a.json);
  }
  if (!status.ok()) return Fail(status.message());
  const Result<Rules> rules = ReadRules(a.rules);
  if (!rules.ok()) return Fail(rules.message());
  const bool kernels = IsSpec(a.baseline);
  if (kernels != IsSpec(a.candidate)) {
    return Fail("gate: '" + a.baseline + "' and '" + a.candidate +
                "' do not match: want two kernels, or two files");
  }
  const Status sound = verify::SelfCheck(verify::Ops());
  if (!sound.ok()) {
    return Fail("self-check failed: " + sound.message(), verify::kExitSelf);
  }
  GateReport report;
  report.baseline = a.baseline;
  report.candidate = a.candidate;
  status = kernels ? CheckSpecs(a) : Status();
  if (status.ok()) {
    status = kernels ? CompareKernels(a, rules.value(), &report)
                     : CompareResults(a, rules.value(), &report);
  }
  if (!status.ok()) return Fail(status.message());
  if (kernels && *verify::cli::WatchInterrupt()) {
    return Fail("interrupted: nothing is decided", verify::kExitInterrupted);
  }
  report.facts = FactsOf(report.shapes);
  report.judgement = Decide(rules.value(), report.facts);
  if (!a.json.empty()) {
    status = verify::cli::Deliver(a.json,
                                  verify::DumpJson(GateJson(report), 1) + "\n");
    if (!status.ok()) return Fail(status.message());
  }
  if (a.json != "-") std::cout << GateText(report);
  return ExitCodeOf(report.judgement.decision);
}

}  // namespace

void AddGate(Parser* program) {
  Verb* verb = program->Add(
      "gate", "Decide whether a kernel is worth using in place of another",
      kGateFooter);
  auto a = std::make_shared<GateArguments>();
  verb->Value("BASELINE", &a->baseline,
              "Present kernel, or a result of bench --json");
  verb->Value("CANDIDATE", &a->candidate, "Kernel that might take its place");
  verify::cli::AddCaseArguments(verb, &a->cases);
  verb->Value("--profile", &a->profile,
              "Numeric contract that foreign kernels claim")
      .Type("NAME|FILE");
  verb->Value("--rules", &a->rules, "Decide by this table").Type("FILE");
  verb->Flag("--print-rules", &a->print_rules,
             "Print the table that decides without --rules");
  verb->Value("--budget", &a->budget, "Time for one case (default 20s)")
      .Type("TIME");
  verb->Value("--json", &a->json, "All of it as JSON").Type("FILE|-");
  verify::cli::AddHostArguments(verb, &a->hosts);
  verb->run = [a] { return verify::cli::AfterHosts(RunGate(*a)); };
}

}  // namespace lockstep::bench::cli
