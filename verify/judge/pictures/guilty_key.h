// One key that a row's error can be blamed on, where no known bug is named.
#ifndef LOCKSTEP_VERIFY_JUDGE_PICTURES_GUILTY_KEY_H_
#define LOCKSTEP_VERIFY_JUDGE_PICTURES_GUILTY_KEY_H_

#include "verify/judge/pictures/error_picture.h"

namespace lockstep::verify {

// Adds a cause "key 4095" to a fail without causes whose worst row errs as
// another weight of one key alone would make it, and no other key as well; none
// where some key of so many would look like it by chance. From the picture.
void NameKey(CaseResult* failed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_PICTURES_GUILTY_KEY_H_
