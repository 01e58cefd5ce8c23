// lockstep selftest: the judge on trial by its own mutants and zoo.
#include <charconv>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/cli/cli.h"
#include "verify/selftest/selftest.h"
#include "verify/selftest/zoo/draw.h"

namespace lockstep::fuzz::cli {
namespace {

using namespace verify;  // NOLINT(google-build-using-namespace): the judge's
using namespace verify::cli;  // NOLINT(google-build-using-namespace)

struct SelftestArguments {
  std::string cases = "data/cases/selftest.cases";
  std::string budget = "100000cases";
  std::string json;
  std::string html;
  std::string op;
  std::string seed = "0";
  std::string only;
  std::string with;
  int threads = 0;
  bool zoo = false;  // alone
};

// Checks that the files that a run ends with can be written.
Status CheckFiles(const SelftestArguments& a) {
  return CheckDeliverables({{"--json", a.json}, {"--html", a.html}}, {a.cases});
}

// Writes all that was asked for of a result.
int DeliverAll(const SelftestArguments& a, const SelftestResult& result,
               const std::string& text) {
  if (a.json != "-" && a.html != "-") std::cout << text;
  Status status;
  if (!a.json.empty()) status = Deliver(a.json, SelftestJson(result) + "\n");
  if (status.ok() && !a.html.empty()) {
    status = Deliver(a.html, SelftestPage(result));
  }
  return status.ok() ? kExitPass : Fail(status.message());
}

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

int RunZooAlone(const SelftestOptions& options, const SelftestArguments& a) {
  const Status keys = CheckZooKeys(options);
  if (!keys.ok()) return Fail(keys.message());
  const SelftestResult result = RunZoo(options);
  if (result.zoo_variants == 0) {
    return Fail("--only " + a.only +
                ": no correct kernel has a name that begins so");
  }
  const int done = DeliverAll(a, result, ZooText(result));
  if (done != kExitPass) return done;
  return result.ZooPassed() ? kExitPass : kExitSelf;
}

int RunSelftestVerb(const SelftestArguments& a) {
  SelftestOptions options;
  const Result<uint64_t> seed = ParseSeed(a.seed);
  if (!seed.ok()) return Fail(seed.message());
  options.seed = seed.value();
  for (const SelftestRow* const& op : SelftestRows()) {
    if (a.op == op->op) options.rows = {&op, 1};
  }
  options.plans = a.op.empty() || a.op == "attention_forward";
  const Result<int64_t> zoo_cases = ZooCases(a.budget);
  if (!zoo_cases.ok()) return Fail(zoo_cases.message());
  options.zoo_cases = zoo_cases.value();
  options.threads = a.threads;
  options.zoo_only = WordsOfList(a.only);
  options.zoo_with = WordsOfList(a.with);
  if (!a.zoo && !(a.only.empty() && a.with.empty())) {
    return Fail("--only and --with go with --zoo");
  }
  const Status writable = CheckFiles(a);
  if (!writable.ok()) return Fail(writable.message());
  if (a.zoo) return RunZooAlone(options, a);
  const Result<std::vector<Job>> jobs = ReadJobs({{}, {a.cases}});
  if (!jobs.ok()) return Fail(jobs.message());
  for (const Job& job : jobs.value()) {
    options.ordinary.push_back(MinimalLine(job.sequence));
  }
  const Result<SelftestResult> result = RunSelftest(options);
  if (!result.ok()) return Fail(result.message());
  const int done = DeliverAll(a, result.value(), SelftestText(result.value()));
  if (done != kExitPass) return done;
  return result->Passed() ? kExitPass : kExitSelf;
}

}  // namespace

void AddSelftest(Parser* program) {
  Verb* verb = program->Add(
      "selftest", "Test the judge with known bugs and correct kernels",
      "Example:\n  lockstep selftest --budget 100000cases --json self.json");
  auto a = std::make_shared<SelftestArguments>();
  verb->Value("--cases", &a->cases, "Ordinary cases for the rule table")
      .Type("FILE");
  verb->Value("--budget", &a->budget, "Cases of the zoo: Ncases")
      .Type("BUDGET");
  verb->Value("--op", &a->op,
              "Only attention_forward, attention_backward, attention_merge,\n"
              "mamba3_scan, mamba3_scan_backward or ssd_scan")
      .OneOf({"attention_forward", "attention_backward", "attention_merge",
              "mamba3_scan", "mamba3_scan_backward", "ssd_scan"});
  verb->Value("--seed", &a->seed, "Of the zoo's cases").Type("N");
  verb->Value("--json", &a->json, "The whole result as JSON").Type("FILE|-");
  verb->Value("--html", &a->html, "The whole result as a page").Type("FILE|-");
  verb->Flag("--zoo", &a->zoo,
             "In place of the rest: correct kernels, --budget of them");
  verb->Value("--only", &a->only,
              "Only correct kernels whose names begin so, of --zoo")
      .Type("NAME,...");
  verb->Value("--with", &a->with,
              "Only cases whose lines have one of these keys, of --zoo")
      .Type("KEY,...");
  verb->Value("--threads", &a->threads, "0: all").NonNegative();
  verb->run = [a] { return RunSelftestVerb(*a); };
}

}  // namespace lockstep::fuzz::cli
