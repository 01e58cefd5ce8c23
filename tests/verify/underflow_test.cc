// Correct kernels among the subnormal numbers: what underflow takes from them
// is multiplied on by what follows, and no verdict may be a failure for it.
#include <gtest/gtest.h>

#include <string>

#include "tests/verify/judge_line.h"

namespace lockstep::verify {
namespace {

struct Alarm {
  const char* variant;
  const char* line;
};

// Each failed once before an envelope that had forgotten a loss: of the factor
// that ends a reference far below the maximum, of a chunk's decays, of a carry
// given in the middle of a chunk, of a product that is a factor again. Most
// have too few answers left to be trusted, so they cannot be regressions.
constexpr Alarm kAlarms[] = {
    {"flash-lazy-no-split",
     "attention_forward b=3 hq=6 hkv=2 sq=17 skv=13 d=16 lane=bf16 "
     "scale=2 mask=causal valid_kv=13,0,12 fill=int:-3,3 "
     "seed=238150"},
    {"scan-chunk256",
     "mamba3_scan t=1018 h=2 g=2 n=24 p=1 "
     "cu=0,254,911,965,990,1007,1013,1018 seed=632187"},
    {"scan-chunk8",
     "mamba3_scan t=7 h=4 g=2 n=8 p=2 s=1 cu=0,6,6,7 carry=yes "
     "regime=resets tau=signs:20 rate=normal:0.2 seed=330235"},
    {"scan-grad-descending",
     "mamba3_scan_backward t=9 n=8 p=8 norm=1e-05 carry=yes "
     "regime=strong fill=normal:1+zero:1 dy=int:-3,3 seed=593102"},
    {"scan-grad-descending",
     "mamba3_scan_backward b=2 t=9 n=2 p=8 variant=mimo norm=1e-05 "
     "carry=yes regime=strong fill=normal:1+zero:1 dy=int:-3,3 "
     "seed=32658"},
    {"scan-grad-descending",
     "mamba3_scan_backward t=12 n=8 p=8 variant=mimo norm=1e-05 "
     "carry=yes regime=strong fill=normal:1+zero:1 dy=int:-3,3 "
     "seed=318271"},
    {"scan-grad-descending",
     "mamba3_scan_backward b=2 t=12 n=4 p=2 norm=1e-05 carry=yes "
     "regime=strong fill=normal:1+zero:1 dy=int:-3,3 seed=768842"},
    // Products of two tokens in f16, which meet a do that does not decay.
    {"scan-grad-siso-f16-scores",
     "mamba3_scan_backward t=12 n=8 p=5 lane=f16 bias=no skip=no norm=1e-05 "
     "carry=yes regime=strong fill=normal:0.01 grad=f32 dy=int:-3,3 dcarry=yes "
     "seed=575679"},
    // x = psi v, which is rounded, meets a cotangent that a norm made large.
    {"scan-grad",
     "mamba3_scan_backward t=8 h=2 n=1 p=1 variant=mimo norm=1e-05 "
     "regime=short fill=subnormal:1"},
    {"scan-grad",
     "mamba3_scan_backward t=11 h=3 g=3 n=8 p=3 s=1 variant=mimo r=2 skip=no "
     "reduce=yes norm=1e-05 carry=yes pad=16 regime=short "
     "fill=normal:1+subnormal:1 dcarry=yes seed=99442"},
    // What overflows may do so before it meets a small factor.
    {"scan-grad",
     "mamba3_scan_backward t=3 h=2 n=1 p=3 variant=mimo r=2 gate=yes "
     "fill=subnormal:0.2 dy=normal:1+huge:0.1 seed=776068"},
    {"scan-grad",
     "mamba3_scan_backward t=1 n=34 p=106 s=0 gate=yes norm=0.001 carry=yes "
     "regime=long dy=normal:1+huge:0.1 seed=129898"},
    {"scan-grad",
     "mamba3_scan_backward b=2 t=2 h=3 g=3 n=1 p=7 variant=mimo gate=yes "
     "reduce=yes norm=0.001 dy=normal:1+huge:0.1"},
    {"scan-grad",
     "mamba3_scan_backward t=2 n=1 p=3 seg=runs:1,1 fill=k.normal:1073741824 "
     "dy=normal:1+huge:0.1 dcarry=yes seed=804453"},
    {"scan-grad",
     "mamba3_scan_backward b=2 t=3 h=3 g=3 n=1 p=1 variant=mimo gate=yes "
     "fill=huge:0.1 seed=983920"},
    // Operands in a narrow type have its subnormal numbers.
    {"cpu-tf32", "attention_forward sq=1 skv=1 d=1 dv=3 fill=v.subnormal:0.2"},
    {"cpu-bf16-operands",
     "attention_forward sq=1 skv=1 d=1 dv=3 fill=v.subnormal:0.2"},
    {"cpu-tf32",
     "attention_forward hq=3 sq=6 skv=3 d=8 p=bf16 mask=prefix:0 "
     "strides=k:77/25/8/1 fill=normal:1+v.subnormal:0.2 seed=439829"},
    {"cpu-bf16-operands",
     "attention_forward sq=9 skv=50 d=16 scale=1024 "
     "fill=normal:1+k.subnormal:1"},
    // A weight of 0 in binary64, of a score that cancels: it is off by more
    // than it lies below the sink's, so that the kernel's weight may be 1.
    {"cpu-lanes",
     "attention_forward b=3 hq=3 sq=7 skv=7 d=2 kvlane=e4m3 "
     "kscale=head:uniform:1048576,2097152 vscale=block:3:uniform:0.01,0.02 "
     "qlane=e4m3 qscale=head:uniform:1048576,2097152 scale=1 mask=window:inf,6 "
     "q_seg=[ids:0*1,1*1,0*1,1*2,0*2;runs:7;ids:0*3,256*4] "
     "kv_seg=[ids:0*1,1*1,0*1,1*2,0*2;ids:1*2,2*2,1*2,2*1;"
     "ids:0*1,1*3,0*1,1*2] fill=uniform:-4,1 seed=245044 sinklogit=normal:1"},
    {"cpu-pairwise",
     "attention_forward b=3 hq=4 sq=100 skv=1 d=2 kvlane=e4m3 "
     "kscale=token:uniform:16777216,33554432 qlane=e4m3 "
     "qscale=head:uniform:1048576,2097152 scale=0.001 fill=uniform:-4,1 "
     "seed=26 sinklogit=normal:1"},
    {"cpu-base2",
     "attention_forward b=3 hq=4 sq=100 skv=1 d=2 kvlane=e4m3 "
     "kscale=block:3:uniform:4194304,8388608 qlane=e4m3 "
     "qscale=head:uniform:1048576,2097152 scale=1 cap=1e+05 "
     "fill=uniform:-4,1 seed=44 sinklogit=normal:1"},
    {"flash-f16",
     "attention_forward hq=8 sq=2048 skv=1 d=3 dv=2 lane=f16 scale=3e+10 "
     "fill=int:-3,3+tiny:0.4 seed=3 sinklogit=normal:1"},
};

TEST(Underflow, OfCorrectKernelsIsAllowed) {
  for (const Alarm& alarm : kAlarms) {
    const CaseResult result =
        JudgeSpec(alarm.line, std::string("variant:") + alarm.variant);
    EXPECT_NE(result.verdict, Verdict::kFail)
        << alarm.variant << " " << alarm.line << ": " << result.reason;
    EXPECT_GT(result.rows_compared, 0) << alarm.line;
  }
}

}  // namespace
}  // namespace lockstep::verify
