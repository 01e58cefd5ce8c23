// One case under one base: its own inputs and those of every probe, each with
// the right answer and what the base's profile allows. All mutants share it.
#ifndef LOCKSTEP_TESTS_POWER_STAGES_H_
#define LOCKSTEP_TESTS_POWER_STAGES_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/case/case.h"
#include "verify/ops/allowed.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// How far an answer is from the right one.
enum class Difference : uint8_t {
  kNone,     // the same bits
  kRounded,  // at most four last places of its row's largest element
  kWrong
};

// Inputs, the right answer, and what is allowed. Made when first asked for.
class Stage {
 public:
  // `tier`: "bits", "envelope", or a probe's name. `base`: empty, the right
  // answer is not needed.
  Stage(Case call, std::string base, const NumericProfile& profile,
        std::string tier)
      : call_(std::move(call)),
        base_(std::move(base)),
        profile_(profile),
        tier_(std::move(tier)) {}

  const Case& call() const { return call_; }

  const std::string& tier() const { return tier_; }
  // The rest of it; safe to call from several threads. Errors: memory, a case
  // that cannot be opened.
  Status Open();
  bool opened() const { return opened_; }

  // Requires: Open().ok(), for all below.
  const Trial& trial() const { return *trial_; }
  // Of the base without a bug; of the reference where the tier is bits.
  //   Requires: there is a base.
  const OutputSet& right() const { return right_; }
  // Of the rows about which the profile says anything.
  Difference DifferenceOf(const OutputSet& outputs) const;
  // Whether the profile allows the answer.
  bool Allows(const OutputSet& outputs) const;
  // An answer of the candidate to these inputs.
  Result<OutputSet> Run(Candidate* candidate) const;

 private:
  Status OpenOnce();

  Case call_;
  std::string base_;
  const NumericProfile& profile_;
  std::string tier_;
  std::once_flag once_;
  bool opened_ = false;
  Status status_;
  std::unique_ptr<Trial> trial_;
  std::unique_ptr<AllowedResults> allowed_;
  OutputSet right_;
};

// The profile of a variant of attention or of scans. Errors: unknown.
Result<NumericProfile> ProfileOfBase(const std::string& base);

// Own inputs first. `without`: names of probes that are left out.
class Stages {
 public:
  // Errors: a line that is no case, an unknown base.
  static Result<std::unique_ptr<Stages>> Make(
      const std::string& line, const std::string& base,
      const std::vector<std::string>& without);
  // By another profile than the base's own. `base`: empty, to ask for nothing
  // but what is allowed.
  static Result<std::unique_ptr<Stages>> MakeBy(
      const std::string& line, const std::string& base,
      const NumericProfile& profile, const std::vector<std::string>& without);

  size_t size() const { return stages_.size(); }
  Stage& operator[](size_t n) { return *stages_[n]; }

 private:
  NumericProfile profile_;
  std::vector<std::unique_ptr<Stage>> stages_;
};

// `allowed`, if not null: rows of which it claims nothing are left out.
Difference Compare(const Trial& trial, const AllowedResults* allowed,
                   const OutputSet& right, const OutputSet& produced);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_STAGES_H_
