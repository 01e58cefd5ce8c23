// The selftest's row of merges.
#include <cstdint>
#include <string>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/candidate/attention_merge/mutant.h"
#include "verify/case/attention_merge/case.h"
#include "verify/domain/domain.h"
#include "verify/registry/ops.h"
#include "verify/selftest/row.h"

namespace lockstep::verify {
namespace {

constexpr const char* kAttentionMerge = "attention_merge";
// More parts of a long case: 4096 keys by 256. An odd number stays one.
constexpr int64_t kMoreParts = 16;

Subject MergeSubject(const char* kind, const std::string& spec,
                     const MergeVariant& variant, MergeFault fault) {
  return {MakeEmulatedMerge(kind, spec, variant, fault), variant.numeric};
}

Result<Case> DrawMerge(const NumericProfile& profile, uint64_t seed,
                       int64_t number) {
  Result<Case> c =
      PlainCase(*FindDomain(kAttentionMerge).value(), seed, profile.lane);
  if (!c.ok() || !IsLong(number)) return c;
  auto& merge = c->Get<AttentionMergeCase>();
  if (merge.letters.empty()) merge.parts += kMoreParts;
  return c;
}

}  // namespace

const SelftestRow kAttentionMergeSelftest = {
    .op = kAttentionMerge,
    .mutants = [] { return MutantsOf(&MutantInfo::merge); },
    .mutant = [](const MutantInfo& info, BugBase) -> Result<Subject> {
      ASSIGN_OR_RETURN(const Mutant mutant, ParseMutant(info.name));
      return MergeSubject("mutant", info.name, mutant.merge,
                          info.PointOf<MergeFault>());
    },
    .zoo = [] { return NamesOfZoo(MergeZoo()); },
    .correct = [](const std::string& name) -> Result<Subject> {
      ASSIGN_OR_RETURN(const MergeVariant variant, FindMergeVariant(name));
      return MergeSubject("variant", name, variant, MergeFault::kNone);
    },
    .draw = &DrawMerge,
    .fewer = 2,
};

}  // namespace lockstep::verify
