// The selftest's row of attention.

#include "verify/base/status_macros.h"
#include "verify/candidate/mutant_attention_forward.h"
#include "verify/domain/domain.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/registry/ops.h"
#include "verify/selftest/row.h"

namespace lockstep::verify {
namespace {

// In the catalogue's base, in "cpu", or in "flash" with the tiles that are in
// use.
Result<AttentionVariant> BaseFor(const Mutant& mutant, BugBase base) {
  const bool exact = mutant.variant.numeric.exact;
  Result<AttentionVariant> variant = mutant.variant;
  if (base == BugBase::kOwn) return variant;
  if (exact) {
    variant = FindVariant(base == BugBase::kBounded ? "cpu" : "flash");
  }
  if (base == BugBase::kOrdinary && variant.ok()) {
    variant->tile_q = 64;
    variant->tile_kv = 64;
  }
  return variant;
}

Subject SubjectOf(const char* kind, const std::string& spec,
                  const AttentionVariant& variant, FaultDial dial) {
  return {MakeEmulatedAttention(kind, spec, variant, dial), variant.numeric};
}

Result<Case> DrawAttentionForward(const NumericProfile& profile, uint64_t seed,
                                  int64_t) {
  return PlainCase(*FindDomain("attention_forward").value(), seed,
                   profile.lane);
}

}  // namespace

const SelftestRow kAttentionForwardSelftest = {
    .op = "attention_forward",
    .mutants = [] { return MutantsOf(&MutantInfo::attention); },
    .mutant = [](const MutantInfo& info, BugBase base) -> Result<Subject> {
      ASSIGN_OR_RETURN(const Mutant mutant, ParseMutant(info.name));
      ASSIGN_OR_RETURN(const AttentionVariant variant, BaseFor(mutant, base));
      return SubjectOf("mutant", info.name, variant, mutant.dial);
    },
    .zoo = [] { return NamesOfZoo(AttentionZoo()); },
    .correct = [](const std::string& name) -> Result<Subject> {
      ASSIGN_OR_RETURN(const AttentionVariant variant, FindVariant(name));
      return SubjectOf("variant", name, variant, {});
    },
    .draw = &DrawAttentionForward,
    .ordinary = "flash",
};

}  // namespace lockstep::verify
