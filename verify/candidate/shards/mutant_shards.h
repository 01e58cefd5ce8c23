// A correct kernel of the zoo that computes a case in shards, and glue that
// puts their answers together, rightly or with a known bug.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_SHARDS_MUTANT_SHARDS_H_
#define LOCKSTEP_VERIFY_CANDIDATE_SHARDS_MUTANT_SHARDS_H_

#include <memory>
#include <string>

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/emulator/mutants_shards/bugs.h"

namespace lockstep::verify {

// Otherwise cut ("kv:2"), and with another kernel of the zoo, than the bug's
// row says; empty: as it says. Errors: the kernel is unknown, or the cut has no
// meaning.
Result<std::unique_ptr<Candidate>> MakeShardedKernel(
    const ShardBug& bug, const std::string& cut = "",
    const std::string& base = "");

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_SHARDS_MUTANT_SHARDS_H_
