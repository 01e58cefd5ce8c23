#include "verify/self_check.h"

#include <memory>
#include <string>

#include "verify/digest.h"
#include "verify/environment.h"
#include "verify/op.h"

namespace lockstep::verify {
namespace {

// Fixed and online path, both lanes, ragged everything.
constexpr KnownAnswer kAnswers[] = {
    {"attention_forward b=2 hq=4 hkv=2 sq=5 skv=21 d=16 dv=8 lane=bf16 p=bf16 "
     "cap=20 mask=causal&window:9,0 align=br seed=1",
     "ba7bf70b0408838f416e8fd39103d0ab", "730c9e9adc22106186be674eb279698d",
     "2b53894de3db95532f75d8e3028b8796"},
    {"attention_forward hq=2 hkv=1 sq=3 skv=40 d=24 mask=prefix:3 "
     "q_seg=runs:1,2 kv_seg=runs:9,31 sinklogit=normal:1 seed=2",
     "9813f8fcc41fca13d9856d15ba403687", "7efcb294d79746cc4526c02f786de36a",
     "1416a43b2506e91a0acdfae9f221d4dc"},
};

Status CheckOne(const KnownAnswer& answer) {
  const auto wrong = [&](const std::string& what) {
    return Status::Error(what + " of '" + answer.line +
                         "' are not the known ones: this build or machine "
                         "does not keep the numerics contract");
  };
  const Result<Case> c = ParseCase(answer.line);
  if (!c.ok()) return c.status();
  const Result<Op> op = FindOp(c.value());
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

Status CheckKnownAnswers(std::span<const KnownAnswer> answers) {
  for (const KnownAnswer& answer : answers) {
    const Status status = CheckOne(answer);
    if (!status.ok()) return status;
  }
  return {};
}

Status SelfCheck() {
  const Status arithmetic = CheckArithmetic();
  return arithmetic.ok() ? CheckKnownAnswers(kAnswers) : arithmetic;
}

}  // namespace lockstep::verify
