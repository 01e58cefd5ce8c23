// The judge's verdict on one case, for code that times kernels.
#ifndef LOCKSTEP_BENCH_JUDGE_JOB_H_
#define LOCKSTEP_BENCH_JUDGE_JOB_H_

#include <string>

#include "reference/contract/status.h"
#include "verify/judge/verdict.h"
#include "verify/run/run.h"

namespace lockstep::bench {

// `profile` as typed; empty: what the candidate claims. Errors: usage, or
// interrupted before there was a verdict.
Result<verify::CaseResult> JudgeJob(const verify::Job& job,
                                    const std::string& spec,
                                    const std::string& profile,
                                    verify::RunOptions options);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_JUDGE_JOB_H_
