// The emulator without a fault is the contract; every variant of the zoo is
// attention; every mutant does what its row says it does.
#include "verify/emulator/attention_forward/kernel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reference/attention_forward.h"
#include "tests/support/attention_outputs.h"
#include "verify/case/attention_forward/case.h"
#include "verify/domain/domain.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/mutants.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/lists.h"
#include "verify/inputs/attention_forward/pages.h"
#include "verify/inputs/attention_forward/varlen.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// Outputs of one call: bits of o, then of lse.
std::vector<uint32_t> Bits(const AttentionForwardOutputBuffers& outputs,
                           const AttentionForwardProblem& p) {
  std::vector<uint32_t> bits;
  const AttentionForwardOutputs view = outputs.view();
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        for (int64_t c = 0; c < p.value_dim; ++c) {
          bits.push_back(
              p.lane == Lane::kF32
                  ? std::bit_cast<uint32_t>(view.o.As<float>()(b, h, i, c))
                  : view.o.As<Bf16>()(b, h, i, c).bits);
        }
        bits.push_back(std::bit_cast<uint32_t>(view.lse(b, h, i)));
      }
    }
  }
  return bits;
}

AttentionForwardData DataOf(const Case& c) {
  Result<AttentionForwardData> data = Materialise(c, {});
  EXPECT_TRUE(data.ok()) << data.message();
  return std::move(data.value());
}

std::vector<uint32_t> Emulated(const Case& c, const AttentionForwardData& data,
                               AttentionEmulator* emulator) {
  auto outputs = AllocateOutputs(c.Get<AttentionForwardCase>(), 0);
  EXPECT_TRUE(outputs.ok());
  if (data.pages) {
    const Result<KeyPool> pool = MakeKeyPool(data);
    EXPECT_TRUE(pool.ok());
    emulator->RunPaged(data.problem, data.inputs, pool->view(),
                       outputs->view());
  } else if (data.varlen) {
    const Result<TokenTensors> tokens = MakeTokens(data);
    EXPECT_TRUE(tokens.ok());
    emulator->RunVarlen(data.problem, tokens->InputsOf(data), tokens->rows(),
                        outputs->view());
  } else if (data.lists) {
    const ListTensor lists = EndedLists(data);
    emulator->RunListed(data.problem, data.inputs,
                        {lists.view(), data.lists->dense}, outputs->view());
  } else {
    emulator->Run(data.problem, data.inputs, outputs->view());
  }
  return Bits(outputs.value(), data.problem);
}

std::vector<uint32_t> Truth(const Case& c, const AttentionForwardData& data) {
  auto outputs = AllocateOutputs(c.Get<AttentionForwardCase>(), 0);
  EXPECT_TRUE(outputs.ok());
  EXPECT_TRUE(
      reference::AttentionForward(data.problem, data.inputs, outputs->view())
          .ok());
  return Bits(outputs.value(), data.problem);
}

Case AnySmallCase(uint64_t seed) {
  return PlainCase(*FindDomain("attention_forward").value(), seed,
                   std::nullopt);
}

// The first bit that differs, as text; empty if none.
std::string FirstDifference(const std::vector<uint32_t>& a,
                            const std::vector<uint32_t>& b) {
  if (a.size() != b.size()) return "sizes differ";
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) {
      return "element " + std::to_string(i) + ": " +
             std::to_string(std::bit_cast<float>(a[i])) + " for " +
             std::to_string(std::bit_cast<float>(b[i]));
    }
  }
  return "";
}

TEST(Emulator, WithoutFaultIsTheContract) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Case c = AnySmallCase(seed);
    const AttentionForwardData data = DataOf(c);
    const std::vector<uint32_t> truth = Truth(c, data);
    for (const char* name : {"exact", "exact-tile16", "exact-wide"}) {
      AttentionEmulator emulator(FindVariant(name).value());
      ASSERT_EQ(FirstDifference(Emulated(c, data, &emulator), truth), "")
          << name << ": " << MinimalLine(c);
    }
  }
}

// What a mutant, or its base without the fault, gives on a call sequence.
std::vector<uint32_t> RunSequence(const Mutant& mutant, FaultDial dial,
                                  const std::vector<Case>& sequence) {
  AttentionEmulator emulator(mutant.variant, dial);
  std::vector<uint32_t> last;
  for (const Case& c : sequence) {
    const AttentionForwardData data = DataOf(c);
    last = Emulated(c, data, &emulator);
  }
  return last;
}

TEST(Mutants, NamesFaultsAndDialsAreUniqueAndWhole) {
  std::set<std::string> names;
  std::set<Fault> faults;
  for (const MutantInfo& info : Mutants()) {
    if (!info.attention()) continue;  // tests/verify/scan_judge_test.cc
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(faults.insert(info.PointOf<Fault>()).second) << info.name;
    EXPECT_NE(info.PointOf<Fault>(), Fault::kNone);
    EXPECT_EQ(info.dial != nullptr, info.severity > 0) << info.name;
    const std::string turned = std::string(info.name) + "@2";
    EXPECT_EQ(ParseMutant(turned).ok(), info.dial != nullptr) << turned;
  }
  for (const EquivalentMutant& mutant : EquivalentMutants()) {
    EXPECT_FALSE(names.contains(mutant.name)) << mutant.name;
  }
}

// Two bugs at once: neither alone, whichever stands first, and of two places
// in one chain of addresses both are wrong.
TEST(Mutants, PairsAreBothBugs) {
  const Case c = ParseCase(
                     "attention_forward b=2 hq=4 hkv=2 sq=20 skv=20 d=16 cap=3 "
                     "mask=causal")
                     .value();
  const auto answer = [&](const std::string& spec) {
    Mutant mutant = ParseMutant(spec).value();
    return RunSequence(mutant, mutant.dial, {c});
  };
  for (const auto& [one, other] :
       std::vector<std::pair<std::string, std::string>>{
           {"attn.causal_strict", "attn.cap_twice"},
           {"attn.drop_last_key@2", "attn.drop_first_key@3"},
           {"attn.v_rows_permuted", "attn.v_fragment_columns"},
           {"attn.k_vector_halves", "attn.key_head_zero"},
           {"attn.lse_head_zero", "attn.o_fragment_rows"},
           {"attn.lse_drops_key", "attn.lse_from_bf16_l"},
           {"attn.double_edge_key", "attn.k_row_off_by_one"}}) {
    const auto both = answer(one + "+" + other);
    EXPECT_NE(both, answer(one)) << one << " hides " << other;
    EXPECT_NE(both, answer(other)) << other << " hides " << one;
  }
  EXPECT_EQ(answer("attn.causal_strict+attn.cap_twice"),
            answer("attn.cap_twice+attn.causal_strict"));
  // A dial is its own bug's.
  EXPECT_EQ(answer("attn.drop_last_key@2+attn.drop_first_key@3"),
            answer("attn.drop_first_key@3+attn.drop_last_key@2"));
}

TEST(Mutants, PairsThatNoKernelHas) {
  EXPECT_NE(ParseMutant("attn.zeros+attn.drop_last")
                .message()
                .find("attn.drop_last_key"),
            std::string::npos);
  for (const char* spec :
       {"attn.zeros+scan.zeros", "attn.cap_twice+attn.cap_twice",
        "grad.zeros+grad.dq_in_bf16", "attn.zeros+",
        "attn.zeros+attn.zeros@3"}) {
    EXPECT_FALSE(ParseMutant(spec).ok()) << spec;
  }
  EXPECT_EQ(ParseMutant("scan.zeros+ssd.dt_twice").value().variant.name(), "");
  const Mutant steps =
      ParseMutant("scan.diag_missing+scan.step_aliased").value();
  EXPECT_EQ(steps.scan.name(), "scan-recurrent");
  EXPECT_TRUE(steps.scan_dial.Is(ScanFault::kStepAliased));
  EXPECT_TRUE(steps.scan_dial.Is(ScanFault::kDiagonalMissing));
}

TEST(Mutants, ErrorsNameWhatWouldBeRight) {
  EXPECT_NE(ParseMutant("attn.drop_last").message().find("attn.drop_last_key"),
            std::string::npos);
  EXPECT_FALSE(ParseMutant("attn.zeros@3").ok());
  EXPECT_FALSE(ParseMutant("attn.drop_last_key@0").ok());
  EXPECT_FALSE(ParseMutant("attn.drop_last_key@x").ok());
  EXPECT_FALSE(ParseMutant("attn.tanh_coarse@24").ok());
  EXPECT_FALSE(ParseMutant("attn.zeros,base=nothing").ok());
  EXPECT_FALSE(ParseMutant("attn.zeros,tile=4").ok());
  EXPECT_TRUE(ParseMutant("attn.drop_last_key@3,base=flash").ok());
}

}  // namespace
}  // namespace lockstep::verify
