#include "verify/identify/attention_forward/identify.h"

#include <cstdint>
#include <string>
#include <utility>

#include "verify/identify/attention_forward/kernel.h"
#include "verify/profile/fields.h"

namespace lockstep::verify {
namespace {

// The built-in profile that a kernel of this lane starts from.
const char* BaseOf(Lane lane) {
  return lane == Lane::kBf16 ? "flash-bf16" : "cpu-f32";
}

Status Interrupted() { return Status::Error("interrupted"); }

// A unit that rounds the operands of one product rounds those of both, alike,
// and weights, too. Otherwise they are reported.
void SettleOperands(NumericProfile* p, Identified* found) {
  const bool narrow =
      p->operand_qk == NumberType::kBf16 || p->operand_qk == NumberType::kF16;
  const bool halves = narrow && p->operand_v != p->operand_qk;
  const bool weights =
      p->operand_round == Rounding::kTruncate && p->p != p->operand_v;
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

// A value that contradicts others is not taken over.
void Settle(const NumericProfile& base, Identified* found) {
  const std::string wrong = LintProfile(found->profile);
  if (wrong.empty()) return;
  found->fields.push_back(
      {"profile", "", Word::kCannotTell,
       "what was seen contradicts itself: " + wrong.substr(0, wrong.find('\n')),
       ""});
  const std::string name = found->profile.name;
  const std::string description = found->profile.description;
  found->profile = base;
  found->profile.name = name;
  found->profile.description = description;
}

// The values as they stand in the end.
void FillValues(Identified* found) {
  for (FieldEvidence& field : found->fields) {
    for (const ProfileField& known : ProfileFields()) {
      if (field.field == known.key) field.value = known.print(found->profile);
    }
  }
}

// All probes, with so many light keys behind those of each.
Result<Identified> AskAll(const IdentifyRequest& request, int64_t light_keys,
                          Candidate& candidate) {
  const std::string base_name = BaseOf(request.lane);
  const NumericProfile base = LoadProfile(base_name).value();
  AttentionKernel kernel(candidate, request.lane);
  kernel.light_keys = light_keys;
  kernel.profile = base;
  kernel.profile.name = "identified";
  kernel.profile.description = "what lockstep identify saw";
  // The first answer decides whether there will be any.
  AttentionQuestion first;
  first.q = first.k = first.v = {{1, 0, 0, 0, 0, 0, 0, 0}};
  const auto answer = kernel.Ask(first);
  if (!answer.ok()) return answer.status();
  for (const AttentionProbe& probe : AttentionProbes()) {
    if (request.stop != nullptr && *request.stop) return Interrupted();
    probe.ask(&kernel);
  }
  Identified found = std::move(kernel.found);
  found.candidate = candidate.Spec();
  found.op = request.op;
  found.base = base_name;
  found.profile = kernel.profile;
  found.calls = kernel.calls();
  SettleOperands(&found.profile, &found);
  Settle(base, &found);
  FillValues(&found);
  return found;
}

// What was seen has to be seen again at another length, unless the answers
// there do not show it. Otherwise the strict value stands.
void Reconcile(int64_t light_keys, const Identified& again, Identified* found) {
  const NumericProfile base = LoadProfile(found->base).value();
  found->calls += again.calls;
  for (FieldEvidence& field : found->fields) {
    const FieldEvidence* other = again.Find(field.field);
    if (field.word != Word::kSeen || other == nullptr ||
        other->word == Word::kAssumed ||
        (other->word == Word::kSeen && other->value == field.value)) {
      continue;
    }
    field.word = Word::kCannotTell;
    field.evidence += "; with " + std::to_string(light_keys) +
                      " keys more: " + other->evidence;
    for (const ProfileField& known : ProfileFields()) {
      if (field.field != known.key) continue;
      const std::string strict = field.field == "p" ? "f32" : known.print(base);
      known.parse(strict, &found->profile);
    }
  }
}

}  // namespace

Result<Identified> IdentifyAttention(const IdentifyRequest& request,
                                     Candidate& candidate) {
  Result<Identified> found = AskAll(request, 0, candidate);
  if (!found.ok()) return found;
  const Result<Identified> again =
      AskAll(request, request.light_keys, candidate);
  if (!again.ok()) return again;
  Reconcile(request.light_keys, again.value(), &found.value());
  Settle(LoadProfile(found->base).value(), &found.value());
  FillValues(&found.value());
  return found;
}

}  // namespace lockstep::verify
