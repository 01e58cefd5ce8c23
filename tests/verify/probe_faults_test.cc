// Every kind of single fault, planted into the right answer: at least one probe
// of the case shows it, at the lengths people run, with and without sinks.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/verify/trials.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"
#include "verify/inputs/attention_forward_probe.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

constexpr uint64_t kSalt = 77;

bool Shows(const Trial& trial, const PlantedFault& fault,
           const NumericProfile& profile) {
  for (const int64_t row : fault.rows) {
    const auto allowed = trial.envelopes().Probe(profile, {row});
    RowBits bits;
    trial.ReferenceRow(row, &bits);
    EXPECT_TRUE(allowed->Allows(0, bits)) << "right answer, row " << row;
    fault.row(row, &bits);
    if (!allowed->Allows(0, bits)) return true;
  }
  return false;
}

// Faults of the case that none of its probes shows, and all kinds.
std::vector<std::string> Unshown(const std::string& line,
                                 const char* profile_name,
                                 std::set<std::string>* kinds) {
  const Case c = ParseCase(line).value();
  const NumericProfile profile = LoadProfile(profile_name).value();
  std::set<std::string> unshown;
  for (const PlantedFault& fault : Open(c)->faults().PlantFaults(kSalt)) {
    kinds->insert(fault.kind);
    unshown.insert(fault.kind + ": " + fault.what);
    EXPECT_FALSE(fault.rows.empty()) << fault.what;
  }
  for (const Case& probe : AttentionForwardTrial::ProbeCases(c, profile)) {
    if (unshown.empty()) break;
    const auto trial = Open(probe);
    for (const PlantedFault& fault : trial->faults().PlantFaults(kSalt)) {
      const std::string name = fault.kind + ": " + fault.what;
      if (unshown.contains(name) && Shows(*trial, fault, profile)) {
        unshown.erase(name);
      }
    }
  }
  return {unshown.begin(), unshown.end()};
}

const std::set<std::string> kKinds = {"batch",   "channel", "k_row", "key",
                                      "kv_head", "lse",     "mask",  "q_head",
                                      "q_row",   "v_row"};

class FaultsAt : public ::testing::TestWithParam<int> {};

TEST_P(FaultsAt, AreShownByAProbe) {
  const std::string line = "attention_forward b=2 hq=4 hkv=2 sq=16 skv=" +
                           std::to_string(GetParam()) +
                           " d=64 dv=16 lane=bf16 mask=causal align=br seed=5";
  std::set<std::string> kinds;
  for (const std::string& missed : Unshown(line, "flash-bf16", &kinds)) {
    ADD_FAILURE() << missed;
  }
  EXPECT_EQ(kinds, kKinds);
}

TEST_P(FaultsAt, AreShownBesideSinks) {
  const std::string line =
      "attention_forward b=2 hq=4 hkv=2 sq=16 skv=" +
      std::to_string(GetParam()) +
      " d=64 dv=16 lane=bf16 mask=causal align=br sinklogit=normal:1 seed=6";
  std::set<std::string> kinds;
  for (const std::string& missed : Unshown(line, "mma-bf16", &kinds)) {
    ADD_FAILURE() << missed;
  }
  std::set<std::string> all = kKinds;
  all.insert("sink");
  EXPECT_EQ(kinds, all);
}

// One row of one head: nothing but its own inputs tells channels and keys
// apart.
TEST_P(FaultsAt, AreShownByOneRow) {
  for (const char* more : {"", " sinklogit=const:2", " cap=30"}) {
    const std::string line =
        "attention_forward sq=1 skv=" + std::to_string(GetParam()) +
        " d=128 dv=16 valid_kv=" + std::to_string(GetParam() - 3) + " seed=7" +
        more;
    std::set<std::string> kinds;
    for (const std::string& missed : Unshown(line, "cpu-f32", &kinds)) {
      ADD_FAILURE() << missed << more;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, FaultsAt,
                         ::testing::Values(1024, 4096, 16384));

// The planted places follow from the masks and the salt, not from the values.
TEST(PlantedFaults, AreTheSameOnEveryInput) {
  const Case c = ParseCase(
                     "attention_forward hq=2 sq=9 skv=33 d=8 "
                     "mask=window:6,0 align=br sinklogit=const:1")
                     .value();
  const NumericProfile profile = LoadProfile("cpu-f32").value();
  const auto own = Open(c)->faults().PlantFaults(3);
  ASSERT_GT(own.size(), 10u);
  for (const Case& probe : AttentionForwardTrial::ProbeCases(c, profile)) {
    const auto faults = Open(probe)->faults().PlantFaults(3);
    ASSERT_EQ(faults.size(), own.size());
    for (size_t n = 0; n < own.size(); ++n) {
      EXPECT_EQ(faults[n].what, own[n].what);
      EXPECT_EQ(faults[n].rows, own[n].rows);
    }
  }
}

// A fault is one: each changes the answer on data that hides nothing.
TEST(PlantedFaults, DifferFromTheRightAnswer) {
  const auto trial =
      Open(ParseCase("attention_forward b=2 hq=4 hkv=2 sq=9 skv=33 d=8 "
                     "mask=causal align=br sinklogit=normal:1 seed=4")
               .value());
  for (const PlantedFault& fault : trial->faults().PlantFaults(9)) {
    for (const int64_t row : fault.rows) {
      RowBits right, wrong;
      trial->ReferenceRow(row, &right);
      fault.row(row, &wrong);
      EXPECT_NE(right, wrong) << fault.kind << " " << fault.what;
      EXPECT_EQ(right[0] != wrong[0], fault.kind != "lse") << fault.what;
    }
  }
}

TEST(PlantedFaults, EmptyRowsHaveNone) {
  EXPECT_TRUE(
      Open(ParseCase("attention_forward sq=3 skv=4 d=4 valid_kv=0").value())
          ->faults()
          .PlantFaults(1)
          .empty());
}

// The sinks of a probe are its own, and its values hide what canaries break.
TEST(ProbeCases, HaveSinksOfTheirOwnAndNoCanaries) {
  const Case c = ParseCase(
                     "attention_forward hq=3 sq=9 skv=33 d=8 "
                     "sinklogit=normal:1 seed=2")
                     .value();
  EXPECT_FALSE(Open(c)->kernels().Canaries().empty());
  const auto cases =
      AttentionForwardTrial::ProbeCases(c, LoadProfile("cpu-f32").value());
  EXPECT_EQ(cases.size(), 12u);
  for (const Case& probe : cases) {
    const auto trial = Open(probe);
    EXPECT_TRUE(trial->kernels().Canaries().empty());
    const auto& attention = dynamic_cast<AttentionForwardTrial&>(*trial);
    const ProbeKind kind = *ProbeOf(probe.Get<AttentionForwardCase>());
    for (int64_t h = 0; h < 3; ++h) {
      const float sink = attention.data().inputs.sink(h);
      if (kind == ProbeKind::kDeep) {
        EXPECT_LT(sink, -0x1p21f);
      } else {
        EXPECT_EQ(sink != 0, kind == ProbeKind::kSink) << MinimalLine(probe);
      }
    }
  }
}

// The same line says the same of a case that brings no sink values.
TEST(ProbeCases, SinkIsAFillOfItsOwn) {
  const auto trial = Open(ParseCase("attention_forward hq=3 sq=2 skv=16 d=4 "
                                    "sinklogit=const:5 fill=probe:sink")
                              .value());
  const auto& data = dynamic_cast<AttentionForwardTrial&>(*trial).data();
  EXPECT_EQ(data.inputs.sink(0),
            ProbeSinkElement(ProbeKind::kSink, data.problem, 0));
  EXPECT_NE(data.inputs.sink(0), data.inputs.sink(1));
}

}  // namespace
}  // namespace lockstep::verify
