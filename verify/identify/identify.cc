#include "verify/identify/identify.h"

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
  if (!candidate.Computes()) {
    return Status::Error("candidate '" + candidate.Spec() +
                         "' answers only what it was asked before; want a "
                         "kernel that computes");
  }
  return {};
}

Result<Identified> Identify(const IdentifyRequest& request,
                            Candidate& candidate) {
  const Status may = MayAsk(request, candidate);
  if (!may.ok()) return may;
  Result<Identified> found = RowOf(request.op)->ask(request, candidate);
  if (!found.ok()) {
    return Status::Error("candidate '" + candidate.Spec() +
                         "' cannot be asked in " + LaneName(request.lane) +
                         ": " + found.message());
  }
  return found;
}

}  // namespace lockstep::verify
