// What emulated kernels of all ops have in common as candidates.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_EMULATED_H_
#define LOCKSTEP_VERIFY_CANDIDATE_EMULATED_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/candidate.h"

namespace lockstep::verify {

class EmulatedCandidate : public Candidate {
 public:
  std::string Spec(const Variation&) const final { return name_; }
  std::string Backend() const final { return kind_; }
  const Variation& Fixed() const final { return fixed_; }
  bool Ours() const final { return true; }
  // A mutant claims what the variant it broke could.
  std::optional<NumericProfile> Claims() const final {
    return Honest().exact ? std::nullopt : std::optional(Honest());
  }
  bool Repeatable() const final { return true; }
  Status Prepare(const CaseRequest&) final { return {}; }
  std::vector<Variation> Variations(const Trial&) const final { return {}; }

  // A run of which these rows of the trial are wanted alone, ascending; others
  // may stay as they are. Empty: all.
  virtual RunOutcome RunRows(const Trial& trial, std::span<const int64_t> rows,
                             const OutputSet& outputs, Execution* execution) {
    (void)rows;
    return Run({}, trial, {}, outputs, execution);
  }

 protected:
  // `kind`: "mutant" or "variant"; `spec`: what follows the colon.
  EmulatedCandidate(std::string kind, const std::string& spec)
      : name_(kind + ":" + spec), kind_(std::move(kind)) {}

  // What the emulator computes without its bug.
  virtual const NumericProfile& Honest() const = 0;

  // `why` begins with a blank: " computes attention_forward only".
  RunOutcome Refuse(const std::string& why) const {
    return {RunOutcome::State::kUnsupported, name_ + why, ""};
  }
  RunOutcome Ran(std::string plan, Execution* execution) const {
    execution->backend = kind_;
    execution->threads = 1;
    execution->plan = std::move(plan);
    return {};
  }

 private:
  std::string name_;
  std::string kind_;
  Variation fixed_;
};

// "tile 64x128 variant flash" of a kernel of attention.
template <typename Variant>
std::string TileOf(const Variant& variant) {
  return "tile " + std::to_string(variant.tile_q) + "x" +
         std::to_string(variant.tile_kv) + " variant " + variant.name();
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_EMULATED_H_
