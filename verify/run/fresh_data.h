// Inputs that no kernel has seen before. A kernel may know the written cases,
// by a cache or by heart; it does not know these.
#ifndef LOCKSTEP_VERIFY_RUN_FRESH_DATA_H_
#define LOCKSTEP_VERIFY_RUN_FRESH_DATA_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/run/run.h"

namespace lockstep::verify {

// Of which the seeds of fresh cases are made; 0: there are none.
using FreshSeed = uint64_t;

// "random", or 0 ... 2^53 - 1, which JSON keeps. Errors: one line.
Result<FreshSeed> ParseFreshSeed(std::string_view text);

// Behind each job that draws numbers and is expected to pass: the same with
// other seeds, so that half of all seeds are fresh. Cases of a sequence with
// one seed share a seed again. 0: none are added. Errors: more than one run
// takes.
Status AddFreshJobs(FreshSeed seed, std::vector<Job>* jobs);

// Whether the seed decides anything of the case's inputs.
bool DrawsNumbers(const Case& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_FRESH_DATA_H_
