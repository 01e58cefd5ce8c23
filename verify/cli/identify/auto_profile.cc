#include "verify/cli/identify/auto_profile.h"

#include <optional>
#include <set>
#include <string>

#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/identify/identify.h"

namespace lockstep::verify::cli {
namespace {

// The lane of the case's tensors; none: its op has none.
std::optional<Lane> LaneOf(const Case& c) {
  if (c.Has<AttentionForwardCase>()) return c.Get<AttentionForwardCase>().lane;
  if (c.Has<Mamba3ScanCase>()) return c.Get<Mamba3ScanCase>().problem.lane;
  return std::nullopt;
}

// The one op and lane of the cases. Errors: there are two.
Result<IdentifyRequest> RequestFor(const JobGroup& group) {
  std::set<std::string> ops;
  std::set<Lane> lanes;
  for (const Job& job : group.jobs) {
    for (const Case& c : job.sequence) {
      ops.insert(OpName(c));
      const std::optional<Lane> lane = LaneOf(c);
      if (lane) lanes.insert(*lane);
    }
  }
  if (ops.size() > 1 || lanes.size() > 1) {
    return Status::Error(
        "--profile auto: the cases are of two " +
        std::string(ops.size() > 1 ? "ops" : "lanes") +
        ", and a profile is of one; want them in runs of their own");
  }
  IdentifyRequest request;
  request.op = ops.empty() ? IdentifiableOps().front() : *ops.begin();
  if (!lanes.empty()) request.lane = *lanes.begin();
  return request;
}

}  // namespace

Status IdentifyFor(const SessionOptions& options,
                   const std::vector<std::unique_ptr<Candidate>>& candidates,
                   JobGroup* group, const std::atomic<bool>* stop) {
  if (group->profile != kProfileAuto) return {};
  if (!options.allow_auto) {
    RETURN_IF_ERROR(MayLearnHere(", or give --allow-auto"));
  }
  if (candidates.size() != 1) {
    return Status::Error(
        "--profile auto takes one candidate; want a separate run for each");
  }
  ASSIGN_OR_RETURN(IdentifyRequest request, RequestFor(*group));
  request.stop = stop;
  Result<Identified> found = Identify(request, *candidates.front());
  if (!found.ok()) return Status::Error("--profile auto: " + found.message());
  group->identified = std::move(found.value());
  return {};
}

void NoteIdentified(const Identified& identified) {
  Note("--profile auto: identified by " + std::to_string(identified.calls) +
       " calls, digest " + ProfileDigest(identified.profile) +
       "; `lockstep identify` prints it with its evidence");
  for (const FieldEvidence& field : identified.fields) {
    if (field.word == Word::kReported) {
      Note(field.field + ": " + field.evidence + "; not taken over" +
           (field.line.empty() ? ""
                               : "; to add, if it is meant: " + field.line));
    } else if (field.word == Word::kCannotTell) {
      Note(field.field + ": cannot tell: " + field.evidence);
    }
  }
  for (const std::string& warning : identified.warnings) Note(warning);
}

}  // namespace lockstep::verify::cli
