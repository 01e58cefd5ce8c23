#include "verify/candidate/mutant_attention_forward.h"

#include <optional>
#include <utility>
#include <vector>

#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

class Emulated final : public Candidate {
 public:
  Emulated(std::string kind, std::string spec, AttentionVariant variant,
           FaultDial dial)
      : kind_(std::move(kind)),
        spec_(std::move(spec)),
        dial_(dial),
        emulator_(std::move(variant), dial) {}

  std::string Spec(const Variation&) const override {
    return kind_ + ":" + spec_;
  }
  std::string Backend() const override { return kind_; }
  const Variation& Fixed() const override { return fixed_; }
  bool Ours() const override { return true; }
  std::string UsualOp() const override { return "attention_forward"; }
  // A mutant claims what the variant it broke could.
  std::optional<NumericProfile> Claims() const override {
    const NumericProfile& honest = emulator_.variant().numeric;
    return honest.exact ? std::nullopt : std::optional(honest);
  }
  bool Repeatable() const override { return true; }
  void Reset() override {
    emulator_ = AttentionEmulator(emulator_.variant(), dial_);
  }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto* attention = dynamic_cast<const AttentionForwardTrial*>(&trial);
    if (!attention) {
      return {RunOutcome::State::kUnsupported,
              kind_ + ":" + spec_ + " computes attention_forward only", ""};
    }
    emulator_.Run(attention->data().problem, attention->data().inputs,
                  AttentionViews(outputs));
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
  FaultDial dial_;
  AttentionEmulator emulator_;
};

}  // namespace

std::unique_ptr<Candidate> MakeEmulatedAttention(std::string kind,
                                                 std::string spec,
                                                 AttentionVariant variant,
                                                 FaultDial dial) {
  return std::make_unique<Emulated>(std::move(kind), std::move(spec),
                                    std::move(variant), dial);
}

}  // namespace lockstep::verify
