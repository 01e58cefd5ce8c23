// The zoo of correct merges.
#include <deque>
#include <string>
#include <vector>

#include "verify/emulator/attention_merge/kernel.h"
#include "verify/emulator/zoo.h"

namespace lockstep::verify {
namespace {

// Every kernel starts from cpu-f32, between tensors of any lane, and from a
// profile that says how it merges.
class MergeBuilder {
 public:
  MergeVariant& Add(const char* name, MergeForm form,
                    const std::string& description) {
    MergeVariant variant;
    variant.form = form;
    for (const NumericProfile& profile : BuiltinProfiles()) {
      if (profile.name == "cpu-f32") variant.numeric = profile;
    }
    NumericProfile& p = variant.numeric;
    p.name = name;
    p.description = "merges: " + description;
    p.lane.reset();
    p.division = Division::kDivide;
    p.max.kind = MaxPolicy::Kind::kTwoPass;
    if (form == MergeForm::kOnline) p.max.kind = MaxPolicy::Kind::kRunning;
    if (form == MergeForm::kOfMerged || form == MergeForm::kDivided) {
      p.normalise = Normalise::kBefore;
      p.splits = 1;
    }
    if (form == MergeForm::kDifferences) {
      p.merge_update = MergeUpdate::kDifference;
    }
    if (form == MergeForm::kPairs || form == MergeForm::kTree ||
        form == MergeForm::kDifferences) {
      p.normalise = Normalise::kEager;
      p.max.kind = MaxPolicy::Kind::kRunning;
    }
    variants_.push_back(std::move(variant));
    return variants_.back();
  }
  std::vector<MergeVariant> Take() const {
    return {variants_.begin(), variants_.end()};
  }

 private:
  std::deque<MergeVariant> variants_;  // references stay good
};

void AddForms(MergeBuilder* zoo) {
  using enum MergeForm;
  zoo->Add("merge", kTwoPass, "f32, the largest lse first");
  zoo->Add("merge-online", kOnline, "f32, a maximum that rises");
  zoo->Add("merge-of-merged", kOfMerged,
           "f32, the merged lse first, weights exp(lse - merged lse)");
  zoo->Add("merge-divided", kDivided, "f32, weights divided by their sum");
  zoo->Add("merge-pairs", kPairs, "f32, part after part, o kept normalised");
  zoo->Add("merge-differences", kDifferences,
           "f32, part after part, o - sigmoid(lse_s - lse) (o - o_s)");
  zoo->Add("merge-tree", kTree, "f32, neighbours first, o kept normalised");
}

void AddArithmetic(MergeBuilder* zoo) {
  using enum MergeForm;
  zoo->Add("merge-binary", kTwoPass, "f32, exp2 whatever the lse's base")
      .numeric.exp_base = ExpBase::kTwo;
  MergeVariant& fma =
      zoo->Add("merge-binary-fma", kOnline, "f32, exp2 of a fused difference");
  fma.numeric.exp_base = ExpBase::kTwo;
  fma.numeric.shift = Shift::kFma;
  MergeVariant& coarse =
      zoo->Add("merge-coarse", kTwoPass, "f32, an exp of 18 bits");
  coarse.exp_bits = 18;
  coarse.numeric.exp_rel = 0x1p-18;
  coarse.numeric.division = Division::kReciprocal;
  zoo->Add("merge-descending", kTwoPass,
           "f32, parts from the last to the first")
      .descending = true;
  MergeVariant& apart =
      zoo->Add("merge-muladd", kOnline, "f32, products and sums apart");
  apart.fused = false;
  apart.numeric.division = Division::kReciprocal;
  zoo->Add("merge-trunc", kTwoPass, "f32, sums cut towards zero")
      .numeric.acc_pv.kind = Accumulator::Kind::kTrunc32;
  zoo->Add("merge-flush", kOnline, "f32, subnormal numbers flushed")
      .numeric.ftz = true;
  MergeVariant& half = zoo->Add("merge-pairs-bf16", kPairs,
                                "o rounded to bf16 from merge to merge");
  half.numeric.state = NumberType::kBf16;
  half.descending = true;
  zoo->Add("merge-weights-bf16", kDivided, "weights of bf16 beside f32 sums")
      .numeric.p = NumberType::kBf16;
}

void AddConventions(MergeBuilder* zoo) {
  using enum MergeForm;
  zoo->Add("merge-posinf", kTwoPass, "+inf marks a part that saw no key")
      .numeric.empty_row = EmptyRow::kZeroPosInf;
  zoo->Add("merge-zero", kOfMerged, "o = 0 and lse = 0 in empty rows")
      .numeric.empty_row = EmptyRow::kZeroZero;
  MergeVariant& reads =
      zoo->Add("merge-reads-empty", kTwoPass,
               "o of parts that saw no key is multiplied by 0");
  reads.reads_empty = true;
  reads.numeric.masked_nan_safe = MaskedNan::kNo;
  MergeVariant& only =
      zoo->Add("merge-base-2", kPairs, "lse in base 2 alone, exp2");
  only.numeric.exp_base = ExpBase::kTwo;
  only.numeric.lse_base = ExpBase::kTwo;
  zoo->Add("merge-lse-bf16", kTwoPass, "f32, the merged lse in bf16")
      .numeric.lse = LseLane::kBf16;
}

}  // namespace

std::span<const MergeVariant> MergeZoo() {
  static const std::vector<MergeVariant> kZoo = [] {
    MergeBuilder zoo;
    AddForms(&zoo);
    AddArithmetic(&zoo);
    AddConventions(&zoo);
    return zoo.Take();
  }();
  return kZoo;
}

Result<MergeVariant> FindMergeVariant(std::string_view name) {
  return FindInZoo(name, MergeZoo(), " of merges");
}

}  // namespace lockstep::verify
