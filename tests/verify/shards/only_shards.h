// Cases that the law `shard` decides.
#ifndef LOCKSTEP_TESTS_VERIFY_SHARDS_ONLY_SHARDS_H_
#define LOCKSTEP_TESTS_VERIFY_SHARDS_ONLY_SHARDS_H_

#include <string>

#include "verify/judge/judge.h"
#include "verify/judge/verdict.h"

namespace lockstep::verify {

// The law alone decides: there are no draws, probes or canaries.
inline JudgeOptions OnlyShards(JudgeOptions options = {}) {
  options.only_law = "none";
  options.probes = false;
  options.evidence = false;
  options.canaries = false;
  options.max_variations = 0;
  return options;
}

inline std::string WhatWasFound(const CaseResult& result) {
  std::string text = std::string(VerdictName(result.verdict)) + ": ";
  for (const Finding& finding : result.findings) text += finding.message + "; ";
  return text + result.reason;
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_SHARDS_ONLY_SHARDS_H_
