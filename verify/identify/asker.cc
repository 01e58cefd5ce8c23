#include "verify/identify/asker.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/case/text.h"
#include "verify/profile/fields.h"

namespace lockstep::verify {

Asker::Asker(Candidate& candidate, Lane lane, const std::string& base)
    : candidate_(candidate), lane_(lane) {
  profile = LoadProfile(base).value();
  profile.name = "identified";
  profile.description = "what lockstep identify saw";
  found.candidate = candidate.Spec();
  found.base = base;
}

void Asker::Say(const std::string& field, Word word,
                const std::string& evidence, const std::string& line) {
  std::string value;
  for (const ProfileField& known : ProfileFields()) {
    if (field == known.key) value = known.print(profile);
  }
  found.fields.push_back({field, value, word, evidence, line});
}

Identified Asker::Take() {
  found.profile = profile;
  found.calls = calls_;
  return std::move(found);
}

Result<OutputSet> Asker::Call(const Case& c, const Trial& trial,
                              const NumericProfile& claims) {
  Result<OutputSet> outputs = trial.Allocate(0);
  if (!outputs.ok()) return outputs.status();
  const CaseRequest request = {.call = &c,
                               .line = MinimalLine(c),
                               .number = 1,
                               .total = 1,
                               .claims = &claims};
  RETURN_IF_ERROR(candidate_.Prepare(request));
  Execution execution;
  ++calls_;
  const auto run = [&] {
    return candidate_.Run(request, trial, candidate_.traits().fixed,
                          outputs.value(), &execution);
  };
  const size_t lacks = candidate_.Introduce().lacks.size();
  RunOutcome outcome = run();
  // A kernel that said at its first answer what it lacks is asked again.
  if (candidate_.Introduce().lacks.size() > lacks) outcome = run();
  if (outcome.state != RunOutcome::State::kRan) {
    return Status::Error(outcome.message.empty() ? "no answer came"
                                                 : outcome.message);
  }
  return outputs;
}

bool SaysNone(const Candidate& candidate, const std::string& output) {
  const std::vector<std::string> lacks = candidate.Introduce().lacks;
  const std::optional<NumericProfile> claims = candidate.traits().claims;
  return std::find(lacks.begin(), lacks.end(), output) != lacks.end() ||
         (claims && !HasOutput(*claims, output));
}

namespace {

// A value that contradicts others is not taken over.
void Settle(Identified* found) {
  const std::string wrong = LintProfile(found->profile);
  if (wrong.empty()) return;
  found->fields.push_back(
      {"profile", "", Word::kCannotTell,
       "what was seen contradicts itself: " + wrong.substr(0, wrong.find('\n')),
       ""});
  const std::string name = found->profile.name;
  const std::string description = found->profile.description;
  found->profile = LoadProfile(found->base).value();
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

// The value that is kept where none was seen: weights, dS and all that a scan
// rounds are in f32, angles in turns, chunks short, and all else is the base's.
std::string StrictValue(const ProfileField& field, const NumericProfile& base) {
  const std::string key = field.key, value = field.print(base);
  if (key == "scan.angle_form") return "turns";
  if (key == "scan.chunk") return "64";
  const bool weights = key == "p" || key == "grad.p" || key == "grad.ds";
  const bool narrow = value == "bf16" || value == "f16" || value == "tf32";
  return weights || (narrow && key.starts_with("scan.")) ? "f32" : value;
}

// What the other round says of the same question, or null. A forward pass of a
// kernel of gradients is asked for some fields, too.
const FieldEvidence* SameIn(const Identified& again, const Identified& found,
                            const FieldEvidence& field) {
  const auto names = [&](const FieldEvidence& one) {
    return one.field == field.field;
  };
  auto before = std::count_if(found.fields.data(), &field, names);
  for (const FieldEvidence& one : again.fields) {
    if (names(one) && before-- == 0) return &one;
  }
  return nullptr;
}

// Sets the field to that text, or to the base's value if the text is empty.
void SetField(const std::string& key, const std::string& text,
              const NumericProfile& base, NumericProfile* profile) {
  NumericProfile fresh = base;
  fresh.name = profile->name;
  fresh.description = profile->description;
  for (const ProfileField& field : ProfileFields()) {
    const std::string value = key == field.key ? text : field.print(*profile);
    if (!value.empty() && value != field.print(fresh)) {
      field.parse(value, &fresh);
    }
  }
  *profile = fresh;
}

// If the length decides which of two values a kernel has: the value that covers
// both; empty if none does. In f32 a scale in dS rounds as often as one in k or
// q, and more often than one after the sum.
std::string CoverOf(const FieldEvidence& field, const FieldEvidence& other,
                    const NumericProfile& profile) {
  if (other.word != Word::kSeen) return "";
  if (field.field == "ftz") return "yes";
  if (field.field == "scan.chunk") {
    const auto chunk = [](const FieldEvidence& of) {
      return std::atoll(of.value.c_str());
    };
    return chunk(other) > chunk(field) ? other.value : field.value;
  }
  const bool place =
      field.field == "grad.dq_scale_at" || field.field == "grad.dk_scale_at";
  const bool f32 = profile.grad && profile.grad->ds == NumberType::kF32 &&
                   profile.operand_qk == NumberType::kF32 &&
                   profile.lane.value_or(Lane::kF32) == Lane::kF32;
  const bool heads = field.value == "head" || other.value == "head";
  return place && f32 && !heads ? "ds" : "";
}

// What was seen has to be seen again at another length, unless the answers
// there do not show it. Otherwise the strict value stands; numbers that are
// flushed at one length may be flushed.
void Reconcile(int64_t longer, const Identified& again, Identified* found) {
  const NumericProfile base = LoadProfile(found->base).value();
  found->calls += again.calls;
  for (FieldEvidence& field : found->fields) {
    const FieldEvidence* other = SameIn(again, *found, field);
    if (field.word != Word::kSeen || other == nullptr ||
        other->word == Word::kAssumed ||
        (other->word == Word::kSeen && other->value == field.value)) {
      continue;
    }
    field.evidence +=
        "; with " + std::to_string(longer) + " more: " + other->evidence;
    const std::string cover = CoverOf(field, *other, found->profile);
    if (cover.empty()) field.word = Word::kCannotTell;
    for (const ProfileField& known : ProfileFields()) {
      if (field.field != known.key) continue;
      SetField(known.key, cover.empty() ? StrictValue(known, base) : cover,
               base, &found->profile);
    }
  }
}

}  // namespace

Result<Identified> AskTwice(
    const IdentifyRequest& request,
    const std::function<Result<Identified>(int64_t)>& round) {
  Result<Identified> found = round(0);
  if (!found.ok()) return found;
  Settle(&found.value());
  FillValues(&found.value());
  ASSIGN_OR_RETURN(Identified again, round(request.light_keys));
  Settle(&again);
  FillValues(&again);
  found->op = request.op;
  Reconcile(request.light_keys, again, &found.value());
  Settle(&found.value());
  FillValues(&found.value());
  return found;
}

}  // namespace lockstep::verify
