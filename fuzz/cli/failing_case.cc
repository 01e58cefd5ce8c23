#include "fuzz/cli/failing_case.h"

#include <utility>

#include "verify/base/status_macros.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz::cli {
namespace {

Result<FailingCase> Judge(const FailingCaseArguments& a) {
  RETURN_IF_ERROR(verify::cli::LimitHosts(a.hosts, {a.candidate}));
  ASSIGN_OR_RETURN(std::vector<verify::Job> jobs,
                   verify::JobsFromLines({a.line}, verify::Ops()));
  FailingCase found;
  found.sequence = std::move(jobs[0].sequence);
  const std::string op = verify::OpName(found.sequence[0]);
  ASSIGN_OR_RETURN(found.domain, verify::FindDomain(op));
  ASSIGN_OR_RETURN(found.target, Target::Open(a.candidate, a.profile, op,
                                              a.answers, a.allow_auto));
  found.target.stop = verify::cli::WatchInterrupt();
  found.target.law = "";
  const int64_t number = found.target.computes ? 2 : kOnlyCase;
  found.outcome = TryCase(found.sequence, found.target, number);
  return found;
}

}  // namespace

void AddFailingCase(Verb* verb, const char* seconds, FailingCaseArguments* a) {
  verb->Value("CASE", &a->line, "Case line, quoted").Required();
  verb->Value("--candidate", &a->candidate,
              "Candidate that fails on it (default builtin:optimized)")
      .Type("SPEC");
  verb->Value("--profile", &a->profile,
              "Numeric contract the candidate claims; auto: what `lockstep "
              "identify` sees")
      .Type("NAME|FILE|auto");
  verb->Flag("--allow-auto", &a->allow_auto, verify::cli::kAllowAutoHelp);
  verb->Value("--seconds", &a->seconds, seconds).Positive();
  verify::cli::AddHostArguments(verb, &a->hosts);
}

int FailingCase::ExitCode() const {
  return outcome.verdict == verify::Verdict::kError ? verify::kExitCandidate
                                                    : verify::kExitFail;
}

std::optional<FailingCase> JudgeFailing(const FailingCaseArguments& a,
                                        const char* verb, int* code) {
  Result<FailingCase> judged = Judge(a);
  if (!judged.ok()) {
    *code = verify::cli::Fail(judged.message());
    return std::nullopt;
  }
  if (judged->outcome.Found()) return std::move(judged.value());
  if (*judged->target.stop) {
    *code = verify::cli::Fail("interrupted", verify::kExitInterrupted);
    return std::nullopt;
  }
  if (judged->outcome.verdict == verify::Verdict::kError) {
    *code = verify::cli::Fail(judged->outcome.message);
    return std::nullopt;
  }
  *code = verify::cli::Fail("nothing to " + std::string(verb) +
                                ": the verdict is " +
                                verify::VerdictName(judged->outcome.verdict),
                            verify::kExitVacuous);
  return std::nullopt;
}

}  // namespace lockstep::fuzz::cli
