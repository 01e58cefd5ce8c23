// lockstep invariance: the claims that a kernel keeps, such as the same bits
// whatever the batch.
#include <algorithm>
#include <memory>
#include <utility>

#include "verify/cli/invariance_cases.h"
#include "verify/cli/outputs/outputs.h"
#include "verify/cli/session.h"
#include "verify/cli/session_options.h"
#include "verify/registry/ops.h"

namespace lockstep::verify::cli {
namespace {

constexpr const char* kInvarianceFooter =
    "Examples:\n"
    "  lockstep invariance --candidate so:./kernel.so\n"
    "  lockstep invariance 'attention_forward sq=33 skv=257 d=64 mask=causal'\n"
    "      --candidate py:kernel.py:attend --claims batch,chunk\n"
    "Exit 1: a claim that --claims or the profile names is broken. Exit 5: no\n"
    "pair of calls was compared for it (docs/invariance.md).";

// Where no cases are typed: those of data/cases/invariance.cases.
constexpr const char* kOwnCases = "invariance.cases";

struct InvarianceArguments {
  CaseArguments cases;
  SessionOptions session;
  std::string claims = "all";
};

std::vector<std::string> NamesOfClaims() {
  std::vector<std::string> names = {"all"};
  for (const ClaimInfo& info : ClaimInfos()) names.emplace_back(info.name);
  return names;
}

void AddInvarianceOptions(Verb* verb, InvarianceArguments* a) {
  SessionOptions& s = a->session;
  AddCaseArguments(verb, &a->cases);
  verb->Value("--candidate", &s.candidates,
              "What is tried (default builtin:optimized)")
      .Words(1, 1)
      .Type("SPEC");
  verb->Value("--claims", &a->claims,
              "Try only these claims, joined by commas, as claims of the "
              "kernel (lockstep list claims); all, the default: try every "
              "claim; the kernel claims those of its profile")
      .Suggest(NamesOfClaims())
      .Type("NAMES|all");
  verb->Value("--profile", &s.profile,
              "Numeric contract of the kernel, with its claims (default: what "
              "the kernel states; without one only bits are compared)")
      .Type("NAME|FILE");
  verb->Value("--budget", &s.budget, "Stop after 60s, 5m, 2h or 1000cases")
      .Type("BUDGET");
  verb->Value("--seed", &s.seed, "Seed of every case, instead of its own")
      .Type("N");
  verb->Value("--threads", &s.threads, "Threads of the candidate")
      .Range(1, 1024);
  AddJobs(verb, &s);
  verb->Value(
          "--max-memory", &s.max_memory,
          "Refuse cases that need more memory (default: half of the machine's)")
      .Type("SIZE");
  AddHostArguments(verb, &s.hosts);
  verb->Value("--json", &s.json, "Events as NDJSON, the table among them")
      .Type("FILE|-");
  verb->Value("--junit", &s.junit, "JUnit XML").Type("FILE|-");
  verb->Value("--receipt", &s.receipt, "Receipt as JSON").Type("FILE|-");
  verb->Value("--html", &s.html, "The table as a page to read").Type("FILE|-");
  verb->Flag("-v,--verbose", &s.verbose, "A line per case, and details");
  AddColor(verb, &s);
}

int TryClaims(InvarianceArguments* a) {
  SessionOptions& s = a->session;
  s.inputs = a->cases.files;
  s.inputs.push_back(s.profile);
  const Status outputs = CheckOutputs(s);
  if (!outputs.ok()) return Fail(outputs.message());
  BeginOutputs(s);
  const Status claims = ReadClaims(a->claims, &s);
  if (!claims.ok()) return Refuse(s, claims.message());
  JobGroup group;
  group.own_cases = a->cases.lines.empty() && a->cases.files.empty();
  Result<std::vector<Job>> jobs =
      group.own_cases ? JobsFromText(kOwnCases, kInvarianceCases, Ops())
                      : ReadJobs(a->cases);
  if (!jobs.ok()) return Refuse(s, jobs.message());
  group.jobs = std::move(jobs.value());
  return RunGroup(std::move(group), s);
}

}  // namespace

void AddInvariance(Parser* program) {
  Verb* verb = program->Add("invariance",
                            "Try which claims a kernel keeps, such as the same "
                            "bits in every batch, padding and chunk",
                            kInvarianceFooter);
  auto arguments = std::make_shared<InvarianceArguments>();
  AddInvarianceOptions(verb, arguments.get());
  verb->run = [arguments] { return TryClaims(arguments.get()); };
}

}  // namespace lockstep::verify::cli
