// Our own kernels through the door of others: they have the contract's bits
// there, too.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/wire/host.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/registry/ops.h"
#include "verify/run/run.h"

namespace lockstep::verify {
namespace {

class Verdicts final : public RunObserver {
 public:
  void OnCase(const CaseResult& result, const Totals&, int64_t) override {
    if (result.verdict != Verdict::kPass) reasons += result.reason + "\n";
  }
  std::string reasons;
};

NumericProfile Builtin(const std::string& name) {
  for (const NumericProfile& profile : BuiltinProfiles()) {
    if (profile.name == name) return profile;
  }
  ADD_FAILURE() << "no profile " << name;
  return {};
}

Totals JudgeLines(const std::string& spec, const NumericProfile& profile,
                  const std::vector<std::string>& lines, Verdicts* verdicts) {
  Result<std::unique_ptr<Candidate>> candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  std::vector<std::unique_ptr<Candidate>> candidates;
  candidates.push_back(std::move(candidate.value()));
  RunOptions options;
  options.judge.profile = profile;
  options.judge.profile_spec = profile.name;
  options.fail_fast = true;
  auto jobs = JobsFromLines(lines, Ops());
  EXPECT_TRUE(jobs.ok()) << jobs.message();
  auto run =
      Run::Prepare(std::move(jobs.value()), std::move(candidates), options);
  EXPECT_TRUE(run.ok()) << run.message();
  return run.ok() ? run->Judge(verdicts) : Totals{};
}

class Kernels : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Where lockstep-host lies: not beside this program.
    const std::string path = std::getenv("PATH");
    setenv("PATH", (LOCKSTEP_HOST_FOLDER ":" + path).c_str(), 1);
  }
  static void TearDownTestSuite() {
    EXPECT_EQ(CloseHosts(), std::vector<std::string>());
  }
};

TEST_F(Kernels, CorrectOnesPass) {
  const std::vector<std::string> attention = {
      "attention_forward hq=2 hkv=1 sq=5 skv=9 d=8 cap=30 mask=causal align=br",
      "attention_forward b=2 sq=5 skv=6 d=4 mask=random:0.5 valid_q=5,3 "
      "valid_kv=6,2 align=br",
      "attention_forward hq=2 sq=8 skv=8 d=4 mask=causal&(window:1,0|sink:2) "
      "q_seg=runs:5,3 kv_seg=runs:5,3 sinklogit=normal:1",
      "attention_forward b=4 hq=4 hkv=2 sq=6 skv=9 d=8 dv=5 layout=varlen "
      "valid_q=6,0,2,5 valid_kv=9,4,0,7 mask=causal align=br",
      "attention_forward b=2 hq=4 hkv=2 sq=6 skv=30 d=8 mask=causal&index:9 "
      "align=br valid_kv=30,17",
      "attention_forward b=2 hq=4 hkv=2 sq=1 skv=40 d=8 page=16:nhd "
      "valid_kv=40,17",
      "attention_forward hq=4 hkv=1 sq=2 skv=40 d=12 alias=v_in_k:8",
      "attention_forward b=2 hq=4 hkv=2 sq=7 skv=50 d=8 kvlane=e4m3 "
      "kscale=block:16:uniform:0.5,2 vscale=head:uniform:0.5,2 qlane=e5m2 "
      "qscale=token:uniform:0.5,2"};
  const std::vector<std::string> gradients = {
      "attention_backward b=2 hq=4 hkv=2 sq=9 skv=14 d=8 cap=20 mask=causal "
      "align=br sinklogit=normal:1 dlse=normal:1 q_seg=runs:4,5 "
      "kv_seg=runs:7,7 valid_kv=14,9 fill=normal:1+poison:masked",
      "attention_backward hq=2 sq=7 skv=11 d=6 dv=3 mask=random:0.5 "
      "layout=bshd",
      "attention_backward sq=5 skv=5 d=4 p=bf16 mask=blocks:2x2:0.5",
      "attention_backward b=3 hq=4 hkv=2 sq=6 skv=9 d=8 dv=5 layout=varlen "
      "valid_q=6,0,5 valid_kv=9,4,7 mask=causal align=br dlse=normal:1",
      "attention_backward b=2 hq=4 hkv=2 sq=6 skv=30 d=8 mask=causal&index:9 "
      "align=br valid_kv=30,17"};
  const std::vector<std::string> scan_gradients = {
      "mamba3_scan_backward b=2 t=15 h=4 g=2 n=10 p=5 s=3 variant=mimo r=2 "
      "gate=yes reduce=yes seg=[runs:6,9;runs:15] carry=yes dcarry=yes",
      "mamba3_scan_backward t=12 h=2 n=8 p=6 s=0 cu=0,5,5,12 carry=yes "
      "norm=1e-3 skip=no",
      "mamba3_scan_backward t=9 h=2 n=8 p=6 bias=no dcarry=yes",
      "mamba3_scan_backward t=9 n=8 p=6 variant=mimo r=3 gate=yes"};
  const std::vector<std::string> scans = {
      "mamba3_scan t=12 h=2 n=8 p=4 s=3 cu=0,5,12 carry=yes bias=yes gate=yes",
      "mamba3_scan b=2 t=7 h=4 g=2 n=8 p=2 seg=runs:3,4",
      "mamba3_step t=3 n=8 p=2 s=2",
      "ssd_scan b=2 t=12 h=4 g=2 n=8 p=3 seg=runs:5,7 carry=yes gate=yes"};
  const std::vector<std::string> merges = {
      "attention_merge s=5 h=2 n=7 dv=9 empty=0.3 blank=0.2 "
      "fill=normal:1+poison:masked layout=nshd",
      "attention_merge s=3 n=4 dv=20 base=2 letters=-inf,3,700"};
  const std::string wide = "attention_forward hq=2 sq=3 skv=300 d=40 ";
  const struct {
    NumericProfile profile;
    std::vector<std::string> lines;
  } kRows[] = {
      {Builtin("exact-f32"), attention},
      {Builtin("exact-f32"), gradients},
      {Builtin("exact-f32"), scan_gradients},
      {Builtin("exact-f32"), scans},
      {Builtin("exact-f32"), merges},
      {Builtin("exact-f16"),
       {attention[0] + " lane=f16 p=f16", gradients[0] + " lane=f16 p=f16"}},
      {Builtin("exact-bf16"),
       {wide + "lane=bf16 p=bf16 split=3",
        wide + "lane=bf16 p=bf16 order=amx split=2"}},
      // Its own forward pass is handed over and judged.
      {FindGradVariant("grad-cpu-own")->numeric, {gradients[0], gradients[1]}}};
  for (const auto& [profile, lines] : kRows) {
    Verdicts verdicts;
    const Totals totals =
        JudgeLines("so:" LOCKSTEP_OPTIMIZED, profile, lines, &verdicts);
    EXPECT_EQ(totals.pass, std::ssize(lines))
        << profile.name << ": " << verdicts.reasons;
  }
}

}  // namespace
}  // namespace lockstep::verify
