#include "verify/candidate/mutant_attention_backward.h"

#include <optional>
#include <utility>
#include <vector>

#include "verify/ops/attention_backward/trial.h"

namespace lockstep::verify {
namespace {

class EmulatedGradients final : public Candidate {
 public:
  EmulatedGradients(std::string kind, std::string spec, GradVariant variant,
                    GradFault fault)
      : kind_(std::move(kind)),
        spec_(std::move(spec)),
        emulator_(std::move(variant), fault) {}

  std::string Spec(const Variation&) const override {
    return kind_ + ":" + spec_;
  }
  std::string Backend() const override { return kind_; }
  const Variation& Fixed() const override { return fixed_; }
  bool Ours() const override { return true; }
  std::string UsualOp() const override { return "attention_backward"; }
  // A mutant claims what the variant it broke could.
  std::optional<NumericProfile> Claims() const override {
    const NumericProfile& honest = emulator_.variant().numeric;
    return honest.exact ? std::nullopt : std::optional(honest);
  }
  bool Repeatable() const override { return true; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto* gradients = dynamic_cast<const AttentionBackwardTrial*>(&trial);
    if (gradients == nullptr) {
      return {RunOutcome::State::kUnsupported,
              kind_ + ":" + spec_ + " computes attention_backward only", ""};
    }
    emulator_.Run(gradients->data().problem, gradients->data().inputs,
                  BackwardViews(outputs));
    execution->backend = kind_;
    execution->threads = 1;
    execution->plan = "tile " + std::to_string(emulator_.variant().tile_q) +
                      "x" + std::to_string(emulator_.variant().tile_kv) +
                      " variant " + emulator_.variant().name();
    return {};
  }

 private:
  std::string kind_;
  std::string spec_;
  Variation fixed_;
  GradEmulator emulator_;
};

}  // namespace

std::unique_ptr<Candidate> MakeEmulatedGradients(std::string kind,
                                                 std::string spec,
                                                 GradVariant variant,
                                                 GradFault fault) {
  return std::make_unique<EmulatedGradients>(std::move(kind), std::move(spec),
                                             std::move(variant), fault);
}

}  // namespace lockstep::verify
