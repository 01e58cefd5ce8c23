// lockstep explain
#include <iostream>
#include <memory>

#include "fuzz/cli/cli.h"
#include "fuzz/explain.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz::cli {
namespace {

using verify::cli::Fail;

constexpr const char* kFooter =
    "Example:\n"
    "  lockstep explain 'attention_forward sq=37 skv=129 d=8 mask=causal'\n"
    "      --candidate mutant:attn.causal_strict\n\n"
    "Exit codes: those of the case's verdict; 5 if it does not fail.";

struct Arguments {
  std::string line;
  std::string candidate = "builtin:optimized";
  std::string profile;
  std::string json;
  double seconds = 60;
  verify::cli::HostArguments hosts;
};

int RunVerb(const Arguments& a) {
  const Status limited = verify::cli::LimitHosts(a.hosts);
  if (!limited.ok()) return Fail(limited.message());
  const Result<std::vector<verify::Job>> jobs =
      verify::JobsFromLines({a.line}, verify::Ops());
  if (!jobs.ok()) return Fail(jobs.message());
  const std::vector<verify::Case>& sequence = jobs.value()[0].sequence;
  const Result<const verify::Domain*> domain =
      verify::FindDomain(verify::OpName(sequence[0]));
  if (!domain.ok()) return Fail(domain.message());
  Result<Target> target = Target::Open(a.candidate, a.profile);
  if (!target.ok()) return Fail(target.message());
  if (!a.json.empty()) {
    const Status writable = verify::cli::CheckDeliverable(a.json);
    if (!writable.ok()) return Fail(writable.message());
  }
  target->stop = verify::cli::WatchInterrupt();
  target->law = "";
  const Outcome outcome = TryCase(sequence, target.value(), 2);
  if (!outcome.Found()) {
    return Fail("nothing to explain: the verdict is " +
                    std::string(verify::VerdictName(outcome.verdict)),
                verify::kExitVacuous);
  }
  const int code = outcome.verdict == verify::Verdict::kError
                       ? verify::kExitCandidate
                       : verify::kExitFail;
  const Result<Explained> explained =
      Explain(*domain.value(), sequence, outcome, target.value(), a.seconds);
  if (!explained.ok()) return Fail(explained.message(), code);
  if (a.json != "-") std::cout << ExplainedText(explained.value());
  if (a.json.empty()) return code;
  const Status delivered =
      verify::cli::Deliver(a.json, ExplainedJson(explained.value()));
  return delivered.ok() ? code : Fail(delivered.message());
}

}  // namespace

void AddExplain(Parser* program) {
  Verb* verb = program->Add(
      "explain", "Which known bugs give the wrong answer of a failing case",
      kFooter);
  auto a = std::make_shared<Arguments>();
  verb->Value("CASE", &a->line, "Case line, quoted").Required();
  verb->Value("--candidate", &a->candidate,
              "What fails on it (default builtin:optimized)")
      .Type("SPEC");
  verb->Value("--profile", &a->profile, "Numeric contract the candidate claims")
      .Type("NAME|FILE");
  verb->Value("--seconds", &a->seconds,
              "To spend on making the case small (default 60)")
      .Positive();
  verb->Value("--json", &a->json, "The same as JSON").Type("FILE|-");
  verify::cli::AddHostArguments(verb, &a->hosts);
  verb->run = [a] { return verify::cli::AfterHosts(RunVerb(*a)); };
}

}  // namespace lockstep::fuzz::cli
