// Why the probes do not ask for a field, so that its value is assumed.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_NOT_ASKED_H_
#define LOCKSTEP_VERIFY_IDENTIFY_NOT_ASKED_H_

#include <string_view>

namespace lockstep::verify {

// Of a key of the profile of a kernel of that op; empty: no reason is known.
std::string_view WhyNotAsked(std::string_view op, std::string_view key);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_NOT_ASKED_H_
