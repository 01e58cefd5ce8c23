#include "verify/run/self_check.h"

#include <memory>
#include <string>

#include "verify/base/digest.h"
#include "verify/ops/op.h"
#include "verify/oracle/lane_check.h"
#include "verify/run/environment.h"

namespace lockstep::verify {
namespace {

// Fixed and online path, both lanes, both orders, ragged everything.
constexpr KnownAnswer kAnswers[] = {
    {"attention_forward b=2 hq=4 hkv=2 sq=5 skv=21 d=16 dv=8 lane=bf16 p=bf16 "
     "cap=20 mask=causal&window:9,0 align=br seed=1",
     "ba7bf70b0408838f416e8fd39103d0ab", "730c9e9adc22106186be674eb279698d",
     "2b53894de3db95532f75d8e3028b8796"},
    {"attention_forward hq=2 hkv=1 sq=3 skv=40 d=24 mask=prefix:3 "
     "q_seg=runs:1,2 kv_seg=runs:9,31 sinklogit=normal:1 seed=2",
     "9813f8fcc41fca13d9856d15ba403687", "7efcb294d79746cc4526c02f786de36a",
     "1416a43b2506e91a0acdfae9f221d4dc"},
    {"attention_forward hq=2 hkv=1 sq=3 skv=45 d=40 dv=8 lane=bf16 p=bf16 "
     "order=amx mask=causal align=br fill=normal:1+qk.tiny:0.1 seed=3",
     "c2c9bc149192ec730d13b9426c252657", "32be85cd783efd94652cf9976efe984c",
     "41eb2cd0bd6c8a310c7957051448fb0e"},
};

Status CheckOne(const KnownAnswer& answer, OpRows ops) {
  const auto wrong = [&](const std::string& what) {
    return Status::Error(what + " of '" + answer.line +
                         "' are not the known ones: this build or machine "
                         "does not keep the numerics contract");
  };
  const Result<Case> c = ParseCase(answer.line, ops);
  if (!c.ok()) return c.status();
  const Result<TrialRow> op = TrialRowOf(c.value());
  if (!op.ok()) return op.status();
  const auto trial = op->open(c.value(), MaterialiseOptions{});
  if (!trial.ok()) return trial.status();
  if (trial.value()->InputDigest() != answer.inputs) return wrong("inputs");
  Result<OutputSet> outputs = trial.value()->Allocate(0);
  if (!outputs.ok()) return outputs.status();
  Execution execution;
  trial.value()->RunReference(outputs.value(), &execution);
  const auto& tensors = outputs.value().tensors;
  if (DigestTensor(tensors[0].const_view()) != answer.o ||
      DigestTensor(tensors[1].const_view()) != answer.lse) {
    return wrong("outputs");
  }
  return {};
}

}  // namespace

std::span<const KnownAnswer> KnownAnswers() { return kAnswers; }

Status CheckKnownAnswers(std::span<const KnownAnswer> answers, OpRows ops) {
  for (const KnownAnswer& answer : answers) {
    const Status status = CheckOne(answer, ops);
    if (!status.ok()) return status;
  }
  return {};
}

Status SelfCheck(OpRows ops) {
  const Status arithmetic = CheckArithmetic();
  if (!arithmetic.ok()) return arithmetic;
  const Status oracle = oracle::CheckTargets();
  return oracle.ok() ? CheckKnownAnswers(kAnswers, ops) : oracle;
}

}  // namespace lockstep::verify
