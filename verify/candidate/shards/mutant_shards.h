// A correct kernel of the zoo that computes a case in shards, and glue that
// puts their answers together, rightly or with a known bug.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_SHARDS_MUTANT_SHARDS_H_
#define LOCKSTEP_VERIFY_CANDIDATE_SHARDS_MUTANT_SHARDS_H_

#include <memory>

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/emulator/mutants_shards/bugs.h"

namespace lockstep::verify {

// Errors: the bug's usual kernel is unknown. Borrows the bug.
Result<std::unique_ptr<Candidate>> MakeShardedKernel(const ShardBug& bug);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_SHARDS_MUTANT_SHARDS_H_
