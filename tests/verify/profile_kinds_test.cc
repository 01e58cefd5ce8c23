// Kinds of kernels that differ in one convention or rounding: each is accused
// or suspected under its honest profile without the field that says so.
#include <gtest/gtest.h>

#include "verify/candidate/mutant_attention_forward.h"
#include "verify/case/case.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/registry/ops.h"
#include "verify/selftest/trialist.h"

namespace lockstep::verify {
namespace {

struct Kind {
  const char* variant;
  const char* line;
  const char* field;  // for the message
  void (*strip)(NumericProfile*);
};

const char* const kCapped =
    "attention_forward hq=2 hkv=1 sq=33 skv=65 d=16 lane=bf16 cap=50";
const char* const kBf16 =
    "attention_forward hq=2 hkv=1 sq=33 skv=101 d=16 lane=bf16";
const char* const kF32 =
    "attention_forward hq=2 hkv=1 sq=9 skv=257 d=16 mask=causal align=br";
const char* const kEmpty =
    "attention_forward sq=9 skv=5 d=8 mask=causal align=br";

void Running(NumericProfile* p) { p->max = {}; }
void Deferred(NumericProfile* p) { p->normalise = Normalise::kDeferred; }
void ExactZero(NumericProfile* p) { p->exp_zero = ExpZero::kExact; }
void NearestWeights(NumericProfile* p) { p->p_round = Rounding::kNearest; }

const Kind kKinds[] = {
    {"flash-no-max", kCapped, "max", Running},
    {"flash-fixed-max", kBf16, "max", Running},
    {"flash-no-max-cut", kCapped, "p_round", NearestWeights},
    {"unfused-bf16", kBf16, "normalise", Deferred},
    {"unfused-bf16-cut", kBf16, "normalise", Deferred},
    {"cpu-unfused", kF32, "normalise", Deferred},
    {"cpu-exp-zero", kF32, "exp_zero", ExactZero},
    {"cpu-exp-drift", kF32, "exp_zero", ExactZero},
    {"cpu-ftz", "attention_forward sq=5 skv=9 d=8 fill=normal:1e-39", "ftz",
     [](NumericProfile* p) { p->ftz = false; }},
    {"cpu-tf32", kF32, "operand_qk",
     [](NumericProfile* p) { p->operand_qk = NumberType::kF32; }},
    {"cpu-tf32", "attention_forward sq=9 skv=1 d=16", "operand_v",
     [](NumericProfile* p) {
       p->operand_v = NumberType::kF32;
       p->p = NumberType::kF32;
     }},
    {"cpu-tf32-cut", "attention_forward sq=9 skv=1 d=16", "operand_round",
     [](NumericProfile* p) {
       p->operand_round = p->p_round = Rounding::kNearest;
       p->p = NumberType::kF32;
     }},
    {"cpu-f16-operands", "attention_forward sq=9 skv=5 d=16 fill=normal:1e-6",
     "operand_v = tf32 for f16",
     [](NumericProfile* p) { p->operand_v = NumberType::kTf32; }},
    {"cpu-lse-base2", kF32, "lse_base",
     [](NumericProfile* p) { p->lse_base = ExpBase::kE; }},
    {"cpu-lse-base2", kEmpty, "empty_row",
     [](NumericProfile* p) { p->empty_row = EmptyRow::kZero; }},
    {"cpu-no-lse", kF32, "lse",
     [](NumericProfile* p) { p->lse = LseLane::kF32; }},
    {"flash-lse-bf16", kBf16, "lse",
     [](NumericProfile* p) { p->lse = LseLane::kF32; }},
};

// Findings of the case and of all its probes; suspicion counts half.
struct Findings {
  int accused = 0;
  int suspected = 0;
};

Findings JudgeAll(const Kind& kind, const NumericProfile& profile) {
  Findings findings;
  Trialist trialist(
      {MakeEmulatedAttention("variant", kind.variant,
                             FindVariant(kind.variant).value(), FaultDial{}),
       profile});
  Result<Case> c = ParseCase(kind.line);
  EXPECT_TRUE(c.ok()) << c.message();
  for (c->seed = 1; c->seed <= 4; ++c->seed) {
    const Found found = trialist.Envelope(trialist.Run(c.value()).value());
    findings.accused += found.outside ? 1 : 0;
    findings.suspected += found.unlikely ? 1 : 0;
    findings.accused +=
        trialist.Probes(c.value(), std::nullopt)->outside ? 1 : 0;
  }
  return findings;
}

TEST(ProfileKinds, EveryFieldMatters) {
  for (const Kind& kind : kKinds) {
    NumericProfile stripped = FindVariant(kind.variant)->numeric;
    kind.strip(&stripped);
    const Findings findings = JudgeAll(kind, stripped);
    EXPECT_GT(findings.accused + findings.suspected, 0)
        << kind.variant << " without " << kind.field << ": " << kind.line;
  }
}

}  // namespace
}  // namespace lockstep::verify
