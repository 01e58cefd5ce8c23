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
  Introduction Introduce() const final { return {.usual_op = op_}; }
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
  // `kind`: "mutant" or "variant"; `spec`: what follows the colon; `honest`:
  // what the emulator computes without its bug.
  EmulatedCandidate(const std::string& kind, const std::string& spec,
                    std::string op, const NumericProfile& honest)
      : Candidate(
            {.backend = kind,
             .ours = true,
             // A mutant claims what the variant it broke could.
             .claims = honest.exact ? std::nullopt : std::optional(honest)}),
        name_(kind + ":" + spec),
        op_(std::move(op)) {}

  // `why` begins with a blank: " computes attention_forward only".
  RunOutcome Refuse(const std::string& why) const {
    return {RunOutcome::State::kUnsupported, name_ + why, ""};
  }
  RunOutcome Ran(std::string plan, Execution* execution) const {
    execution->backend = traits().backend;
    execution->threads = 1;
    execution->plan = std::move(plan);
    return {};
  }

 private:
  std::string name_;
  std::string op_;
};

// "tile 64x128 variant flash" of a kernel of attention.
template <typename Variant>
std::string TileOf(const Variant& variant) {
  return "tile " + std::to_string(variant.tile_q) + "x" +
         std::to_string(variant.tile_kv) + " variant " + variant.name();
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_EMULATED_H_
