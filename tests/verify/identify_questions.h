// What tests of `lockstep identify` ask a kernel, and look up in the answer.
#ifndef LOCKSTEP_TESTS_VERIFY_IDENTIFY_QUESTIONS_H_
#define LOCKSTEP_TESTS_VERIFY_IDENTIFY_QUESTIONS_H_

#include <gtest/gtest.h>

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
    EXPECT_TRUE(value == field.print(right.profile) ||
                value == field.print(base) || strict)
        << key << " = " << value << " was learned";
  }
  bool told = false;
  for (const FieldEvidence& field : found.fields) {
    told = told || (field.field == said && (field.word == Word::kReported ||
                                            field.word == Word::kCannotTell));
  }
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
