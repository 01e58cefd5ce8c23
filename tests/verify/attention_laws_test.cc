// Laws of attention: no correct kernel breaks one, and each is broken by faults
// that are judged without a truth.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/case/case.h"
#include "verify/case/segments/segment_ids.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/judge/laws.h"
#include "verify/judge/verdict.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

constexpr uint64_t kDraws = 8;  // of a law

// A right answer to the inputs it meets first; to others one bit is another.
class DependsOnAll final : public Candidate {
 public:
  DependsOnAll() : Candidate({.backend = "optimized"}) {}
  std::string Spec(const Variation&) const override { return "depends"; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation& how,
                 const OutputSet& outputs, Execution* execution) override {
    const RunOutcome outcome =
        trial.kernels().RunOptimized(how, outputs, execution);
    const MutableLaneView& o = outputs.tensors[0].view;
    if (first_.empty()) first_ = trial.InputDigest();
    if (trial.InputDigest() == first_) return outcome;
    for (int64_t b = 0; b < o.shape[0]; ++b) {
      for (int64_t h = 0; h < o.shape[1]; ++h) {
        for (int64_t i = 0; i < o.shape[2]; ++i) {
          float& x = o.As<float>()(b, h, i, 0);
          x = std::bit_cast<float>(std::bit_cast<uint32_t>(x) ^ 1);
        }
      }
    }
    return outcome;
  }

 private:
  std::string first_;
};

// Right, but it raises an exception where a law asks in another encoding.
class RaisesForOthers final : public Candidate {
 public:
  RaisesForOthers() : Candidate({.backend = "optimized"}) {}
  std::string Spec(const Variation&) const override { return "raises"; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation& how, const OutputSet& outputs,
                 Execution* execution) override {
    if (request.law != "encoding") {
      return trial.kernels().RunOptimized(how, outputs, execution);
    }
    RunOutcome raised;
    raised.state = RunOutcome::State::kError;
    raised.check = "exception";
    raised.message = "KeyError: 'page_table'";
    return raised;
  }
};

struct Judged {
  std::set<std::string> ran;
  std::set<std::string> broken;
  std::set<std::string> refused;
  size_t findings = 0;
};

// Every law of the case, each with several draws, without any truth.
Judged JudgeAll(Candidate& candidate, const std::string& line,
                bool has_lse = true) {
  Judged judged;
  const auto c = ParseCase(line);
  EXPECT_TRUE(c.ok()) << line << ": " << c.message();
  const auto opened = TrialRowOf(c.value())->open(c.value(), {});
  EXPECT_TRUE(opened.ok()) << line << ": " << opened.message();
  const Trial& trial = *opened.value();
  const CaseRequest request{&c.value(), line, 1, 1};
  EXPECT_TRUE(candidate.Prepare(request).ok());
  auto base = trial.Allocate(0);
  EXPECT_TRUE(base.ok());
  Execution execution;
  const RunOutcome outcome = candidate.Run(
      request, trial, candidate.traits().fixed, base.value(), &execution);
  EXPECT_EQ(outcome.message, "");
  auto claims = candidate.traits().claims;
  if (claims && !has_lse) claims->lse = LseLane::kNone;
  // One law at a time: the salt says which.
  const uint64_t draws = kDraws * trial.laws().LawNames().size();
  for (uint64_t salt = 0; salt < draws; ++salt) {
    CaseResult result;
    LawsRequest laws;
    laws.candidate = &candidate;
    laws.request = &request;
    laws.trial = &trial;
    laws.base = &base.value();
    laws.profile = claims && !claims->exact ? &*claims : nullptr;
    laws.salt = salt;
    laws.most = 1;
    JudgeLaws(laws, &result);
    judged.refused.insert(result.refused.begin(), result.refused.end());
    judged.findings += result.findings.size();
    for (const Check& check : result.checks) {
      if (check.name.rfind("law_", 0) != 0) continue;
      judged.ran.insert(check.name.substr(4));
      if (check.passed) continue;
      judged.broken.insert(check.name.substr(4));
      EXPECT_FALSE(result.findings.empty());
    }
  }
  return judged;
}

Judged JudgeSpec(const std::string& spec, const std::string& line) {
  auto candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  return JudgeAll(*candidate.value(), line);
}

constexpr const char* kEverything =
    "attention_forward b=2 hq=4 hkv=2 sq=9 skv=11 d=5 dv=3 align=1 "
    "mask=(causal|random:0.3)&prefix:2,5 mask.h1=window:3,1 mask.h3=random:0.6 "
    "q_seg=[ids:0*4,7*5;ids:1*2,3*7] kv_seg=[ids:0*6,7*5;ids:1*5,3*6] "
    "valid_q=9,7 valid_kv=11,8 sinklogit=normal:1 cap=5 seed=3";

const std::set<std::string> kAll = {"neighbours", "prefix", "window", "padding",
                                    "relabel",    "scale",  "rows",   "heads"};

TEST(AttentionLaws, AllHoldForCorrectKernels) {
  for (const char* spec :
       {"builtin:optimized,threads=1", "builtin:reference", "variant:flash"}) {
    const Judged judged = JudgeSpec(spec, kEverything);
    EXPECT_EQ(judged.ran, kAll) << spec;
    EXPECT_TRUE(judged.broken.empty()) << spec << *judged.broken.begin();
  }
}

// Numbers in fp8 have the answer of the same numbers in the case's lane.
TEST(AttentionLaws, OfFp8HoldForCorrectKernels) {
  for (const char* spec :
       {"builtin:optimized,threads=1", "builtin:reference", "variant:flash"}) {
    const Judged judged =
        JudgeSpec(spec,
                  "attention_forward hq=4 hkv=2 sq=5 skv=9 d=8 lane=bf16 "
                  "kvlane=e4m3 kscale=head:const:0.5 vscale=tensor:4 "
                  "qlane=e5m2 qscale=tensor:0.25 mask=causal align=br seed=4");
    EXPECT_TRUE(judged.ran.contains("encoding")) << spec;
    EXPECT_TRUE(judged.broken.empty()) << spec << *judged.broken.begin();
  }
}

// Of a forward pass, of gradients and of scans.
TEST(AttentionLaws, AnExceptionInAnotherEncodingIsARefusal) {
  for (const char* line :
       {"attention_forward b=2 sq=1 skv=9 d=4 page=4 valid_kv=9,5",
        "attention_forward sq=3 skv=4 d=4 kvlane=e4m3",
        "attention_backward b=2 sq=4 skv=4 d=4 layout=varlen valid_q=4,3 "
        "valid_kv=4,3",
        "mamba3_scan t=6 h=1 n=4 p=4 cu=0,2,6"}) {
    RaisesForOthers candidate;
    const Judged judged = JudgeAll(candidate, line);
    EXPECT_TRUE(judged.refused.contains("law_encoding")) << line;
    EXPECT_EQ(judged.findings, 0u) << line;
  }
}

// What lies where the kernel has no lse is no output of it.
TEST(AttentionLaws, AnOutputThatTheKernelLacksBreaksNone) {
  const auto candidate =
      std::move(ParseCandidate("mutant:attn.lse_head_zero,base=cpu").value());
  const std::string line = "attention_forward hq=2 sq=4 skv=5 d=4 seed=1";
  EXPECT_FALSE(JudgeAll(*candidate, line).broken.empty());
  EXPECT_TRUE(JudgeAll(*candidate, line, false).broken.empty());
}

// v in f16 has fewer bits below 2^-14: there the envelope of the call decides.
TEST(AttentionLaws, ScaleLeavesSmallF16ToTheEnvelope) {
  for (const char* seed : {"2", "3"}) {
    const Judged judged =
        JudgeSpec("variant:cpu-f16-operands",
                  "attention_forward sq=3 skv=5 d=4 "
                  "fill=normal:1+v.uniform:0.0001,0.0002 seed=" +
                      std::string(seed));
    EXPECT_TRUE(judged.ran.contains("scale"));
    EXPECT_TRUE(judged.broken.empty()) << seed;
  }
}

TEST(AttentionLaws, NoneWhereNothingIsToBeSaid) {
  const Judged judged = JudgeSpec("builtin:optimized",
                                  "attention_forward sq=1 skv=1 d=1 "
                                  "fill=huge:1 seed=1");
  EXPECT_TRUE(judged.ran.empty()) << *judged.ran.begin();
}

TEST(AttentionLaws, EachSeesWhatDependsOnItsInputs) {
  DependsOnAll candidate;
  EXPECT_EQ(JudgeAll(candidate, kEverything).broken, kAll);
}

struct Fault {
  const char* law;
  const char* mutant;
  const char* line;
};

// Of known faults those that a law sees although it has no truth.
TEST(AttentionLaws, FaultsBreakThem) {
  const Fault faults[] = {
      {"neighbours", "attn.batch_zero",
       "attention_forward b=3 sq=3 skv=4 d=4 seed=1"},
      {"neighbours", "attn.kv_head_zero",
       "attention_forward hq=4 hkv=2 sq=3 skv=4 d=4 seed=1"},
      {"prefix", "attn.causal_plus_one",
       "attention_forward sq=6 skv=6 d=4 mask=causal seed=1"},
      {"window", "attn.window_left_plus_one",
       "attention_forward sq=6 skv=6 d=4 mask=window:2,0 seed=1"},
      {"padding", "attn.valid_kv_ignored",
       "attention_forward sq=3 skv=6 d=4 valid_kv=4 seed=1"},
      {"relabel", "attn.segments_8bit",
       "attention_forward sq=6 skv=6 d=4 q_seg=ids:0*3,1*3 "
       "kv_seg=ids:0*3,1*3 seed=1"},
      {"rows", "attn.valid_of_batch0",
       "attention_forward b=2 sq=3 skv=6 d=4 valid_kv=6,4 seed=1"},
      {"rows", "attn.segments_of_batch0",
       "attention_forward b=2 sq=4 skv=4 d=4 q_seg=[runs:2,2;runs:1,3] "
       "kv_seg=[runs:2,2;runs:1,3] seed=1"},
      {"heads", "attn.value_head_zero",
       "attention_forward hq=2 hkv=2 sq=3 skv=4 d=4 seed=1"},
      {"encoding", "attn.fp8_v_scale_twice",
       "attention_forward sq=3 skv=4 d=4 kvlane=e4m3 vscale=tensor:0.5 seed=1"},
      {"encoding", "attn.fp8_k_scale_forgotten",
       "attention_forward sq=3 skv=4 d=4 lane=bf16 kvlane=e5m2 "
       "kscale=tensor:2 seed=1"},
  };
  for (const Fault& fault : faults) {
    const Judged judged =
        JudgeSpec(std::string("mutant:") + fault.mutant, fault.line);
    EXPECT_EQ(judged.broken.count(fault.law), 1u)
        << fault.law << " " << fault.mutant;
  }
}

// Right but for what it makes of segment ids before it compares them.
class OtherIds final : public Candidate {
 public:
  explicit OtherIds(int64_t (*of)(int32_t id))
      : Candidate({.backend = "optimized"}), of_(of) {}
  std::string Spec(const Variation&) const override { return "other-ids"; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation&, const OutputSet& outputs,
                 Execution* execution) override {
    const auto& own = dynamic_cast<const AttentionForwardTrial&>(trial);
    Result<AttentionForwardData> data = Clone(own.data());
    EXPECT_TRUE(data.ok());
    for (auto* ids : {&data->inputs.q_seg, &data->inputs.kv_seg}) {
      auto* id = const_cast<int32_t*>(ids->data);
      const int64_t count = ids->shape[0] * ids->shape[1];
      for (int64_t n = 0; n < count; ++n) {
        id[n] = static_cast<int32_t>(of_(id[n]));
      }
    }
    return AttentionForwardTrial(*request.call, std::move(data.value()))
        .kernels()
        .RunReference(outputs, execution);
  }

 private:
  int64_t (*of_)(int32_t id);
};

// Ids that a narrower type does not tell apart, or that lose their sign.
TEST(AttentionLaws, RelabelReachesEveryId) {
  const std::pair<const char*, int64_t (*)(int32_t)> kinds[] = {
      {"16 bits", [](int32_t id) -> int64_t { return id & 0xffff; }},
      {"24 bits", [](int32_t id) -> int64_t { return id & 0xffffff; }},
      {"f32",
       [](int32_t id) {
         return static_cast<int64_t>(static_cast<float>(id)) >> 1;
       }},
      {"no sign", [](int32_t id) { return std::abs(int64_t{id}); }},
      {"padding below 0",
       [](int32_t id) { return std::max(int64_t{id}, int64_t{-1}); }},
  };
  const char* const line =
      "attention_forward sq=6 skv=6 d=4 q_seg=ids:0*2,1*2,2*2 "
      "kv_seg=ids:0*2,1*2,2*2 seed=1";
  for (const auto& [name, of] : kinds) {
    OtherIds candidate(of);
    EXPECT_EQ(JudgeAll(candidate, line).broken.count("relabel"), 1u) << name;
  }
  OtherIds right([](int32_t id) { return int64_t{id}; });
  EXPECT_TRUE(JudgeAll(right, line).broken.empty());
}

// A kernel that keeps ids in 16 bits takes all of these for one document.
TEST(AttentionLaws, RelabelledIdsAgreeInSixteenBits) {
  std::set<int32_t> ids;
  for (int64_t rank = 0; rank < 5; ++rank) {
    const int32_t id = OtherId(IdRange::kSteps16, rank, 5);
    EXPECT_EQ(id % (1 << 16), 0) << rank;
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 5u);
}

}  // namespace
}  // namespace lockstep::verify
