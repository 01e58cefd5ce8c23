// The selftest's row of attention's gradients.
#include <cstdint>
#include <string>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/candidate/mutant_attention_backward.h"
#include "verify/case/attention_backward.h"
#include "verify/domain/domain.h"
#include "verify/registry/ops.h"
#include "verify/selftest/row.h"

namespace lockstep::verify {
namespace {

constexpr const char* kAttentionBackward = "attention_backward";

Subject AttentionSubject(const char* kind, const std::string& spec,
                         const GradVariant& variant, GradFault fault) {
  return {MakeEmulatedGradients(kind, spec, variant, fault), variant.numeric};
}

// NaN behind a mask is not for kernels that multiply by it.
Result<Case> DrawAttentionBackward(const NumericProfile& profile, uint64_t seed,
                                   int64_t) {
  return PlainCase(*FindDomain(kAttentionBackward).value(), seed, profile.lane);
}

}  // namespace

const SelftestRow kAttentionBackwardSelftest = {
    .op = kAttentionBackward,
    .mutants = [] { return MutantsOf(&MutantInfo::gradients); },
    .mutant = [](const MutantInfo& info, BugBase) -> Result<Subject> {
      ASSIGN_OR_RETURN(const Mutant mutant, ParseMutant(info.name));
      return AttentionSubject("mutant", info.name, mutant.grad,
                              info.PointOf<GradFault>());
    },
    .zoo = [] { return NamesOfZoo(GradZoo()); },
    .correct = [](const std::string& name) -> Result<Subject> {
      ASSIGN_OR_RETURN(const GradVariant variant, FindGradVariant(name));
      return AttentionSubject("variant", name, variant, GradFault::kNone);
    },
    .draw = &DrawAttentionBackward,
    .fewer = 4,
};

}  // namespace lockstep::verify
