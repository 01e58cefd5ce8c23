#include "verify/identify/attention_forward/operands.h"

#include <string>

namespace lockstep::verify {

void SettleOperands(NumberType weights_are, Asker* kernel) {
  NumericProfile* const p = &kernel->profile;
  Identified* const found = &kernel->found;
  const bool narrow =
      p->operand_qk == NumberType::kBf16 || p->operand_qk == NumberType::kF16;
  const bool halves = narrow && p->operand_v != p->operand_qk;
  const bool weights =
      p->operand_round == Rounding::kTruncate && weights_are != p->operand_v;
  for (FieldEvidence& field : found->fields) {
    if (halves && field.field == "operand_qk" && field.word == Word::kSeen) {
      field.word = Word::kReported;
      field.line =
          "operand_qk = " +
          std::string(p->operand_qk == NumberType::kBf16 ? "bf16" : "f16");
    }
  }
  if (halves) p->operand_qk = NumberType::kF32;
  if (!weights && !halves) return;
  if (p->operand_round == Rounding::kNearest) return;
  p->operand_round = Rounding::kNearest;
  if (!weights) return;
  found->fields.push_back({"operand_round", "", Word::kReported,
                           "operands were cut, and weights were not",
                           "operand_round = truncate"});
}

}  // namespace lockstep::verify
