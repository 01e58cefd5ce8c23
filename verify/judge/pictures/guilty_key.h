// One key that a row's error can be blamed on, where no known bug is named.
#ifndef LOCKSTEP_VERIFY_JUDGE_PICTURES_GUILTY_KEY_H_
#define LOCKSTEP_VERIFY_JUDGE_PICTURES_GUILTY_KEY_H_

#include "verify/judge/pictures/error_picture.h"

namespace lockstep::verify {

// Whether another weight of one key, of no other as well and of none by chance,
// makes this row's error: one that is not heavy by right.
bool StandsOut(const RowByKey& row, const OutputSpec& output);
// Whether both rows blame one key so, or keys at the same distance from them.
bool BlameAlike(const RowByKey& a, const RowByKey& b, const OutputSpec& output);
// Whether the worst row's key is to blame by more than that row: half of the
// other wrong rows say the same, or it is a probe of that key.
bool IsConfirmed(const ErrorPicture& picture);

// Adds a cause "key 4095" to a fail without causes, of a picture whose key is
// confirmed.
void NameKey(CaseResult* failed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_PICTURES_GUILTY_KEY_H_
