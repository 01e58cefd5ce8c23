// How values of a profile's fields are printed and read.
#ifndef LOCKSTEP_VERIFY_PROFILE_FIELD_VALUES_H_
#define LOCKSTEP_VERIFY_PROFILE_FIELD_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verify/profile/accumulator.h"

namespace lockstep::verify {

// A field's words in the order of its enum.
using Words = std::vector<const char*>;
inline const Words kTypes = {"f32", "bf16", "f16", "case", "tf32"};
inline const Words kWeightTypes = {"f32",  "bf16", "f16",
                                   "case", "tf32", "e4m3"};
// "A B C", without words that are empty.
std::string Join(const Words& words);

// Whether the whole text is a number.
bool ParseNumber(std::string_view text, double* value);
bool ParseInteger(std::string_view text, int64_t* value);

// The other parsers return "" or what would be right. A count of 0 is "any".
std::string PrintCount(int64_t count);
std::string ParseCount(std::string_view text, int64_t* count);
std::string PrintSum(const Accumulator& sum);
std::string ParseSum(std::string_view text, Accumulator* sum);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PROFILE_FIELD_VALUES_H_
