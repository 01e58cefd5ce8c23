#include "verify/candidate/attention_merge/mutant.h"

#include <string>
#include <utility>

#include "verify/candidate/emulated.h"
#include "verify/ops/attention_merge/trial.h"

namespace lockstep::verify {
namespace {

class EmulatedMerge final : public EmulatedCandidate {
 public:
  EmulatedMerge(const std::string& kind, const std::string& spec,
                MergeVariant variant, MergeFault fault)
      : EmulatedCandidate(kind, spec, "attention_merge", variant.numeric),
        emulator_(variant, fault),
        reversed_(Reversed(std::move(variant)), fault) {}

  std::unique_ptr<Candidate> Copy() const override {
    return std::make_unique<EmulatedMerge>(*this);
  }
  void Reset() override { calls_ = 0; }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto* merge = dynamic_cast<const AttentionMergeTrial*>(&trial);
    if (merge == nullptr) return Refuse(" computes attention_merge only");
    const bool other = !emulator_.variant().numeric.repeat && calls_++ % 2 == 1;
    (other ? reversed_ : emulator_)
        .Run(merge->data().problem, merge->data().inputs,
             AttentionMergeTrial::Views(outputs));
    return Ran("variant " + emulator_.variant().name(), execution);
  }

 private:
  static MergeVariant Reversed(MergeVariant variant) {
    variant.descending = !variant.descending;
    return variant;
  }

  MergeEmulator emulator_;
  MergeEmulator reversed_;  // of odd calls, where runs may differ
  int64_t calls_ = 0;
};

}  // namespace

std::unique_ptr<Candidate> MakeEmulatedMerge(std::string kind, std::string spec,
                                             MergeVariant variant,
                                             MergeFault fault) {
  return std::make_unique<EmulatedMerge>(std::move(kind), spec,
                                         std::move(variant), fault);
}

}  // namespace lockstep::verify
