// Calls that people serve and train. data/cases/served.cases
// has a line of each.
#include "verify/domain/draws/served.h"

#include <utility>

#include "verify/domain/attention_forward_parts.h"

namespace lockstep::verify {
namespace {

constexpr const char* kServing[] = {
    // Decoding: all keys, a window, keys in pages, keys in fp8.
    "hq=4 hkv={1|2|4} sq=1 skv={1..160} d={64|128} mask=causal align=br",
    "hq=4 hkv=2 sq=1 skv={2..160} d={64|128} "
    "mask=causal&window:{0|1|3|7|16|63},0 align=br",
    "b=2 hq=4 hkv=2 sq=1 skv={33..80} valid_kv=$,{1..33} d=64 page=16{|:nhd} "
    "mask=causal align=br",
    "b=2 hq=4 hkv=2 sq=1 skv={33..80} valid_kv=$,{1..33} d=64 page=16{|:nhd} "
    "mask=causal&window:{3|16|31},0 align=br",
    // As vLLM lays pages: K and V of a block, then those of the next one.
    "b=2 hq=4 hkv=2 sq=1 skv={33..80} valid_kv=$,{1..33} d=64 page=16:nhd "
    "strides=k:4096/64/128/1,v:4096/64/128/1 mask=causal align=br",
    "sq=1 skv={280..400} d=16 page=1 mask=causal align=br",
    "b=2 hq=4 hkv=1 sq=1 skv={17..80} d=64 kvlane={e4m3|e5m2} "
    "kscale=tensor:{0.5|0.02} vscale=tensor:{0.5|2} mask=causal align=br",
    // A few weights beside thousands that matter together.
    "hq=2 hkv=1 sq=1 skv={1500..3000} d=16 {kvlane=e4m3|} "
    "fill=normal:1+v.uniform:1,3+peak:{8|9|10},4096",
    // Speculative decoding.
    "hq=4 hkv=2 sq={2..8} skv={8..130} d=64 mask=causal align=br",
    "hq=4 hkv=2 sq={2..8} skv={8..130} d=64 mask=causal&window:{1|5|16|40},0 "
    "align=br",
    // Prefill: chunks behind others, windows, sinks.
    "hq=2 hkv=1 sq={5..40} skv={40..100} d=64 mask=causal align={0..60}",
    "hq=4 hkv=2 sq={5..40} skv={40..70} d=64 mask=causal&window:{0|3|16|33},0 "
    "align=br cap={none|50}",
    "hq=4 hkv=2 sq={1..20} skv={20..70} d=64 mask=causal&window:{3|16},0 "
    "align=br sinklogit=normal:1",
    "hq=2 hkv=1 sq={1..20} skv={20..70} d=64 "
    "mask=causal&(window:{3|16},0|sink:4) align=br",
    // Eight query heads for a key head, and one key head.
    "hq=16 hkv=2 sq={1..5} skv={9..70} d=64 mask=causal align=br",
    "hq=8 hkv=1 sq={1..5} skv={9..70} d=64 mask=causal align=br",
    // Latents, decoded and as they are expanded; other values.
    "hq={4|16} hkv=1 sq={1|1|2} skv={5..40} d=576 alias=v_in_k:512 mask=causal "
    "align=br",
    "hq=2 hkv=2 sq={4..12} skv={12..24} d=192 dv=128 mask=causal align=br",
    "hq=2 hkv=1 sq={3..12} skv={3..24} d={64|96|128} dv={32|64|80|96|128}",
    // Documents, by ids and end to end; lists of keys among them.
    "hq=2 hkv=1 sq=40 skv=40 d=64 q_seg=runs:{13,27|16,24|1,9,30|39,1} "
    "kv_seg=runs:$ mask=causal",
    "b=3 hq=2 hkv=1 sq=9 skv=33 d=64 layout=varlen valid_q=1,{1..9},1 "
    "valid_kv={1..33},{9..33},{1..33} mask=causal align=br",
    "b=2 hq=2 hkv=1 sq=6 skv=40 d=32 layout=varlen valid_q={1..6},6 "
    "valid_kv=40,{6..40} mask=index:{4|8|16}"};

constexpr const char* kTraining[] = {
    "hq=4 hkv=2 sq={17..40} skv=$ d={64|128} mask=causal",
    "hq=2 hkv=2 sq={17..40} skv=$ d=64",
    "hq=2 hkv=1 sq={17..40} skv=$ d=64 mask=causal&window:{0|3|16|33},0",
    "hq=2 hkv=1 sq={17..40} skv=$ d=64 mask=causal cap={20|50}",
    "hq=2 hkv=1 sq={17..40} skv=$ d=64 mask=causal&window:{3|16},0 "
    "sinklogit=normal:1",
    "hq=8 hkv=1 sq={5..20} skv=$ d=64 mask=causal",
    "hq=16 hkv=2 sq={5..20} skv=$ d=32 mask=causal",
    // Values that are narrower than keys, as of latents and others.
    "hq=2 hkv=1 sq={3..20} skv={3..20} d=128 dv=96",
    "hq=2 hkv=1 sq={3..16} skv=$ d=192 dv=128 mask=causal",
    "hq=2 hkv=1 sq={3..16} skv={3..16} d={64|96|128|256} dv={32|64|80|96|128}",
    // Documents, by ids and end to end; lists of keys among them.
    "hq=2 hkv=1 sq=40 skv=40 d=64 q_seg=runs:{13,27|16,24|1,9,30|39,1} "
    "kv_seg=runs:$ mask=causal",
    "b=3 hq=2 hkv=1 sq=33 skv=33 d=64 layout=varlen valid_q={1..33},0,33 "
    "valid_kv=$,0,33 mask=causal",
    "b=2 hq=2 hkv=1 sq=6 skv=40 d=32 layout=varlen valid_q={1..6},6 "
    "valid_kv=40,{6..40} mask=index:{4|8|16}",
    // A step of ring attention, cross attention, a chunk behind others.
    "hq=2 hkv=2 sq={9..33} skv={9..33} d=64 dlse=normal:1",
    "hq=2 hkv=2 sq={5..20} skv={20..50} d=64 valid_kv={1..20}",
    "hq=2 hkv=1 sq={5..20} skv={20..50} d=64 mask=causal align=br"};

}  // namespace

std::vector<Case> WithServedForward(Draw* draw, const DomainOptions& options,
                                    std::vector<Case> sequence) {
  return WithServed(draw, options, kServing, std::move(sequence));
}

std::vector<Case> WithServedBackward(Draw* draw, const DomainOptions& options,
                                     std::vector<Case> sequence) {
  return WithServed(draw, options, kTraining, std::move(sequence));
}

}  // namespace lockstep::verify
