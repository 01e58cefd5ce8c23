// The cases with bugs that a failing verdict should name.
#ifndef LOCKSTEP_TESTS_POWER_NAMING_ATTENTION_FORWARD_CASES_H_
#define LOCKSTEP_TESTS_POWER_NAMING_ATTENTION_FORWARD_CASES_H_

namespace lockstep::verify {

// The size alone, then with each feature that some bug needs.
inline constexpr const char* kShort[] = {
    "hq=4 sq=128 skv=128 d=64",
    "hq=4 hkv=2 sq=128 skv=128 d=64 cap=5 mask=causal",
    "b=2 hq=4 hkv=2 sq=96 skv=128 d=64 mask=causal&window:20,3 align=br "
    "sinklogit=normal:2",
    "b=2 hq=4 hkv=2 sq=128 skv=128 d=64 mask=causal q_seg=runs:40,88 "
    "kv_seg=runs:40,88",
    "b=2 hq=4 hkv=2 sq=96 skv=128 d=64 mask=causal align=br valid_kv=120,66 "
    "valid_q=90,66",
    "b=2 hq=2 sq=128 skv=128 d=64 mask=chunked:32 align=3",
    "b=2 hq=2 sq=96 skv=128 d=64 mask=prefix:12 align=3",
    "b=2 hq=2 sq=128 skv=128 d=64 mask=causal&(window:8,0|sink:3) "
    "q_seg=runs:60,68 kv_seg=runs:60,68",
    "b=2 hq=4 hkv=2 sq=128 skv=128 d=64 mask=full mask.h1=window:3,0 "
    "mask.h2=causal",
    "hq=2 sq=1 skv=128 d=64 mask=window:9,0 align=br",
    "hq=2 sq=128 skv=128 d=64 mask=random:0.3",
    "hq=2 sq=128 skv=128 d=64 fill=normal:8",
    "hq=4 sq=128 skv=130 d=66 dv=70",
    "hq=4 sq=128 skv=128 d=64 lane=bf16 cap=2",
    "b=2 hq=4 hkv=2 sq=100 skv=128 d=64 valid_kv=120,66 valid_q=100,60",
    "b=2 hq=2 sq=64 skv=128 d=64 valid_kv=0,100",
    "b=2 hq=4 hkv=2 sq=96 skv=128 d=64 mask=causal",
    "b=2 hq=4 hkv=2 sq=128 skv=128 d=64 "
    "q_seg=[ids:0*40,1*30,256*28,0*30;runs:100,28] "
    "kv_seg=[ids:0*30,1*48,256*20,0*30;runs:90,38]",
    "b=2 hq=2 sq=96 skv=128 d=64 mask=prefix:12,40 q_seg=runs:30,66 "
    "kv_seg=runs:30,98",
    "hq=2 sq=96 skv=128 d=64 mask=window:0,0",
    "hq=2 sq=128 skv=20 d=64 mask=window:inf,30 align=br",
    "hq=4 hkv=2 sq=1 skv=128 d=64 mask=causal align=20",
    "hq=4 hkv=2 sq=1 skv=128 d=64 mask=causal align=br",
    "hq=4 sq=128 skv=128 d=64 cap=2.5 sinklogit=normal:4"};
inline constexpr const char* kLong[] = {
    "hq=4 sq=8 skv=4096 d=64",
    "hq=4 hkv=2 sq=8 skv=4096 d=64 cap=5 mask=causal align=br",
    "b=2 hq=4 hkv=2 sq=8 skv=4096 d=64 mask=causal&window:1000,3 align=br "
    "sinklogit=normal:2",
    "b=2 hq=4 hkv=2 sq=8 skv=4096 d=64 mask=causal align=br "
    "q_seg=ids:0*3,1*5 kv_seg=runs:1040,3056",
    "b=2 hq=4 hkv=2 sq=8 skv=4096 d=64 mask=causal align=br "
    "valid_kv=4000,2066 valid_q=6,8",
    "b=2 hq=2 sq=8 skv=4096 d=64 mask=chunked:512 align=1020",
    "b=2 hq=2 sq=8 skv=4096 d=64 mask=prefix:412 align=300",
    "b=2 hq=2 sq=8 skv=4096 d=64 mask=causal&(window:80,0|sink:3) align=br "
    "q_seg=ids:0*3,1*5 kv_seg=runs:1060,3036",
    "b=2 hq=4 hkv=2 sq=8 skv=4096 d=64 mask=full mask.h1=window:300,0 "
    "mask.h2=causal align=br",
    "hq=2 sq=1 skv=4096 d=64 mask=window:900,0 align=br",
    "hq=2 sq=8 skv=4096 d=64 mask=random:0.3",
    "hq=2 sq=8 skv=4096 d=64 fill=normal:8",
    "hq=4 sq=8 skv=4098 d=66 dv=70",
    "hq=4 sq=8 skv=4096 d=64 lane=bf16 cap=2",
    "b=2 hq=4 hkv=2 sq=8 skv=4096 d=64 valid_kv=4000,2066 valid_q=8,5",
    "b=2 hq=2 sq=8 skv=4096 d=64 valid_kv=0,4000",
    "b=2 hq=4 hkv=2 sq=8 skv=4096 d=64 mask=causal",
    "b=2 hq=4 hkv=2 sq=8 skv=4096 d=64 "
    "q_seg=[ids:0*3,1*2,256*2,0*1;runs:5,3] "
    "kv_seg=[ids:0*1000,1*1500,256*700,0*896;runs:2900,1196]",
    "b=2 hq=2 sq=8 skv=4096 d=64 mask=prefix:412,1000 q_seg=runs:3,5 "
    "kv_seg=runs:300,3796",
    "hq=2 sq=8 skv=4096 d=64 mask=window:0,0",
    "hq=2 sq=8 skv=4096 d=64 mask=window:inf,4500 align=-4490",
    "hq=4 hkv=2 sq=1 skv=4096 d=64 mask=causal align=2000",
    "hq=4 hkv=2 sq=1 skv=4096 d=64 mask=causal align=br",
    "hq=4 sq=8 skv=4096 d=64 cap=2.5 sinklogit=normal:4"};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_NAMING_ATTENTION_FORWARD_CASES_H_
