#include "verify/candidate/mutant_attention_backward.h"

#include <string>
#include <utility>

#include "verify/candidate/emulated.h"
#include "verify/inputs/attention_forward/lists.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/backends.h"

namespace lockstep::verify {
namespace {

class EmulatedGradients final : public EmulatedCandidate {
 public:
  EmulatedGradients(const std::string& kind, const std::string& spec,
                    GradVariant variant, GradFault fault)
      : EmulatedCandidate(kind, spec, "attention_backward", variant.numeric),
        emulator_(variant, fault),
        reversed_(Reversed(std::move(variant)), fault),
        right_(fault == GradFault::kNone) {}

  std::unique_ptr<Candidate> Copy() const override {
    return std::make_unique<EmulatedGradients>(*this);
  }
  void Reset() override { calls_ = 0; }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto* gradients = dynamic_cast<const AttentionBackwardTrial*>(&trial);
    if (gradients == nullptr) {
      return Refuse(" computes attention_backward only");
    }
    const bool other = !emulator_.variant().numeric.repeat && calls_++ % 2 == 1;
    const GradEmulator& kernel = other ? reversed_ : emulator_;
    const AttentionBackwardData& data = gradients->data();
    // A right kernel takes ragged rows as others do.
    if (data.forward.varlen && (right_ || kernel.breaks_varlen())) {
      const Result<GradientTokens>& tokens = gradients->tokens();
      if (!tokens.ok()) return Failed(tokens.message());
      kernel.RunVarlen(data.problem, data.inputs,
                       tokens->InputsOf(data).forward, tokens->rows(),
                       gradients->Gradients(outputs), gradients->Own(outputs));
    } else if (data.forward.lists && (right_ || kernel.breaks_lists())) {
      const ListTensor lists = EndedLists(data.forward);
      kernel.RunListed(data.problem, data.inputs,
                       {lists.view(), data.forward.lists->dense},
                       gradients->Gradients(outputs), gradients->Own(outputs));
    } else {
      kernel.Run(data.problem, data.inputs, gradients->Gradients(outputs),
                 gradients->Own(outputs));
    }
    return Ran(TileOf(emulator_.variant()), execution);
  }

 private:
  static GradVariant Reversed(GradVariant variant) {
    variant.descending = !variant.descending;
    return variant;
  }

  GradEmulator emulator_;
  GradEmulator reversed_;  // of odd calls, where runs may differ
  bool right_;
  int64_t calls_ = 0;
};

}  // namespace

std::unique_ptr<Candidate> MakeEmulatedGradients(std::string kind,
                                                 std::string spec,
                                                 GradVariant variant,
                                                 GradFault fault) {
  return std::make_unique<EmulatedGradients>(std::move(kind), spec,
                                             std::move(variant), fault);
}

}  // namespace lockstep::verify
