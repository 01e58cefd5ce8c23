// A case judged by an installed Lockstep, in this process: our optimized path
// passes, a kernel known to be wrong fails.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/registry/ops.h"
#include "verify/run/run.h"

namespace {

namespace verify = lockstep::verify;

struct Quiet : verify::RunObserver {
  void OnCase(const verify::CaseResult&, const verify::Totals&,
              int64_t) override {}
};

// Cases that passed; -1: nothing was judged.
int64_t Passed(const std::string& spec) {
  auto jobs = verify::JobsFromLines(
      {"attention_forward hq=2 sq=6 skv=9 d=8 cap=30 mask=causal seed=4"},
      verify::Ops());
  auto candidate = verify::ParseCandidate(spec);
  if (!jobs.ok() || !candidate.ok()) return -1;
  std::vector<std::unique_ptr<verify::Candidate>> candidates;
  candidates.push_back(std::move(candidate.value()));
  auto run =
      verify::Run::Prepare(std::move(jobs.value()), std::move(candidates), {});
  if (!run.ok()) return -1;
  Quiet quiet;
  return run->Judge(&quiet).pass;
}

}  // namespace

int main() {
  const bool right = Passed("builtin:optimized") == 1 &&
                     Passed("mutant:attn.causal_plus_one") == 0;
  std::printf("bits equal: %s\n", right ? "yes" : "no");
  return right ? 0 : 1;
}
