// How a kernel comes before the judge. One small interface; a new kind of
// candidate is a class and a row in the table of candidate.cc.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_CANDIDATE_H_
#define LOCKSTEP_VERIFY_CANDIDATE_CANDIDATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case.h"
#include "verify/op.h"
#include "verify/profile.h"

namespace lockstep::verify {

// A case among those asked for, as a candidate may need to know it.
struct CaseRequest {
  const Case* call = nullptr;
  std::string line;    // minimal text of the call
  int64_t number = 1;  // of the call among all asked for, from 1
  int64_t total = 1;   // calls asked for
};

struct BlockPlanScene;
struct PlanTrace;

class Candidate {
 public:
  virtual ~Candidate() = default;

  // The spec that asks for `how`, in one form: a replay line takes it.
  virtual std::string Spec(const Variation& how) const = 0;
  std::string Spec() const { return Spec(Fixed()); }
  // What was asked for: "optimized", "reference", "files".
  virtual std::string Backend() const = 0;
  // The fixed part of the request: target, threads, tile, ... if named.
  virtual const Variation& Fixed() const = 0;
  // True for kernels of this repository: they claim the exact contract or
  // bring a profile of their own, and need none.
  virtual bool Ours() const = 0;
  // That profile; absent: the exact contract, or what --profile says.
  virtual std::optional<NumericProfile> Claims() const { return std::nullopt; }

  // Everything that can be refused before anything is judged. Errors: usage.
  virtual Status Prepare(const CaseRequest& request) = 0;

  // Ways to run it again that must not change a bit, "repeat" not counted;
  // empty if it cannot be run again.
  virtual std::vector<Variation> Variations(const Trial& trial) const = 0;
  // Whether Run may be called more than once for a trial, with shifts.
  virtual bool Repeatable() const = 0;

  virtual RunOutcome Run(const CaseRequest& request, const Trial& trial,
                         const Variation& how, const OutputSet& outputs,
                         Execution* execution) = 0;

  // What a planner answers to a block_plan case, as the visits of a kernel
  // that reads its tables. kMismatch: tables that no kernel can read.
  virtual RunOutcome Plan(const CaseRequest& request,
                          const BlockPlanScene& scene, PlanTrace* trace);
};

// One row of the table of kinds.
struct CandidateKind {
  const char* prefix;  // "builtin:optimized"
  const char* form;    // with its arguments, for messages and lists
  const char* description;
  Result<std::unique_ptr<Candidate>> (*parse)(std::string_view arguments);
};
std::span<const CandidateKind> CandidateKinds();

// "builtin:optimized@AVX3,tile=32x64". Errors: one line that lists the kinds,
// or says which argument is wrong.
Result<std::unique_ptr<Candidate>> ParseCandidate(std::string_view spec);

// The kinds, by file.
Result<std::unique_ptr<Candidate>> ParseBuiltinOptimized(
    std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseBuiltinReference(
    std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseFiles(std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseMutantCandidate(
    std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParsePlanMutant(std::string_view name);
Result<std::unique_ptr<Candidate>> ParseVariantCandidate(
    std::string_view arguments);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_CANDIDATE_H_
