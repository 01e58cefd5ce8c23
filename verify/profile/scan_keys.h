// Which keys of a profile count for scans, beside those that begin with
// "scan.".
#ifndef LOCKSTEP_VERIFY_PROFILE_SCAN_KEYS_H_
#define LOCKSTEP_VERIFY_PROFILE_SCAN_KEYS_H_

#include <string>
#include <string_view>

namespace lockstep::verify {

// Whether attention and scans share the key.
bool IsShared(std::string_view key);

// Why a scan's profile has no such key of attention, and what would be right:
// the end of a sentence.
std::string WhyNotOfScans(std::string_view key);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PROFILE_SCAN_KEYS_H_
