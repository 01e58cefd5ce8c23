#include "verify/cli/session.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/cli/identify/auto_profile.h"
#include "verify/cli/outputs/outputs.h"
#include "verify/cli/process.h"
#include "verify/cli/session_options.h"
#include "verify/cli/watch.h"
#include "verify/identify/identify.h"
#include "verify/registry/ops.h"
#include "verify/run/self_check.h"

namespace lockstep::verify::cli {
namespace {

constexpr const char* kDefaultCandidate = "builtin:optimized";

// --threads is the number of every candidate that takes one and names none.
std::string WithThreads(const std::string& spec, int threads) {
  const bool takes = spec.starts_with("builtin:optimized") &&
                     spec.find(",threads=") == std::string::npos;
  return threads > 0 && takes ? spec + ",threads=" + std::to_string(threads)
                              : spec;
}

// Whether a case is judged by what a profile claims of its arithmetic.
bool NeedsProfile(const JobGroup& group) {
  for (const Job& job : group.jobs) {
    for (const Case& c : job.sequence) {
      const Result<TrialRow> op = TrialRowOf(c);
      if (!op.ok() || op->claims) return true;
    }
  }
  return false;
}

Status CheckTrust(const JobGroup& group, const std::string& spec) {
  if (group.untrusted.empty() || !StartsProgram(spec)) return {};
  return Status::Error(group.untrusted + " names the candidate '" + spec +
                       "', which is a program: give --candidate yourself, or "
                       "--trust-file if the file may start it");
}

Result<std::vector<std::unique_ptr<Candidate>>> OpenCandidates(
    const JobGroup& group, const SessionOptions& options) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (const std::string& spec : group.candidates) {
    RETURN_IF_ERROR(CheckTrust(group, spec));
    ASSIGN_OR_RETURN(std::unique_ptr<Candidate> candidate,
                     ParseCandidate(WithThreads(spec, options.threads)));
    if (!options.invariance && !candidate->traits().ours &&
        group.profile.empty() && NeedsProfile(group)) {
      std::string known;
      for (const NumericProfile& profile : BuiltinProfiles()) {
        known += " " + profile.name;
      }
      return Status::Error("candidate '" + spec +
                           "' needs --profile, the numeric contract it "
                           "claims; built in:" +
                           known + "; or a file (docs/profiles.md)");
    }
    RETURN_IF_ERROR(candidate->Start());
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

// The profile as asked for: by name, by file, or what the candidates say.
Result<NumericProfile> ProfileOf(
    const std::string& asked,
    const std::vector<std::unique_ptr<Candidate>>& candidates) {
  if (asked != kProfileFromCandidate) return LoadProfile(asked);
  Result<NumericProfile> profile = StatedProfileOf(*candidates.front());
  for (const auto& candidate : candidates) {
    ASSIGN_OR_RETURN(const NumericProfile own, StatedProfileOf(*candidate));
    if (own == profile.value()) continue;
    return Status::Error("--profile from-candidate: '" + candidate->Spec() +
                         "' has another profile than '" +
                         candidates.front()->Spec() +
                         "'; judge them one by one");
  }
  return profile;
}

// What a session of `invariance` changes once its candidate is there.
void FitToClaims(const SessionOptions& options, const Candidate& candidate,
                 JobGroup* group) {
  if (!options.invariance) return;
  if (group->profile.empty() && !candidate.Introduce().profile.empty()) {
    group->profile = kProfileFromCandidate;
  }
  const std::string op = candidate.Introduce().usual_op;
  if (!group->own_cases || op.empty()) return;
  std::erase_if(group->jobs, [&](const Job& job) {
    return OpName(job.sequence.front()) != op;
  });
}

// Of a kernel without a profile, whose bits alone are compared: any arithmetic.
NumericProfile BitsAlone(const std::string& op) {
  NumericProfile profile;
  profile.name = "bits";
  profile.exact = true;
  profile.grad.emplace();
  // Then it may lack carries.
  if (!op.empty() && !op.starts_with("attention_")) profile.scan.emplace();
  return profile;
}

// The profile of a session of `invariance`. Claims that are typed stand for
// those of the profile.
NumericProfile ProfileOfClaims(const SessionOptions& options,
                               const Candidate& candidate,
                               std::optional<NumericProfile> profile) {
  if (!profile) profile = candidate.traits().claims;
  if (!profile) profile = BitsAlone(candidate.Introduce().usual_op);
  if (!options.claims.Empty()) profile->claims = options.claims;
  return *profile;
}

ReceiptRequest DescribeRequest(const std::vector<JobGroup>& groups,
                               const SessionOptions& options) {
  ReceiptRequest request;
  request.arguments = CommandArguments();
  for (const JobGroup& group : groups) {
    for (const std::string& spec : group.candidates) {
      request.candidates.push_back(spec);
    }
  }
  request.candidate_explicit = !options.candidates.empty();
  request.profile = options.profile;
  request.config = options.config;
  for (const JobGroup& group : groups) {
    if (group.identified) request.identified = group.identified;
  }
  request.profile_source = options.profile.empty()           ? "builtin"
                           : options.profile == kProfileAuto ? "auto"
                           : options.profile == kProfileFromCandidate
                               ? "candidate"
                           : options.config_profile ? "config"
                                                    : "option";
  request.require_executed = options.require_executed;
  request.fresh_seed = options.fresh;
  request.time = UtcNow();
  return request;
}

}  // namespace

void AddColor(Verb* verb, SessionOptions* options) {
  verb->Value("--color", &options->color,
              "Color verdicts; auto: on a terminal, unless NO_COLOR is set")
      .OneOf({"auto", "always", "never"})
      .Type("WHEN");
}

void AddJobs(Verb* verb, SessionOptions* options) {
  verb->Value("--jobs", &options->jobs,
              "Cases judged in parallel (default: one per core); a candidate's "
              "program gets one after another")
      .Range(1, 1024);
}

namespace {

// A group before its first case: candidates started, profile read, everything
// that can be refused accepted. `threads`: raised to the most that it takes.
Result<Run> OpenRun(JobGroup* group, const SessionOptions& options,
                    int* threads) {
  if (group->candidates.empty()) group->candidates = {kDefaultCandidate};
  SessionOptions with = options;
  RETURN_IF_ERROR(ApplyReplayOptions(group->options, &with));
  RETURN_IF_ERROR(LimitHosts(with.hosts, group->candidates));
  ASSIGN_OR_RETURN(auto candidates, OpenCandidates(*group, with));
  FitToClaims(with, *candidates.front(), group);
  for (const auto& candidate : candidates) {
    *threads =
        std::max(*threads, candidate->traits().fixed.threads.value_or(0));
  }
  ASSIGN_OR_RETURN(RunOptions own, ResolveOptions(with));
  *threads = std::max(*threads, with.threads);
  RETURN_IF_ERROR(IdentifyFor(with, candidates, group, WatchInterrupt()));
  if (!group->profile.empty()) {
    ASSIGN_OR_RETURN(own.judge.profile,
                     group->identified ? Result(group->identified->profile)
                                       : ProfileOf(group->profile, candidates));
    own.judge.profile_spec = group->profile;
  }
  if (with.invariance) {
    own.judge.profile =
        ProfileOfClaims(with, *candidates.front(), own.judge.profile);
  }
  own.judge.stop = WatchInterrupt();
  return Run::Prepare(std::move(group->jobs), std::move(candidates), own);
}

}  // namespace

int RunSession(std::vector<JobGroup> groups, const SessionOptions& options) {
  const auto refuse = [&](const Status& status) {
    return Refuse(options, status.message(),
                  *WatchInterrupt() ? kExitInterrupted : kExitUsage);
  };
  const Result<RunOptions> resolved = ResolveOptions(options);
  if (!resolved.ok()) return refuse(resolved.status());

  // Everything is opened before anything is judged.
  std::vector<Run> runs;
  int64_t total = 0;
  int threads = options.threads, jobs = 1;
  for (JobGroup& group : groups) {
    Result<Run> run = OpenRun(&group, options, &threads);
    if (!run.ok()) return refuse(run.status());
    for (const std::string& note : run->notes()) Note(note);
    if (group.identified) NoteIdentified(*group.identified);
    total += run->cases();
    jobs = std::max(jobs, run->Jobs());
    runs.push_back(std::move(run.value()));
  }
  const Status room = CheckThreads(threads, jobs);
  if (!room.ok()) return refuse(room);
  const Status sound = SelfCheck(Ops());
  if (!sound.ok()) {
    return Refuse(options, "self-check failed: " + sound.message(), kExitSelf);
  }
  WatchThreads();

  Outputs outputs(options, total, ReadEnvironment(),
                  DescribeRequest(groups, options));
  Totals totals;
  try {
    const Watch watch(WatchInterrupt(), resolved->budget.seconds,
                      {.tick = [&] { outputs.ShowProgress(); },
                       .on_interrupt = [&] { outputs.EndInside(true); },
                       .on_budget = [&] { outputs.EndInside(false); }});
    for (Run& run : runs) totals.Add(run.Judge(&outputs));
  } catch (const std::exception& error) {
    const std::string limit = LimitReached(error);
    if (!limit.empty()) outputs.EndShort(limit, kExitUsage);
    outputs.EndShort(error.what(), kExitSelf);
  }
  runs.clear();
  if (!EndHosts()) ++totals.error;
  // A candidate in our process may have changed what everything rests on.
  const Status still_sound = SelfCheck(Ops());
  if (!still_sound.ok()) ++totals.self_errors;
  const int code = outputs.Finish(totals, ExitCode(totals, PolicyOf(options)));
  if (still_sound.ok()) return code;
  return Fail(
      "self-check failed after judging, so no verdict of this run "
      "counts: " +
          still_sound.message(),
      kExitSelf);
}

int RunGroup(JobGroup group, const SessionOptions& options) {
  group.candidates = options.candidates;
  group.profile = options.profile;
  std::vector<JobGroup> groups;
  groups.push_back(std::move(group));
  return RunSession(std::move(groups), options);
}

}  // namespace lockstep::verify::cli
