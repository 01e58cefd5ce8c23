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

// How such a kernel differs from the catalogue's; empty: it does not.
struct ShardedAs {
  std::string shard;  // "kv:2"
  std::string usual;  // of the zoo
};

// Errors: the usual kernel is unknown, or the cut has no meaning.
Result<std::unique_ptr<Candidate>> MakeShardedKernel(const ShardBug& bug,
                                                     const ShardedAs& as = {});

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_SHARDS_MUTANT_SHARDS_H_
