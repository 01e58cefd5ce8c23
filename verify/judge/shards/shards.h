// The law `shard`. A candidate computes a case in parts, each as a separate
// problem. The answers, put together, have to be an answer to the case.
// Meaning: docs/shards.md.
#ifndef LOCKSTEP_VERIFY_JUDGE_SHARDS_SHARDS_H_
#define LOCKSTEP_VERIFY_JUDGE_SHARDS_SHARDS_H_

#include <cstdint>
#include <vector>

#include "verify/judge/laws.h"
#include "verify/judge/verdict.h"
#include "verify/ops/allowed.h"

namespace lockstep::verify {

struct ShardsRequest {
  LawsRequest laws;
  // Of the case, under the profile; null: exact bits, or a rehearsal.
  const AllowedResults* allowed = nullptr;
  // Rows of the case whose merged answers are judged, ascending.
  std::vector<int64_t> rows;
};

// Asks for the shards of the case and judges what they add up to. Adds to
// checks ("law_shard"), runs and findings, and sets result->shards.
//   Requires: the case has the key.
void JudgeShards(const ShardsRequest& request, CaseResult* result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_SHARDS_SHARDS_H_
