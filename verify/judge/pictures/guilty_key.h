// One key that a row's error can be blamed on, where no known bug is named.
#ifndef LOCKSTEP_VERIFY_JUDGE_PICTURES_GUILTY_KEY_H_
#define LOCKSTEP_VERIFY_JUDGE_PICTURES_GUILTY_KEY_H_

#include "verify/judge/pictures/error_picture.h"

namespace lockstep::verify {

// Whether another weight of one key makes this row's error. No other key does
// as well, none does by chance, and the key is not heavy by right.
bool StandsOut(const RowByKey& row, const OutputSpec& output);
// Whether both rows blame one key so, or keys at the same distance from them.
bool BlameAlike(const RowByKey& a, const RowByKey& b, const OutputSpec& output);
// Whether more than the worst row blames its key: half of the other wrong rows
// blame the same, or it is a probe of that key.
bool IsConfirmed(const ErrorPicture& picture);

// Adds a cause "key 4095" to a fail without causes, of a picture whose key is
// confirmed.
void NameKey(CaseResult* failed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_PICTURES_GUILTY_KEY_H_
