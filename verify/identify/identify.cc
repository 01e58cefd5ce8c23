#include "verify/identify/identify.h"

#include <cstdlib>
#include <optional>

#include "verify/base/status_macros.h"
#include "verify/identify/rows.h"

namespace lockstep::verify {
namespace {

const IdentifyRow* RowOf(const std::string& op) {
  for (const IdentifyRow& row : IdentifyRows()) {
    if (op == row.op) return &row;
  }
  return nullptr;
}

}  // namespace

const std::vector<std::string>& IdentifiableOps() {
  static const std::vector<std::string> kOps = [] {
    std::vector<std::string> ops;
    for (const IdentifyRow& row : IdentifyRows()) ops.emplace_back(row.op);
    return ops;
  }();
  return kOps;
}

Status MayAsk(const IdentifyRequest& request, const Candidate& candidate) {
  if (RowOf(request.op) == nullptr) {
    std::string known;
    for (const IdentifyRow& row : IdentifyRows()) {
      known += (known.empty() ? "" : " or ") + std::string(row.op);
    }
    return Status::Error("kernels of " + request.op +
                         " cannot be asked; want those of " + known +
                         ", or write a profile (docs/which-profile.md)");
  }
  if (!candidate.traits().computes) {
    return Status::Error("candidate '" + candidate.Spec() +
                         "' answers only what it was asked before; want a "
                         "kernel that computes");
  }
  return {};
}

Result<Identified> Identify(const IdentifyRequest& request,
                            Candidate& candidate) {
  RETURN_IF_ERROR(MayAsk(request, candidate));
  Result<Identified> found = RowOf(request.op)->ask(request, candidate);
  if (!found.ok()) {
    return Status::Error("candidate '" + candidate.Spec() +
                         "' cannot be asked in " + LaneName(request.lane) +
                         ": " + found.message());
  }
  return found;
}

std::vector<Lane> LanesToAsk(const Candidate& candidate) {
  const std::optional<NumericProfile> claims = candidate.traits().claims;
  if (claims && claims->lane) return {*claims->lane};
  return {Lane::kF32, Lane::kBf16, Lane::kF16};
}

Result<Identified> IdentifyInItsLane(const std::string& op,
                                     const std::atomic<bool>* stop,
                                     Candidate& candidate) {
  IdentifyRequest request;
  request.stop = stop;
  request.op = op.empty() ? candidate.Introduce().usual_op : op;
  if (request.op.empty()) request.op = IdentifiableOps().front();
  request.lane = LanesToAsk(candidate).front();
  RETURN_IF_ERROR(MayAsk(request, candidate));
  std::string why;
  for (const Lane lane : LanesToAsk(candidate)) {
    request.lane = lane;
    Result<Identified> found = Identify(request, candidate);
    if (found.ok()) return found;
    why += (why.empty() ? "" : "\n") + found.message();
  }
  return Status::Error(why);
}

Status MayLearnHere(const std::string& otherwise) {
  const char* ci = std::getenv("CI");
  const std::string word = ci == nullptr ? "" : ci;
  if (word.empty() || word == "false" || word == "0") return {};
  return Status::Error(
      "--profile auto: a gate must not learn from what it judges, and CI is "
      "set; keep the output of `lockstep identify` as a file" +
      otherwise);
}

}  // namespace lockstep::verify
