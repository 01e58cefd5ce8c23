// lockstep verify
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/cli/gate/config.h"
#include "verify/cli/outputs/outputs.h"
#include "verify/cli/session.h"
#include "verify/domain/draws/further.h"
#include "verify/run/fresh_data.h"

namespace lockstep::verify::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  lockstep verify 'attention_forward sq=37 skv=129 d=64 cap=50'\n"
    "  lockstep verify --cases data/cases/smoke.cases --receipt out.json\n"
    "  lockstep verify 'attention_forward sq=64 skv=64 d=64 mask=causal'\n"
    "      --candidate variant:cpu --profile cpu-f32\n"
    "  lockstep verify    # without cases: what lockstep.toml says";

struct VerifyArguments {
  CaseArguments cases;
  SessionOptions session;
  std::string config;  // as typed
  int64_t max_skipped = -1;
  int64_t draws = -1;
};

void AddOptions(Verb* verb, VerifyArguments* a) {
  SessionOptions& s = a->session;
  AddCaseArguments(verb, &a->cases);
  verb->Value("--candidate", &s.candidates,
              "What is judged (default builtin:optimized); may be "
              "repeated")
      .Repeated()
      .Type("SPEC");
  verb->Value("--profile", &s.profile,
              "Numeric contract the candidate claims; auto: what `lockstep "
              "identify` sees")
      .Type("NAME|FILE|auto");
  verb->Flag("--allow-auto", &s.allow_auto, kAllowAutoHelp);
  verb->Value("--budget", &s.budget, "Stop after 60s, 5m, 2h or 1000cases")
      .Type("BUDGET");
  verb->Value("--seed", &s.seed, "Seed of every case, instead of its own")
      .Type("N");
  verb->Value("--fresh-seed", &s.fresh_seed,
              "Also judge each case with a seed drawn from N (default 0: do "
              "not; with a configuration: random)")
      .Type("N|random");
  verb->Value("--shard", &s.shard,
              "Only lines n with n mod N = i; auto: as the scheduler says")
      .Type("i/N|auto");
  verb->Value("--threads", &s.threads,
              "Threads of the candidate and the reference")
      .Range(1, 1024);
  AddJobs(verb, &s);
  verb->Value(
          "--max-memory", &s.max_memory,
          "Refuse cases that need more memory (default: half of the machine's)")
      .Type("SIZE");
  AddHostArguments(verb, &s.hosts);
  verb->Value("--config", &a->config,
              "Configuration, for what is not typed (default without cases: "
              "lockstep.toml)")
      .Type("FILE");
  verb->Flag("--trust-file", &s.trust_file,
             "Start programs that the configuration names as candidates");
  verb->Value("--max-skipped", &a->max_skipped,
              "Exit 5 if more cases are skipped or left over (with a "
              "configuration: 0)")
      .NonNegative()
      .Type("N");
  verb->Flag("--all-rows", &s.all_rows,
             "Compare all rows of large cases, not a sample");
  verb->Value("--repeat", &s.repeats,
              "Call the kernel N times more on each case and compare the bits: "
              "for faults that not every call shows")
      .Range(0, 1000000)
      .Type("N");
  verb->Value("--explain-budget", &s.explain_seconds,
              "Work, in seconds of CPU time, to find the bug behind each of "
              "the first failures (default 2; 0: do not look)")
      .NonNegative()
      .Type("SECONDS");
  verb->Flag("--no-invariance", &s.no_invariance,
             "Run the candidate only twice, without variations");
  verb->Flag("--no-probes", &s.no_probes,
             "Judge only the cases' own inputs, without exact probes");
  verb->Value("--draws", &a->draws,
              "Further draws of each case, and a short twin of long cases "
              "(default 2; 0: neither)")
      .Range(0, kMostFurther)
      .Type("N");
  verb->Value("--json", &s.json, "Events as NDJSON").Type("FILE|-");
  verb->Value("--junit", &s.junit, "JUnit XML").Type("FILE|-");
  verb->Value("--receipt", &s.receipt, "Receipt as JSON").Type("FILE|-");
  verb->Value("--html", &s.html, "A page to read, with maps of the errors")
      .Type("FILE|-");
  verb->Flag("--require-executed", &s.require_executed,
             "Fail if another backend, target or number of threads ran than "
             "requested");
  verb->Value("--fail-on", &s.fail_on, "'suspicious': exit 4 on it")
      .OneOf({"suspicious"});
  verb->Value("--annotations", &s.annotations,
              "Annotations on lines of a pull request; auto: in a job of "
              "GitHub Actions")
      .OneOf({"auto", "github", "none"})
      .Type("WHERE");
  verb->Flag("--bisect", &s.bisect,
             "Exit codes of 'git bisect run': 125 for 2, 5, 6 and 77");
  verb->Flag("--fail-fast", &s.fail_fast, "Stop at the first failure");
  verb->Flag("-v,--verbose", &s.verbose, "A line per case, and details");
  AddColor(verb, &s);
}

std::chrono::sys_days Today() {
  return std::chrono::floor<std::chrono::days>(
      std::chrono::system_clock::now());
}

// The configuration's file: as typed, or the one that lies here where no cases
// are typed; else empty.
std::string ConfigFile(const VerifyArguments& a) {
  if (!a.config.empty()) return a.config;
  std::error_code error;
  const bool here = std::filesystem::exists(kConfigFile, error);
  const bool typed = !a.cases.lines.empty() || !a.cases.files.empty();
  return here && !typed ? kConfigFile : "";
}

// What was typed stands; the rest is as the configuration says.
void Fill(const Config& config, const std::string& file, VerifyArguments* a,
          JobGroup* group) {
  SessionOptions& s = a->session;
  const auto text = [](const std::string& from, std::string* to) {
    if (to->empty()) *to = from;
  };
  if (a->cases.lines.empty() && a->cases.files.empty()) {
    a->cases.files = config.cases;
  }
  if (s.candidates.empty()) {
    s.candidates = config.candidates;
    if (!s.trust_file) group->untrusted = file;
  }
  s.config = file;
  s.config_profile = s.profile.empty();
  text(config.profile, &s.profile);
  text(config.budget, &s.budget);
  text(config.max_memory, &s.max_memory);
  text(config.fail_on, &s.fail_on);
  text(config.call_timeout, &s.hosts.call_timeout);
  text(config.candidate_memory, &s.hosts.candidate_memory);
  if (s.threads == 0) s.threads = static_cast<int>(config.threads);
  s.all_rows = s.all_rows || config.all_rows;
  s.require_executed = s.require_executed || config.require_executed;
  text(config.fresh_seed, &s.fresh_seed);
  s.max_skipped = config.max_skipped.value_or(0);
  s.draws = config.draws.value_or(s.draws);
  s.known = config.known;
}

// What speaks against fresh cases: runs that are compared with others, and
// answers that were computed before. Empty: nothing does.
std::string WhyNotFresh(const SessionOptions& s) {
  if (s.bisect) return "--bisect";
  if (!s.shard.empty()) return "--shard";
  if (!s.seed.empty()) return "--seed";
  for (const std::string& spec : s.candidates) {
    if (spec.starts_with("files:")) return "files:";
  }
  return "";
}

// Adds fresh cases as typed or configured; where nothing is said, a gate draws.
Status AddFresh(SessionOptions* s, std::vector<Job>* jobs) {
  const std::string against = WhyNotFresh(*s);
  const std::string quiet =
      s->config.empty() || !against.empty() ? "0" : "random";
  ASSIGN_OR_RETURN(
      const FreshSeed seed,
      ParseFreshSeed(s->fresh_seed.empty() ? quiet : s->fresh_seed));
  // What is drawn anew in each run is not what a comparison needs; a number is,
  // except where there are no answers to other cases.
  const bool random = s->fresh_seed == "random";
  const bool none = against == "files:" || against == "--seed";
  if (!against.empty() && seed != 0 && (random || none)) {
    return Status::Error("--fresh-seed " + s->fresh_seed +
                         " does not go with " + against + "; 0 does");
  }
  s->fresh = seed;
  return AddFreshJobs(s->fresh, jobs);
}

// Files that are read, by now.
std::vector<std::string> InputsOf(const VerifyArguments& a,
                                  const std::string& file) {
  std::vector<std::string> inputs = a.cases.files;
  inputs.push_back(a.session.profile);
  inputs.push_back(file);
  return inputs;
}

int Judge(VerifyArguments* a) {
  SessionOptions& s = a->session;
  s.draws = kUsualFurther;
  JobGroup group;
  const std::string file = ConfigFile(*a);
  s.inputs = InputsOf(*a, file);
  Status outputs = CheckOutputs(s);
  if (!outputs.ok()) return Fail(outputs.message());
  if (!file.empty()) {
    const Result<Config> config = ReadConfig(file, Today());
    if (!config.ok()) return Refuse(s, config.message());
    Fill(config.value(), file, a, &group);
    s.inputs = InputsOf(*a, file);
    outputs = CheckOutputs(s);
    if (!outputs.ok()) return Fail(outputs.message());
  }
  if (a->max_skipped >= 0) s.max_skipped = a->max_skipped;
  if (a->draws >= 0) s.draws = a->draws;
  BeginOutputs(s);
  Result<std::vector<Job>> jobs = ReadJobs(a->cases);
  if (!jobs.ok()) return Refuse(s, jobs.message());
  const Status fresh = AddFresh(&s, &jobs.value());
  if (!fresh.ok()) return Refuse(s, fresh.message());
  group.jobs = std::move(jobs.value());
  return RunGroup(std::move(group), s);
}

}  // namespace

void AddVerify(Parser* program) {
  Verb* verb =
      program->Add("verify", "Judge a candidate on cases, with proof", kFooter);
  auto arguments = std::make_shared<VerifyArguments>();
  AddOptions(verb, arguments.get());
  verb->run = [arguments] { return Judge(arguments.get()); };
}

}  // namespace lockstep::verify::cli
