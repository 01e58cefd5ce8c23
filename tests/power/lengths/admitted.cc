#include "tests/power/lengths/admitted.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/judge/evidence/evidence.h"
#include "verify/registry/ops.h"
#include "verify/run/run.h"

namespace lockstep::verify {
namespace {

// Few keys or one channel: what they move under a small cap, or in a row's only
// query, is below the roundings that a profile of 8-bit weights allows.
constexpr struct {
  std::string_view mutant;
  const char* kind;
} kKinds[] = {
    {"attn.drop_channel", "channel"},
    {"attn.k_row_off_by_one", "k_row"},
    {"attn.v_tiles_exchanged", "v_row"},
};

class Admission final : public RunObserver {
 public:
  explicit Admission(std::string_view kind) : kind_(kind) {}
  void OnCase(const CaseResult& result, const Totals& /*totals*/,
              int64_t /*remaining*/) override {
    const std::vector<std::string> kinds = UnshownKinds(result, true);
    seen_ = std::find(kinds.begin(), kinds.end(), kind_) != kinds.end();
  }
  bool seen() const { return seen_; }

 private:
  std::string_view kind_;
  bool seen_ = false;
};

}  // namespace

const char* FaultKindOf(const MutantInfo& info) {
  for (const auto& [mutant, kind] : kKinds) {
    if (mutant == info.name) return kind;
  }
  return nullptr;
}

Result<bool> Admitted(const std::string& line, const std::string& spec,
                      const std::string& kind) {
  ASSIGN_OR_RETURN(auto jobs, JobsFromLines({line}, Ops()));
  ASSIGN_OR_RETURN(auto candidate, ParseCandidate(spec));
  std::vector<std::unique_ptr<Candidate>> candidates;
  candidates.push_back(std::move(candidate));
  RunOptions options;
  // Neither accuses nor adds to what is shown.
  options.judge.invariance = false;
  options.judge.canaries = false;
  ASSIGN_OR_RETURN(
      auto run, Run::Prepare(std::move(jobs), std::move(candidates), options));
  Admission admission(kind);
  run.Judge(&admission);
  return admission.seen();
}

}  // namespace lockstep::verify
