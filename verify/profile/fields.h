// The keys of a profile's text form, in the order they are printed.
#ifndef LOCKSTEP_VERIFY_PROFILE_FIELDS_H_
#define LOCKSTEP_VERIFY_PROFILE_FIELDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "verify/profile/profile.h"

namespace lockstep::verify {

// One key: how it is printed, and read ("" or what would be right).
struct ProfileField {
  const char* key;
  std::string (*print)(const NumericProfile&);
  std::string (*parse)(std::string_view, NumericProfile*);
};

const std::vector<ProfileField>& ProfileFields();
// Whether a profile of its kind, of a scan or of attention, has that key.
bool HasKey(const NumericProfile& profile, std::string_view key);

// What is wrong with a field of scans in another profile.
inline constexpr const char* kNoScan =
    "a scan's profile: start from base = scan-f32 or another of theirs";
// scan.lacks
ProfileField LacksField();
// claims.cc: the claims of a kernel.
ProfileField ClaimsField();
// Those that begin with "grad.".
std::vector<ProfileField> GradFields();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PROFILE_FIELDS_H_
