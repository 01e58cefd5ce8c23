// What the tests of statistics judge, and how: without the other tiers.
#ifndef LOCKSTEP_TESTS_VERIFY_STATISTICS_LINES_H_
#define LOCKSTEP_TESTS_VERIFY_STATISTICS_LINES_H_

#include <cstdint>
#include <string>

#include "tests/verify/judge_line.h"
#include "verify/judge/judge.h"

namespace lockstep::verify {

inline JudgeOptions Quick(const char* profile) {
  JudgeOptions options = With(profile);
  options.probes = options.invariance = options.evidence = false;
  options.canaries = false;
  return options;
}

inline const Finding* Of(const CaseResult& result, Tier tier) {
  for (const Finding& finding : result.findings) {
    if (finding.tier == tier) return &finding;
  }
  return nullptr;
}

// Sinks, documents, grouped heads; logits of deviation 1 far below the cap.
inline std::string Weak(int64_t keys) {
  const std::string half = std::to_string(keys / 2);
  return "attention_forward hq=4 hkv=2 sq=32 skv=" + std::to_string(keys) +
         " d=64 lane=bf16 cap=50 mask=causal align=br q_seg=runs:16,16 "
         "kv_seg=runs:" +
         half + "," + half +
         " fill=qk.normal:0.2+v.normal:1 seed=5 sinklogit=normal:1";
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_STATISTICS_LINES_H_
