#include "verify/run/self_check.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "reference/contract/team.h"
#include "verify/base/status_macros.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"
#include "verify/ops/varlen/answer_digests.h"
#include "verify/oracle/lane_check.h"
#include "verify/run/environment.h"

namespace lockstep::verify {
namespace {

// Fixed and online path, both lanes, both orders, ragged everything; runs,
// carries and gates of scans.
constexpr KnownAnswer kAnswers[] = {
    {"attention_forward b=2 hq=4 hkv=2 sq=5 skv=21 d=16 dv=8 lane=bf16 p=bf16 "
     "cap=20 mask=causal&window:9,0 align=br seed=1",
     "inputs=ba7bf70b0408838f416e8fd39103d0ab "
     "o=730c9e9adc22106186be674eb279698d "
     "lse=2b53894de3db95532f75d8e3028b8796"},
    {"attention_forward hq=2 hkv=1 sq=3 skv=40 d=24 mask=prefix:3 "
     "q_seg=runs:1,2 kv_seg=runs:9,31 sinklogit=normal:1 seed=2",
     "inputs=9813f8fcc41fca13d9856d15ba403687 "
     "o=7efcb294d79746cc4526c02f786de36a "
     "lse=1416a43b2506e91a0acdfae9f221d4dc"},
    {"attention_forward hq=2 hkv=1 sq=3 skv=45 d=40 dv=8 lane=bf16 p=bf16 "
     "order=amx mask=causal align=br fill=normal:1+qk.tiny:0.1 seed=3",
     "inputs=c2c9bc149192ec730d13b9426c252657 "
     "o=32be85cd783efd94652cf9976efe984c "
     "lse=41eb2cd0bd6c8a310c7957051448fb0e"},
    {"attention_backward b=2 hq=2 sq=6 skv=5 d=4 valid_kv=0,5 "
     "fill=normal:1+poison:masked seed=82 sinklogit=normal:1 dlse=normal:1",
     "inputs=bc39ef8c649ff3c67ebf85ea68c5d6cf "
     "dv=dee0194d5d8cfe7e1bbf144cfe0628b2 "
     "dk=965fa58e092fe2729dc9077738bc42c0 "
     "dq=1e25703f202cd1fdc425adc840bea8e0 "
     "dsink=b18c4915daf79cd54f83c10f1e8056ed"},
    {"attention_backward sq=18 skv=37 d=16 lane=bf16 p=bf16 cap=15 "
     "fill=spread:30 seed=91",
     "inputs=962eb28a8d4566accc84c33c19346efd "
     "dv=ab156654489fe345096648a8fc49eeaa "
     "dk=eca98e0d6ca50987f8166a827f1fd5ac "
     "dq=0c45fc7d9faa72dc97bff4ad510a1913"},
    {"attention_merge s=7 h=2 n=9 dv=20 lane=bf16 out=f32 base=2 layout=nshd "
     "fill=normal:1+poison:masked empty=0.3 blank=0.1 seed=35",
     "inputs=b3163810f5263ecaf87a8cf11a2d624f "
     "o=18ad034e4aef978fcc090ec698d8d92f "
     "lse=97566b25b1bb99d90a674547df7cd4f4"},
    {"mamba3_scan t=9 h=4 g=2 n=8 p=7 variant=mimo r=2 gate=yes reduce=yes "
     "cu=0,1,9 seed=21",
     "inputs=64e79e3647e6b1fe2d585db9036da6b9 "
     "y=92ef91c38d581147998029245ed4e198 "
     "carry_theta=567f0a31810c6adce3da7c2735bbec74 "
     "carry_h=0c090ffc975aef2f6bd26b2328ce6844 "
     "carry_k=7944e0e59b90ae4b5d130f7f2f6cc0d2 "
     "carry_v=9845226d376640968ef137651f221bc9"},
    {"mamba3_scan_backward b=2 t=11 h=4 g=2 n=6 p=5 gate=yes carry=yes "
     "layout=bhtp dcarry=yes seed=198",
     "inputs=e1879c136a2aa6d45a718bcc88f37f07 "
     "dv=4564ad8b5c888a68ea887034af22b7ff "
     "dq=16060e2be7aea5d2095f6a40072d8f42 "
     "dk=c5abe351645116768156de8d4850e4d7 "
     "da=c5d61c67cec3912c4537ba9a7b5d5bca "
     "ddt=e7fa1d7e7933c4bd8e79b3e29085b16f "
     "dtau=52480d203201141a574d6b91553a867e "
     "dvartheta=4b1fd50d44649859ecdd25958aa6b091 "
     "dz=31bad4540f879fe15d36042ed8c7931c "
     "dbq=8ca9d1233bf5a8fb0504641a9031abe9 "
     "dbk=0609070ae4ec94138b97b34606d5ca5a "
     "dd=32d32b36923a040cb9317c4fa998e7e3 "
     "dinit_theta=1e30e6e36ee80133b029ec2bc723b5ee "
     "dinit_h=b5064b93eaad4ea44ff7bc9d864fee45 "
     "dinit_k=7989c104be97da7a10ca8a918482d7f0 "
     "dinit_v=67ca8602d3dc060259c2e8617ab6bbe9"},
    {"ssd_scan t=9 h=6 g=2 n=16 p=17 cu=0,0,4,4,9,9 carry=yes seed=12",
     "inputs=ec8f6036517bf9dd147c23f99d6b03f8 "
     "y=d5f178abffe092646ca37d0db1b85cce "
     "carry_h=725c3e468c5e7ca9126ea939e9121f4b"},
    {"ssd_scan t=9 h=2 n=8 p=16 lane=bf16 gate=yes seg=runs:5,4 carry=yes "
     "seed=9",
     "inputs=c3a6664d697e1b9b786f297104227694 "
     "y=c57b2eee0e8c6bac0068f92b975c00aa "
     "carry_h=45d0ba5637e2725fefa444bb8d038040"},
};

Status CheckOne(const KnownAnswer& answer, OpRows ops) {
  ASSIGN_OR_RETURN(const Case c, ParseCase(answer.line, ops));
  ASSIGN_OR_RETURN(const std::string digests, DigestsOfAnswer(c, ByReference));
  const std::string differs = WhichDiffers(digests, answer.digests);
  if (differs.empty()) return {};
  return Status::Error(differs + " of '" + answer.line +
                       "' does not have the known digest: this build or "
                       "machine does not keep the numerics contract");
}

// What the first thread that is not sound has said.
class UnsoundThread {
 public:
  void Note(int thread) {
    const Status status = CheckArithmetic();
    if (status.ok()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!first_.ok()) return;
    first_ = Status::Error("thread " + std::to_string(thread) + ": " +
                           status.message());
  }
  Status First() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return first_;
  }

 private:
  std::mutex mutex_;
  Status first_;
};

UnsoundThread& TheUnsoundThread() {
  static UnsoundThread thread;
  return thread;
}

}  // namespace

RunOutcome ByReference(const Trial& trial, const OutputSet& outputs) {
  Execution execution;
  return trial.kernels().RunReference(outputs, &execution);
}

Result<std::string> DigestsOfAnswer(const Case& c, const AnswerOf& answer) {
  ASSIGN_OR_RETURN(const TrialRow op, TrialRowOf(c));
  ASSIGN_OR_RETURN(const auto trial, op.open(c, MaterialiseOptions{}));
  ASSIGN_OR_RETURN(const OutputSet outputs, trial->Allocate(0));
  const RunOutcome outcome = answer(*trial, outputs);
  if (outcome.state != RunOutcome::State::kRan) {
    return Status::Error(outcome.message);
  }
  ASSIGN_OR_RETURN(const auto digests, AnswerDigests(*trial, outputs));
  std::string text = "inputs=" + trial->InputDigest();
  for (size_t t = 0; t < digests.size(); ++t) {
    text += " " + trial->outputs()[t].name + "=" + digests[t];
  }
  return text;
}

std::string WhichDiffers(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const std::string_view mine = a.substr(0, a.find(' '));
    const std::string_view other = b.substr(0, b.find(' '));
    if (mine != other) {
      const std::string_view word = mine.empty() ? other : mine;
      return std::string(word.substr(0, word.find('=')));
    }
    a.remove_prefix(std::min(mine.size() + 1, a.size()));
    b.remove_prefix(std::min(mine.size() + 1, b.size()));
  }
  return "";
}

std::span<const KnownAnswer> KnownAnswers() { return kAnswers; }

Status CheckKnownAnswers(std::span<const KnownAnswer> answers, OpRows ops) {
  for (const KnownAnswer& answer : answers) {
    RETURN_IF_ERROR(CheckOne(answer, ops));
  }
  return {};
}

// A mode belongs to a thread, which may be gone when the run ends.
void WatchThreads() {
  LookAtThreads([](int thread) { TheUnsoundThread().Note(thread); });
}

Status SelfCheck(OpRows ops) {
  RETURN_IF_ERROR(CheckArithmetic());
  RETURN_IF_ERROR(TheUnsoundThread().First());
  const Status oracle = oracle::CheckTargets();
  return oracle.ok() ? CheckKnownAnswers(kAnswers, ops) : oracle;
}

}  // namespace lockstep::verify
