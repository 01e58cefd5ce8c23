#include "verify/candidate/mutant_attention_forward.h"

#include <string>
#include <utility>

#include "verify/candidate/emulated.h"
#include "verify/inputs/attention_forward/lists.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/backends.h"

namespace lockstep::verify {
namespace {

class Emulated final : public EmulatedCandidate {
 public:
  Emulated(const std::string& kind, const std::string& spec,
           AttentionVariant variant, FaultDial dial)
      : EmulatedCandidate(kind, spec, "attention_forward", variant.numeric),
        dial_(dial),
        emulator_(std::move(variant), dial) {}

  std::unique_ptr<Candidate> Copy() const override {
    return std::make_unique<Emulated>(*this);
  }
  void Reset() override {
    emulator_ = AttentionEmulator(emulator_.variant(), dial_);
  }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    return RunRows(trial, {}, outputs, execution);
  }

  RunOutcome RunRows(const Trial& trial, std::span<const int64_t> wanted,
                     const OutputSet& outputs, Execution* execution) override {
    const auto* attention = dynamic_cast<const AttentionForwardTrial*>(&trial);
    if (!attention) return Refuse(" computes attention_forward only");
    const AttentionForwardData& data = attention->data();
    const std::vector<int64_t> rows =
        attention->LinesOf({wanted.begin(), wanted.end()});
    // A right kernel takes what lies elsewhere as others do. So its judge is
    // asked with the tables and pools that kernels of others are given.
    if (data.varlen && (dial_.IsHonest() || emulator_.breaks_varlen())) {
      const Result<TokenTensors>& tokens = attention->tokens();
      if (!tokens.ok()) return Failed(tokens.message());
      emulator_.RunVarlen(data.problem, tokens->InputsOf(data), tokens->rows(),
                          AttentionViews(outputs), rows);
      return Ran(TileOf(emulator_.variant()), execution);
    }
    const bool honest = dial_.IsHonest();
    if (data.lists && (emulator_.breaks_lists() || (honest && !data.pages))) {
      const ListTensor lists = EndedLists(data);
      emulator_.RunListed(data.problem, data.inputs,
                          {lists.view(), data.lists->dense},
                          AttentionViews(outputs), rows);
      return Ran(TileOf(emulator_.variant()), execution);
    }
    if (!data.pages || !(honest || emulator_.breaks_pages())) {
      emulator_.Run(data.problem, data.inputs, AttentionViews(outputs), rows);
      return Ran(TileOf(emulator_.variant()), execution);
    }
    const Result<KeyPool>& pool = attention->pool();
    if (!pool.ok()) return Failed(pool.message());
    emulator_.RunPaged(data.problem, data.inputs, pool->view(),
                       AttentionViews(outputs), rows);
    return Ran(TileOf(emulator_.variant()), execution);
  }

 private:
  FaultDial dial_;
  AttentionEmulator emulator_;
};

}  // namespace

std::unique_ptr<Candidate> MakeEmulatedAttention(std::string kind,
                                                 std::string spec,
                                                 AttentionVariant variant,
                                                 FaultDial dial) {
  return std::make_unique<Emulated>(std::move(kind), spec, std::move(variant),
                                    dial);
}

}  // namespace lockstep::verify
