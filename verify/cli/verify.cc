// lockstep verify
#include <memory>
#include <utility>

#include "verify/cli/session.h"

namespace lockstep::verify::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  lockstep verify 'attention_forward sq=37 skv=129 d=64 cap=50'\n"
    "  lockstep verify --cases data/cases/smoke.cases --receipt out.json\n"
    "  lockstep verify 'attention_forward sq=64 skv=64 d=64 mask=causal'\n"
    "      --candidate variant:cpu --profile cpu-f32";

struct Arguments {
  CaseArguments cases;
  SessionOptions session;
};

void AddOptions(Verb* verb, Arguments* a) {
  SessionOptions& s = a->session;
  AddCaseArguments(verb, &a->cases);
  verb->Value("--candidate", &s.candidates,
              "What is judged (default builtin:optimized); may be "
              "repeated")
      .Repeated()
      .Type("SPEC");
  verb->Value("--profile", &s.profile, "Numeric contract the candidate claims")
      .Type("NAME|FILE");
  verb->Value("--budget", &s.budget, "Stop after 60s, 5m, 2h or 1000cases")
      .Type("BUDGET");
  verb->Value("--seed", &s.seed, "Seed of every case, instead of its own")
      .Type("N");
  verb->Value("--shard", &s.shard,
              "Only lines n with n mod N = i; auto: the scheduler's")
      .Type("i/N|auto");
  verb->Value("--threads", &s.threads,
              "Threads of the candidate and the reference")
      .Range(1, 1024);
  verb->Value("--max-memory", &s.max_memory,
              "Refuse cases above this (default: half the memory)")
      .Type("SIZE");
  verb->Flag("--all-rows", &s.all_rows,
             "Compare all rows of large cases, not a sample");
  verb->Flag("--no-invariance", &s.no_invariance,
             "Run the candidate twice only, without variations");
  verb->Flag("--no-probes", &s.no_probes,
             "Only the cases' own inputs, not their exact probes");
  verb->Value("--json", &s.json, "Events as NDJSON").Type("FILE|-");
  verb->Value("--junit", &s.junit, "JUnit XML").Type("FILE|-");
  verb->Value("--receipt", &s.receipt, "Receipt as JSON").Type("FILE|-");
  verb->Flag("--require-executed", &s.require_executed,
             "Fail if something else ran than was requested");
  verb->Value("--fail-on", &s.fail_on, "'suspicious': exit 4 on it")
      .OneOf({"suspicious"});
  verb->Flag("--fail-fast", &s.fail_fast, "Stop at the first failure");
  verb->Flag("-v,--verbose", &s.verbose, "A line per case, and details");
}

}  // namespace

void AddVerify(Parser* program) {
  Verb* verb =
      program->Add("verify", "Judge a candidate on cases, with proof", kFooter);
  auto arguments = std::make_shared<Arguments>();
  AddOptions(verb, arguments.get());
  verb->run = [arguments] {
    Result<std::vector<Job>> jobs = ReadJobs(arguments->cases);
    if (!jobs.ok()) return Fail(jobs.message());
    std::vector<JobGroup> groups;
    groups.push_back({std::move(jobs.value()), arguments->session.candidates,
                      arguments->session.profile});
    return RunSession(std::move(groups), arguments->session);
  };
}

}  // namespace lockstep::verify::cli
