// What tests of `lockstep identify` ask a kernel, and look up in the answer.
#ifndef LOCKSTEP_TESTS_VERIFY_IDENTIFY_QUESTIONS_H_
#define LOCKSTEP_TESTS_VERIFY_IDENTIFY_QUESTIONS_H_

#include <gtest/gtest.h>
#include <algorithm>

#include <span>
#include <string>

#include "tests/verify/judge_line.h"
#include "verify/identify/identify.h"
#include "verify/profile/fields.h"

namespace lockstep::verify {

inline Identified AskedOf(const std::string& op, Candidate& candidate,
                          Lane lane, int64_t light_keys = 7) {
  IdentifyRequest request;
  request.op = op;
  request.light_keys = light_keys;  // few: these kernels are slow
  request.lane = lane;
  Result<Identified> found = Identify(request, candidate);
  EXPECT_TRUE(found.ok()) << found.message();
  return found.ok() ? found.value() : Identified{};
}

inline std::string ValueOf(const NumericProfile& profile,
                           const std::string& key) {
  for (const ProfileField& field : ProfileFields()) {
    if (key == field.key) return field.print(profile);
  }
  return "";
}

inline bool HasWord(const Identified& found, const std::string& key,
                    Word word) {
  return std::any_of(found.fields.begin(), found.fields.end(),
                     [&](const FieldEvidence& field) {
                       return field.field == key && field.word == word;
                     });
}

// That no field of what was found of a wrong kernel has a value that neither
// the right kernel's nor the built-in profile has, and that the field is
// reported, or cannot be told.
inline void ExpectNotLearned(const Identified& found, const Identified& right,
                             const std::string& said) {
  const NumericProfile base = LoadProfile(right.base).value();
  for (const ProfileField& field : ProfileFields()) {
    const std::string key = field.key;
    if (key == "name" || key == "description") continue;
    const std::string value = field.print(found.profile);
    const bool strict = ((key == "p" || key == "grad.p" || key == "grad.ds") &&
                         value == "f32") ||
                        (key == "scan.angle_form" && value == "turns");
    // Of an f32 kernel whose place is not seen the bound covers every place.
    const bool assumed = key == "scale_at" && value == "q_f32" &&
                         HasWord(found, key, Word::kAssumed);
    EXPECT_TRUE(value == field.print(right.profile) ||
                value == field.print(base) || strict || assumed)
        << key << " = " << value << " was learned";
  }
  const bool told = HasWord(found, said, Word::kReported) ||
                    HasWord(found, said, Word::kCannotTell);
  EXPECT_TRUE(told) << said << "\n" << IdentifiedText(found);
}

// Whether the judge fails it by that profile on one of the lines.
inline bool FailsBy(const NumericProfile& profile, Candidate& kernel,
                    std::span<const std::string> lines) {
  JudgeOptions options;
  options.profile = profile;
  options.profile_spec = "identified";
  for (const std::string& line : lines) {
    if (JudgeLine(line, kernel, options).verdict == Verdict::kFail) {
      return true;
    }
  }
  return false;
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_IDENTIFY_QUESTIONS_H_
