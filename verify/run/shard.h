// Which part of a run is this process's: as given, or as the scheduler says.
#ifndef LOCKSTEP_VERIFY_RUN_SHARD_H_
#define LOCKSTEP_VERIFY_RUN_SHARD_H_

#include <string_view>

#include "reference/contract/status.h"
#include "verify/run/run.h"

namespace lockstep::verify {

// "i/N", or "auto": the environment of a SLURM array, a Kubernetes indexed Job
// (with LOCKSTEP_SHARDS, which it does not tell), Bazel or GoogleTest shards,
// an MPI launcher. Errors: no number, no scheduler, out of range.
Result<Shard> ResolveShard(std::string_view text);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_SHARD_H_
