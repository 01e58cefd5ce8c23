// The same bits however a candidate runs: again, with other threads, tiles,
// instruction sets and alignments; and nothing touched but its outputs.
#ifndef LOCKSTEP_VERIFY_JUDGE_INVARIANCE_H_
#define LOCKSTEP_VERIFY_JUDGE_INVARIANCE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/judge/truth.h"
#include "verify/judge/verdict.h"
#include "verify/ops/allowed.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Work of all variations of a case together, in multiply-adds (about a second
// of a fast core). Beyond it variations are left out, except for
// kMinVariations.
inline constexpr int64_t kVariationWork = int64_t{1} << 34;
inline constexpr int64_t kMinVariations = 6;

// Opens the trial again with every buffer moved by so many elements.
using Reopen = std::function<Result<std::unique_ptr<Trial>>(int64_t shift)>;

// Side effects of one run.
struct GuardedRun {
  RunOutcome outcome;
  Execution execution;
  bool guards_intact = true;
  bool inputs_unchanged = true;
  double seconds = 0;
};

// Poisons the outputs, runs the candidate, and checks guard zones, padding and
// inputs.
GuardedRun RunGuarded(Candidate& candidate, const CaseRequest& request,
                      const Trial& trial, const Variation& how,
                      PoisonBits poison, const OutputSet& outputs);

// A finding if its receipt of this run cannot be true; only the first of a
// case.
void FindUntrue(const Execution& execution, const std::string& variation,
                CaseResult* result);

// The findings of RunGuarded's outcome: a broken candidate (kCandidate).
std::vector<Finding> GuardFindings(const GuardedRun& run,
                                   const std::string& spec);

// Whether the check means nothing of its answers.
bool CannotTry(const Candidate& candidate, const std::string& check);

// Counts one more run of a check, which passes if all of its runs do.
void NoteCheck(CaseResult* result, const std::string& name, bool passed);

// The output of that name; of none, the first.
const OutputSpec& OutputNamed(const Trial& trial, const std::string& name);

// The first difference between two runs over all elements of all outputs; bits
// are compared, NaNs as one.
std::optional<Comparison> FirstDifference(const Trial& trial,
                                          const OutputSet& base,
                                          const OutputSet& other);

// "o at [b=0 h=1 i=2 c=3]: expected ... produced ...": a comparison's first
// and worst witnesses in one line.
std::string DescribeComparison(const OutputSpec& spec,
                               const Comparison& comparison);

// Variations to run: all of them where the work allows it. Otherwise those that
// change one thing come first, and then a part of the combined ones that
// differs from case to case (`salt`).
std::vector<Variation> ChooseVariations(std::vector<Variation> all,
                                        int64_t work, uint64_t salt);

// `most` of them, spread over the list, others for another salt.
template <typename T>
std::vector<T> PickSome(std::vector<T> all, int64_t most, uint64_t salt) {
  const auto count = static_cast<uint64_t>(most);
  if (all.size() <= count) return all;
  std::vector<T> picked;
  for (uint64_t n = 0; n < count; ++n) {
    picked.push_back(all[(salt + n * all.size() / count) % all.size()]);
  }
  return picked;
}

struct InvarianceRequest {
  Candidate* candidate = nullptr;
  const CaseRequest* request = nullptr;
  const Trial* trial = nullptr;
  const OutputSet* base = nullptr;  // outputs of the compared run
  // Of a kernel that does not promise the same bits: what its profile allows;
  // null: bits are compared.
  const AllowedResults* allowed = nullptr;
  OutputSet* scratch = nullptr;  // same shape, overwritten
  Reopen reopen;
  uint64_t salt = 0;
  int64_t most = INT64_MAX;                 // variations
  const std::atomic<bool>* stop = nullptr;  // may be null
};

// Runs the variations, at most one finding per check. Adds to checks, targets,
// runs and findings of `result`.
void JudgeInvariance(const InvarianceRequest& request, CaseResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_INVARIANCE_H_
