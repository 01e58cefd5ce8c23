// Trials of attention_backward for tests.
#ifndef LOCKSTEP_TESTS_VERIFY_ATTENTION_BACKWARD_TRIAL_H_
#define LOCKSTEP_TESTS_VERIFY_ATTENTION_BACKWARD_TRIAL_H_

#include <gtest/gtest.h>

namespace lockstep::verify {

// Every feature at once.
inline constexpr const char* kEverything =
    "attention_backward b=2 hq=4 hkv=2 sq=21 skv=26 d=9 dv=5 cap=10 "
    "mask=causal|sink:2 align=br q_seg=runs:9,12 kv_seg=runs:10,16 "
    "valid_q=21,17 valid_kv=26,20 sinklogit=normal:1 dlse=normal:1 seed=3";

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_ATTENTION_BACKWARD_TRIAL_H_
