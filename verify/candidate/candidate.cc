#include "verify/candidate/candidate.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "verify/base/nearest_name.h"
#include "verify/base/printable.h"

namespace lockstep::verify {
namespace {

constexpr CandidateKind kKinds[] = {
    {"builtin:optimized",
     "builtin:optimized[@TARGET][,tile=QxK][,threads=N][,native=0|1][,chunk=N]"
     "[,shift=N]",
     "the SIMD path of this library", ParseBuiltinOptimized},
    {"builtin:reference", "builtin:reference[,shift=N]",
     "the scalar reference, judged like any other", ParseBuiltinReference},
    {"cmd:", "cmd:PROGRAM ARG...",
     "a program that speaks the wire (docs/wire.md)", ParseCommand, true},
    {"cmd-files:", "cmd-files:PROGRAM ARG...",
     "a program that is started for every call, with a folder (docs/wire.md)",
     ParseCommandFiles, true},
    {"files:", "files:DIR",
     "outputs or tables made elsewhere, as safetensors (docs/verdicts.md)",
     ParseFiles},
    {"py:", "py:MODULE:FUNCTION[,NAME=VALUE]...",
     "a Python function, MODULE or FILE.py (docs/python.md)", ParsePython,
     true},
    {"so:", "so:PATH[,ARG=VALUE]...",
     "a shared object with the C interface of lockstep/candidate.h "
     "(docs/candidates.md)",
     ParseSharedObject, true},
    {"mutant:", "mutant:NAME[@SEVERITY][,base=VARIANT][,tile=ROWSxKEYS]",
     "a kernel with a known bug: lockstep list mutants", ParseMutantCandidate},
    {"variant:", "variant:NAME",
     "a correct kernel of the zoo, under its own profile",
     ParseVariantCandidate},
};

// A kernel without its kind: what it is by its name, or by what lies there.
// Empty: not to be told.
std::string Meant(const std::string& spec) {
  std::error_code error;
  const std::string file = spec.substr(0, spec.find_first_of(":,"));
  const std::filesystem::path path = file;
  if (path.extension() == ".py") {
    const bool whole = spec.find(':') != spec.npos;
    return "py:" + file + (whole ? spec.substr(file.size()) : ":FUNCTION");
  }
  if (file == "py") return "py:FILE.py:FUNCTION";
  if (file == "so") return "so:PATH";
  if (path.extension() == ".so" || path.extension() == ".dylib") {
    return "so:" + spec;
  }
  if (std::filesystem::is_directory(path, error)) return "files:" + spec;
  // What compiles to a shared object has to be compiled first.
  for (const char* source : {".c", ".cc", ".cpp", ".cu", ".hip"}) {
    if (path.extension() == source) return "so:" + path.stem().string() + ".so";
  }
  if (std::filesystem::is_regular_file(path, error)) return "cmd:" + spec;
  return "";
}

}  // namespace

RunOutcome PlanBy(Candidate& candidate, const CaseRequest& request,
                  const BlockPlanScene& scene, PlanTrace* trace,
                  Execution* execution) {
  auto* planner = dynamic_cast<Planner*>(&candidate);
  if (planner != nullptr) {
    return planner->Plan(request, scene, trace, execution);
  }
  return {RunOutcome::State::kUnsupported,
          candidate.Spec() + " makes no block tables", ""};
}

Result<NumericProfile> StatedProfileOf(const Candidate& candidate) {
  const std::string stated = candidate.Introduce().profile;
  if (stated.empty()) {
    return Status::Error("--profile from-candidate: '" + candidate.Spec() +
                         "' states no profile");
  }
  if (stated.find('\n') != std::string::npos) {
    return ParseProfile(stated, candidate.Spec());
  }
  // A name only: a candidate opens no files in the judge.
  for (const NumericProfile& profile : BuiltinProfiles()) {
    if (profile.name == stated) return profile;
  }
  return Status::Error("--profile from-candidate: '" + candidate.Spec() +
                       "' states '" + Printable(stated) +
                       "', which is neither a built-in profile nor the text of "
                       "one (lockstep list profiles)");
}

std::span<const CandidateKind> CandidateKinds() { return kKinds; }

bool StartsProgram(std::string_view spec) {
  return std::any_of(std::begin(kKinds), std::end(kKinds),
                     [&](const CandidateKind& kind) {
                       return kind.program && spec.starts_with(kind.prefix);
                     });
}

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
  // What follows the kind would drown it.
  std::string_view word = spec.substr(0, spec.find_first_of("@,"));
  const bool builtin = word.starts_with('b');
  if (!builtin)
    word = spec.substr(0, std::min(word.find(':'), word.size() - 1) + 1);
  const std::string meant = Meant(std::string(spec));
  std::string message =
      "candidate '" + std::string(spec) + "' is not of a known kind; " +
      (meant.empty() ? NearestIs(word, kKinds,
                                 [](const auto& kind) { return kind.prefix; })
                     : "nearest is '" + meant + "'") +
      "; known:";
  for (const CandidateKind& kind : kKinds) {
    message += std::string(" ") + kind.form;
  }
  return Status::Error(message);
}

}  // namespace lockstep::verify
