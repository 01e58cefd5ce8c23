// lockstep verify
#include <CLI/CLI.hpp>
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

void AddOptions(CLI::App* app, Arguments* a) {
  SessionOptions& s = a->session;
  AddCaseArguments(app, &a->cases);
  app->add_option("--candidate", s.candidates,
                  "What is judged (default builtin:optimized); may be "
                  "repeated")
      ->take_all()
      ->expected(1)
      ->type_name("SPEC");
  app->add_option("--profile", s.profile,
                  "Numeric contract the candidate claims")
      ->type_name("NAME|FILE");
  app->add_option("--budget", s.budget, "Stop after 60s, 5m, 2h or 1000cases")
      ->type_name("BUDGET");
  app->add_option("--seed", s.seed, "Seed of every case, instead of its own")
      ->type_name("N");
  app->add_option("--shard", s.shard,
                  "Only lines n with n mod N = i; auto: the scheduler's")
      ->type_name("i/N|auto");
  app->add_option("--threads", s.threads,
                  "Threads of the candidate and the reference")
      ->check(CLI::Range(1, 1024));
  app->add_option("--max-memory", s.max_memory,
                  "Refuse cases above this (default: half the memory)")
      ->type_name("SIZE");
  app->add_flag("--all-rows", s.all_rows,
                "Compare all rows of large cases, not a sample");
  app->add_flag("--no-invariance", s.no_invariance,
                "Run the candidate twice only, without variations");
  app->add_flag("--no-probes", s.no_probes,
                "Only the cases' own inputs, not their exact probes");
  app->add_option("--json", s.json, "Events as NDJSON")->type_name("FILE|-");
  app->add_option("--junit", s.junit, "JUnit XML")->type_name("FILE|-");
  app->add_option("--receipt", s.receipt, "Receipt as JSON")
      ->type_name("FILE|-");
  app->add_flag("--require-executed", s.require_executed,
                "Fail if something else ran than was requested");
  app->add_option("--fail-on", s.fail_on, "'suspicious': exit 4 on it")
      ->check(CLI::IsMember({"suspicious"}));
  app->add_flag("--fail-fast", s.fail_fast, "Stop at the first failure");
  app->add_flag("-v,--verbose", s.verbose, "A line per case, and details");
}

}  // namespace

Verb AddVerify(CLI::App* program) {
  CLI::App* app = program->add_subcommand(
      "verify", "Judge a candidate on cases, with proof");
  app->footer(kFooter);
  auto arguments = std::make_shared<Arguments>();
  AddOptions(app, arguments.get());
  return {app, [arguments] {
            Result<std::vector<Job>> jobs = ReadJobs(arguments->cases);
            if (!jobs.ok()) return Fail(jobs.message());
            std::vector<JobGroup> groups;
            groups.push_back({std::move(jobs.value()),
                              arguments->session.candidates,
                              arguments->session.profile});
            return RunSession(std::move(groups), arguments->session);
          }};
}

}  // namespace lockstep::verify::cli
