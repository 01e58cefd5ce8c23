#include "verify/identify/evidence.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "verify/base/digest.h"
#include "verify/base/printable.h"
#include "verify/identify/not_asked.h"
#include "verify/profile/fields.h"

namespace lockstep::verify {

const char* WordName(Word word) {
  constexpr const char* kNames[] = {"seen", "reported", "assumed",
                                    "cannot tell"};
  return kNames[static_cast<size_t>(word)];
}

const FieldEvidence* Identified::Find(const std::string& field) const {
  for (const FieldEvidence& one : fields) {
    if (one.field == field) return &one;
  }
  return nullptr;
}

bool Identified::CannotTell() const {
  return std::any_of(fields.begin(), fields.end(), [](const auto& field) {
    return field.word == Word::kCannotTell;
  });
}

std::string ProfileDigest(const NumericProfile& profile) {
  return DigestText(ProfileText(profile));
}

namespace {

// What the profile has in that field; empty: nothing to say.
std::string ValueOf(const NumericProfile& profile, const std::string& key) {
  for (const ProfileField& field : ProfileFields()) {
    if (key == field.key) return field.print(profile);
  }
  return "";
}

// What a person may do with a report.
std::string AfterReport(const FieldEvidence& field) {
  if (field.word != Word::kReported) return "";
  return field.line.empty() ? "; no value stands for that"
                            : "; to add, if it is meant: " + field.line;
}

// Whether kernels of that op have the key: gradients have those of gradients.
bool Concerns(const Identified& identified, const std::string& key) {
  const auto begins = [](const std::string& text) {
    return text.starts_with("grad.");
  };
  return !begins(key) ||
         std::any_of(identified.fields.begin(), identified.fields.end(),
                     [&](const auto& field) { return begins(field.field); });
}

std::string Comment(const FieldEvidence& field) {
  std::string text = "# " + field.field;
  if (!field.value.empty()) text += " = " + field.value;
  text += ": ";
  if (field.word != Word::kSeen)
    text += std::string(WordName(field.word)) + ": ";
  text += Printable(field.evidence);
  text += AfterReport(field);
  return text + "\n";
}

}  // namespace

std::string IdentifiedText(const Identified& identified) {
  const NumericProfile& profile = identified.profile;
  const NumericProfile base = LoadProfile(identified.base).value();
  std::string text = "base = " + identified.base + "\n";
  text += "name = " + profile.name + "\n";
  text += "description = " + profile.description + "\n\n";
  std::map<std::string, bool> said = {{"name", true}, {"description", true}};
  for (const FieldEvidence& field : identified.fields) {
    text += Comment(field);
    if (field.value.empty() || said[field.field]) continue;
    said[field.field] = true;
    text += field.field + " = " + field.value + "\n";
  }
  std::string assumed;
  for (const ProfileField& field : ProfileFields()) {
    const std::string key = field.key;
    const std::string value = ValueOf(profile, key);
    if (said[key] || value.empty() || !HasKey(profile, key) ||
        !Concerns(identified, key)) {
      continue;
    }
    if (value != ValueOf(base, key)) {
      text += key + " = " + value + "\n";
      continue;
    }
    const std::string_view why = WhyNotAsked(identified.op, key);
    assumed += "# " + key + " = " + value + ": assumed, not asked" +
               (why.empty() ? "" : ": " + std::string(why)) + "\n";
  }
  text += "\n" + assumed;
  for (const std::string& warning : identified.warnings) {
    text += "# warning: " + warning + "\n";
  }
  return text;
}

}  // namespace lockstep::verify
