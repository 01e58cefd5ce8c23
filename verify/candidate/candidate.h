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
#include <utility>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/ops/facts.h"
#include "verify/ops/kernels.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"
#include "verify/tables/scene.h"

namespace lockstep::verify {

// A case among those asked for, as a candidate may need to know it.
struct CaseRequest {
  const Case* call = nullptr;
  std::string line;    // minimal text of the call
  int64_t number = 1;  // of the call among all asked for, from 1
  int64_t total = 1;   // calls asked for
  // Where `call` is a probe of the call asked for: its name.
  std::string probe{};
  int64_t max_bytes = INT64_MAX;  // of one file of answers
  bool last = true;               // call of its sequence
  // What the kernel claims; null: exact bits.
  const NumericProfile* claims = nullptr;
  // Whether it has the output of that name.
  bool Has(std::string_view output) const {
    return claims == nullptr || HasOutput(*claims, output);
  }
  // Whether its bf16 outputs are f32.
  bool WideOut() const {
    return claims != nullptr && claims->out == OutLane::kF32;
  }
  // Where the call is a law's: its name, and the inputs that are outputs of
  // the call before.
  std::string law{};
  std::vector<TakenInput> taken{};
  // The judge looks at an answer once more: the earlier answer serves again.
  bool once_more = false;
};

// What is known of a candidate before its first call.
struct CandidateTraits {
  // What was asked for: "optimized", "reference", "files".
  std::string backend;
  // The fixed part of the request: target, threads, tile, ... if named.
  Variation fixed{};
  // A kernel of this repository: it claims the exact contract or brings a
  // profile of its own, and needs none.
  bool ours = false;
  // That profile; absent: the exact contract, or what --profile says.
  std::optional<NumericProfile> claims{};
  // It answers any request, not only those that it has answers to.
  bool computes = true;
  // Run may be called more than once for a trial, with shifts.
  bool repeatable = true;
  // It computes in a process of its own, which reaches no memory of the judge,
  // and lays tensors out there as variations ask.
  bool apart = false;
  // It also answers trials of parts with the sums that each row has after a
  // part (PartCalls). Only kernels of this repository in this process do.
  bool parts = false;
  // Checks that mean nothing of answers that were computed elsewhere; none of
  // a kernel that runs.
  std::vector<std::string> cannot_try{};
  // Further draws of a case that it has answers to, if it is repeatable.
  int64_t draws = INT64_MAX;

  int64_t MostDraws() const { return repeatable ? draws : 0; }
};

// What a kernel says about itself; a program says it once it has started.
struct Introduction {
  // The op that it is made for; empty: any.
  std::string usual_op{};
  // The profile that it says it has: a name, or the text of a profile file,
  // which has line breaks. Empty: none.
  std::string profile{};
  // What a receipt tells of it: name, version, commit, ...
  std::vector<Fact> identity{};
  // Outputs that it does not have, by what it has said so far: before the first
  // call, or when it answered one.
  std::vector<std::string> lacks{};
  // Numbers of splits that it can be told to compute by. Whether they change a
  // bit is for it to claim.
  std::vector<int> splits{};
};

// What a candidate has that holds answers to some requests alone.
class HeldAnswers {
 public:
  virtual ~HeldAnswers() = default;
  // The spec that asks for the answer to this request, as its only one.
  virtual std::string SpecOf(const CaseRequest& request) const = 0;
  // Whether it has an answer to this probe.
  virtual bool Answers(const CaseRequest& probe) const = 0;
};

class Candidate {
 public:
  virtual ~Candidate() = default;

  const CandidateTraits& traits() const { return traits_; }
  // Of a program after Start().
  virtual Introduction Introduce() const { return {}; }
  // Null: it answers every request, or the one that it is asked.
  virtual const HeldAnswers* held() const { return nullptr; }

  // The spec that asks for `how`, in one form: a replay line takes it.
  virtual std::string Spec(const Variation& how) const = 0;
  std::string Spec() const { return Spec(traits_.fixed); }
  std::string SpecOf(const CaseRequest& request) const {
    return held() != nullptr ? held()->SpecOf(request) : Spec();
  }
  bool Answers(const CaseRequest& probe) const {
    return held() != nullptr ? held()->Answers(probe) : traits_.repeatable;
  }

  // The same candidate without the arguments that `op` does not have; null
  // where it has them all.
  virtual std::unique_ptr<Candidate> Without(std::string_view) const {
    return nullptr;
  }
  // Another one that answers as this one does after Reset(), for cases that are
  // judged at the same time. Null: there is only this one, such as a process,
  // and it gets one case after another.
  virtual std::unique_ptr<Candidate> Copy() const { return nullptr; }

  // Makes it ready, before anything else is asked of it: a program is started.
  // Errors: usage.
  virtual Status Start() { return {}; }
  // Everything that can be refused before anything is judged. Errors: usage.
  virtual Status Prepare(const CaseRequest& request) = 0;
  // Ways to run it again that must not change a bit, "repeat" not counted;
  // empty if it cannot be run again.
  virtual std::vector<Variation> Variations(const Trial& trial) const = 0;

  virtual RunOutcome Run(const CaseRequest& request, const Trial& trial,
                         const Variation& how, const OutputSet& outputs,
                         Execution* execution) = 0;
  // The next thing asked for will be Run() with the same: what computes in
  // another process may begin. Outputs are poisoned, and written by Run() only.
  virtual void Begin(const CaseRequest& request, const Trial& trial,
                     const Variation& how, const OutputSet& outputs) {
    (void)request, (void)trial, (void)how, (void)outputs;
  }
  // After the last run of a case. kError: what is wrong between two cases, such
  // as processes left behind.
  virtual RunOutcome Settle(const CaseRequest& request) {
    (void)request;
    return {};
  }
  // Forgets earlier calls, as if opened anew. Each line of a case file is a
  // sequence of its own, and its findings must be the same when it runs alone.
  virtual void Reset() {}

 protected:
  explicit Candidate(CandidateTraits traits) : traits_(std::move(traits)) {}
  CandidateTraits& mutable_traits() { return traits_; }

 private:
  CandidateTraits traits_;
};

// A candidate that makes block tables, too.
class Planner {
 public:
  virtual ~Planner() = default;
  // What it answers to a block_plan case, as the visits of a kernel that reads
  // its tables. kMismatch: tables that no kernel can read.
  virtual RunOutcome Plan(const CaseRequest& request,
                          const BlockPlanScene& scene, PlanTrace* trace,
                          Execution* execution) = 0;
};
// The candidate's answer as a planner. kUnsupported: it is none.
RunOutcome PlanBy(Candidate& candidate, const CaseRequest& request,
                  const BlockPlanScene& scene, PlanTrace* trace,
                  Execution* execution);

// What --profile says for the profile that the candidate itself states.
inline constexpr const char* kProfileFromCandidate = "from-candidate";
// That profile. Errors: it states none, or one that cannot be read.
//   Requires: Start().
Result<NumericProfile> StatedProfileOf(const Candidate& candidate);

// One row of the table of kinds.
struct CandidateKind {
  const char* prefix;  // "builtin:optimized"
  const char* form;    // with its arguments, for messages and lists
  const char* description;
  Result<std::unique_ptr<Candidate>> (*parse)(std::string_view arguments);
  bool program = false;  // starts a program that the spec names
};
std::span<const CandidateKind> CandidateKinds();

// Whether it starts a program: only the user may name one.
bool StartsProgram(std::string_view spec);

// The Python that runs `py:` kernels: a package knows the one it runs in and
// says so by LOCKSTEP_PYTHON; else the one that PATH leads to.
std::string PythonProgram();

// "builtin:optimized@AVX3,tile=32x64". Errors: one line that lists the kinds,
// or says which argument is wrong.
Result<std::unique_ptr<Candidate>> ParseCandidate(std::string_view spec);

// The kinds, by file.
Result<std::unique_ptr<Candidate>> ParseBuiltinOptimized(
    std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseBuiltinReference(
    std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseCommand(std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseCommandFiles(
    std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseFiles(std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseSharedObject(
    std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseMutantCandidate(
    std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseClaimMutant(std::string_view name);
Result<std::unique_ptr<Candidate>> ParseShardMutant(std::string_view name);
Result<std::unique_ptr<Candidate>> ParsePlanMutant(std::string_view name);
Result<std::unique_ptr<Candidate>> ParsePython(std::string_view arguments);
Result<std::unique_ptr<Candidate>> ParseVariantCandidate(
    std::string_view arguments);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_CANDIDATE_H_
