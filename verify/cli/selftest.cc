// lockstep selftest: the judge on trial by its own mutants and zoo.
#include <charconv>
#include <iostream>
#include <memory>
#include <string>

#include "verify/cli/cli.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify::cli {
namespace {

struct SelftestArguments {
  std::string cases = "data/cases/selftest.cases";
  std::string budget = "100000cases";
  std::string json;
  std::string op;
  std::string seed = "0";
};

// "100000cases": the zoo is judged by count, so that its statement is one.
Result<int64_t> ZooCases(const std::string& budget) {
  int64_t cases = 0;
  const char* end = budget.data() + budget.size();
  const auto [stop, error] = std::from_chars(budget.data(), end, cases);
  if (error != std::errc{} || cases < 1 || cases > 1000000000 ||
      std::string(stop, end) != "cases") {
    return Status::Error("--budget '" + budget +
                         "': want a count, such as 100000cases");
  }
  return cases;
}

int RunVerb(const SelftestArguments& a) {
  SelftestOptions options;
  const Result<uint64_t> seed = ParseSeed(a.seed);
  if (!seed.ok()) return Fail(seed.message());
  options.seed = seed.value();
  options.attention = a.op.empty() || a.op == "attention_forward";
  options.scans = a.op.empty() || a.op == "mamba3_scan";
  const Result<int64_t> zoo_cases = ZooCases(a.budget);
  if (!zoo_cases.ok()) return Fail(zoo_cases.message());
  options.zoo_cases = zoo_cases.value();
  const CaseArguments files{{}, {a.cases}};
  const Result<std::vector<Job>> jobs = ReadJobs(files);
  if (!jobs.ok()) return Fail(jobs.message());
  for (const Job& job : jobs.value()) {
    options.ordinary.push_back(MinimalLine(job.sequence));
  }
  if (!a.json.empty()) {
    const Status status = CheckDeliverable(a.json);
    if (!status.ok()) return Fail(status.message());
  }
  const Result<SelftestResult> result = RunSelftest(options);
  if (!result.ok()) return Fail(result.message());
  if (a.json != "-") std::cout << SelftestText(result.value());
  if (!a.json.empty()) {
    const Status status = Deliver(a.json, SelftestJson(result.value()) + "\n");
    if (!status.ok()) return Fail(status.message());
  }
  return result->Passed() ? kExitPass : kExitSelf;
}

}  // namespace

void AddSelftest(Parser* program) {
  Verb* verb = program->Add(
      "selftest", "Known bugs and correct kernels before the judge",
      "Example:\n  lockstep selftest --budget 100000cases --json self.json");
  auto a = std::make_shared<SelftestArguments>();
  verb->Value("--cases", &a->cases, "Ordinary cases for the rule table");
  verb->Value("--budget", &a->budget, "Cases of the zoo: Ncases");
  verb->Value("--op", &a->op, "Only attention_forward, or mamba3_scan")
      .OneOf({"attention_forward", "mamba3_scan"});
  verb->Value("--seed", &a->seed, "Of the zoo's cases").Type("N");
  verb->Value("--json", &a->json, "FILE or -");
  verb->run = [a] { return RunVerb(*a); };
}

}  // namespace lockstep::verify::cli
