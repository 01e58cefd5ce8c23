#include "verify/candidate/candidate.h"

namespace lockstep::verify {
namespace {

constexpr CandidateKind kKinds[] = {
    {"builtin:optimized",
     "builtin:optimized[@TARGET][,tile=QxK][,threads=N][,native=0|1][,chunk=N]"
     "[,shift=N]",
     "the SIMD path of this library", ParseBuiltinOptimized},
    {"builtin:reference", "builtin:reference[,shift=N]",
     "the scalar reference, judged like any other", ParseBuiltinReference},
    {"files:", "files:DIR",
     "outputs or tables made elsewhere, as safetensors (docs/verdicts.md)",
     ParseFiles},
    {"mutant:", "mutant:NAME[@SEVERITY][,base=VARIANT]",
     "a kernel with a known bug: lockstep list mutants", ParseMutantCandidate},
    {"variant:", "variant:NAME",
     "a correct kernel of the zoo, under its own profile",
     ParseVariantCandidate},
};

}  // namespace

RunOutcome Candidate::Plan(const CaseRequest&, const BlockPlanScene&,
                           PlanTrace*) {
  return {RunOutcome::State::kUnsupported, Spec() + " makes no block tables",
          ""};
}

std::span<const CandidateKind> CandidateKinds() { return kKinds; }

Result<std::unique_ptr<Candidate>> ParseCandidate(std::string_view spec) {
  for (const CandidateKind& kind : kKinds) {
    const std::string_view prefix = kind.prefix;
    if (!spec.starts_with(prefix)) continue;
    const std::string_view rest = spec.substr(prefix.size());
    // "builtin:optimizedX" is no builtin:optimized.
    const bool whole = prefix.ends_with(':') || rest.empty() ||
                       rest.front() == '@' || rest.front() == ',';
    if (!whole) continue;
    return kind.parse(rest);
  }
  std::string message =
      "candidate '" + std::string(spec) + "' is of no known kind; known:";
  for (const CandidateKind& kind : kKinds) {
    message += std::string(" ") + kind.form;
  }
  return Status::Error(message);
}

}  // namespace lockstep::verify
