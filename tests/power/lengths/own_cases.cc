#include "tests/power/lengths/own_cases.h"

#include <string>

namespace lockstep::verify {
namespace {

// Bugs that need what no row of the cover has, with it.
struct OwnCircumstance {
  const char* bug;
  // N: the first half of the keys, M: the other, L: all of them. F: a stride of
  // keys with which the middle one lies behind 2^31 elements.
  const char* text;
  const char* base = "cpu";
};
constexpr OwnCircumstance kOwn[] = {
    {"attn.segments_16bit",
     "d=32 q_seg=ids:0*2,65536*3 kv_seg=ids:0*N,65536*M"},
    {"attn.segments_float",
     "d=32 q_seg=ids:16777216*2,16777217*3 kv_seg=ids:16777216*N,16777217*M"},
    {"attn.first_channels_only", "d=72 dv=16"},
    {"attn.value_channels_only", "d=16 dv=72"},
    {"attn.sink_not_in_max", "d=32 sinklogit=const:200"},
    {"attn.alias_last_channels", "hkv=1 d=40 alias=v_in_k:32"},
    {"attn.alias_off_by_one", "hkv=1 d=40 alias=v_in_k:32"},
    {"attn.alias_rope_part", "hkv=1 d=40 alias=v_in_k:32"},
    {"attn.alias_last_channel", "hkv=1 d=40 alias=v_in_k:32"},
    {"attn.alias_stride_of_v", "hkv=1 d=40 alias=v_in_k:32"},
    {"attn.alias_next_key", "hkv=1 d=40 alias=v_in_k:32"},
    {"attn.alias_head_zero", "d=40 alias=v_in_k:32"},
    {"attn.alias_batch_zero", "b=2 hkv=1 d=40 alias=v_in_k:32"},
    {"attn.alias_stage_reused", "hkv=1 d=40 alias=v_in_k:32"},
    {"attn.alias_scale_of_v", "hkv=1 d=40 alias=v_in_k:16"},
    {"attn.alias_rope_forgotten", "hkv=1 d=40 alias=v_in_k:32"},
    {"attn.alias_scaled_in_place", "hkv=1 d=40 alias=v_in_k:32"},
    {"attn.fp8_k_scale_forgotten", "d=32 kvlane=e4m3 kscale=tensor:0.5"},
    {"attn.fp8_v_scale_forgotten", "d=32 kvlane=e4m3 vscale=tensor:0.5"},
    {"attn.fp8_k_scale_twice", "d=32 kvlane=e5m2 kscale=head:uniform:0.5,0.75"},
    {"attn.fp8_v_scale_twice", "d=32 kvlane=e5m2 vscale=head:uniform:0.5,0.75"},
    {"attn.fp8_k_scale_inverted", "d=32 kvlane=e4m3 kscale=tensor:0.5"},
    {"attn.fp8_v_scale_inverted", "d=32 kvlane=e4m3 vscale=tensor:0.5"},
    {"attn.fp8_scales_exchanged",
     "d=32 kvlane=e4m3 kscale=tensor:0.5 vscale=tensor:2"},
    {"attn.fp8_k_scale_on_v",
     "d=32 kvlane=e4m3 kscale=head:uniform:0.5,1 vscale=head:uniform:2,3"},
    {"attn.fp8_scale_head_zero",
     "d=32 kvlane=e4m3 kscale=head:uniform:0.5,2 vscale=head:uniform:0.5,2"},
    {"attn.fp8_scale_next_head",
     "d=32 kvlane=e5m2 kscale=head:uniform:0.5,2 vscale=head:uniform:0.5,2"},
    {"attn.fp8_scale_batch_zero",
     "b=2 d=32 kvlane=e4m3 kscale=token:uniform:0.5,2 "
     "vscale=token:uniform:0.5,2"},
    {"attn.fp8_scale_next_block",
     "d=32 kvlane=e4m3 kscale=block:128:uniform:0.5,2 "
     "vscale=block:128:uniform:0.5,2"},
    {"attn.fp8_scale_first_block",
     "d=32 kvlane=e4m3 kscale=token:uniform:0.5,2 vscale=token:uniform:0.5,2"},
    {"attn.fp8_block_starts_late",
     "d=32 fill=normal:1+peak:12,64 kvlane=e4m3 "
     "kscale=block:64:uniform:0.5,2 vscale=block:64:uniform:0.5,2"},
    {"attn.fp8_block_ends_early",
     "d=32 kvlane=e5m2 kscale=block:64:uniform:0.5,2 "
     "vscale=block:64:uniform:0.5,2"},
    {"attn.fp8_last_block",
     "d=32 kvlane=e4m3 kscale=block:96:uniform:0.01,4 "
     "vscale=block:96:uniform:0.01,4"},
    {"attn.fp8_block_doubled",
     "d=32 kvlane=e4m3 kscale=block:64:uniform:0.5,2 "
     "vscale=block:64:uniform:0.5,2"},
    {"attn.fp8_k_scale_after_cap",
     "d=32 cap=2 kvlane=e4m3 kscale=token:uniform:0.5,2"},
    {"attn.fp8_v_scale_in_l",
     "d=32 kvlane=e4m3 vscale=token:uniform:0.25,0.75"},
    {"attn.fp8_scale_power_of_two",
     "d=32 kvlane=e4m3 kscale=head:uniform:0.6,0.9 "
     "vscale=head:uniform:0.6,0.9"},
    {"attn.fp8_scale_bf16",
     "d=32 fill=normal:1+peak:40,L kvlane=e4m3 kscale=tensor:0.3"},
    {"attn.fp8_k_bf16",
     "d=32 fill=normal:1+peak:40,L kvlane=e4m3 kscale=tensor:0.3"},
    {"attn.fp8_v_bf16",
     "d=32 mask=window:255,0 align=br kvlane=e4m3 vscale=tensor:0.3 "
     "fill=qk.normal:1+v.const:1"},
    {"attn.fp8_k_rounded_again",
     "d=32 fill=normal:1+peak:40,L kvlane=e4m3 kscale=token:uniform:0.5,2"},
    {"attn.fp8_v_rounded_again",
     "d=32 fill=qk.normal:1+v.const:1 kvlane=e5m2 vscale=tensor:0.3"},
    {"attn.fp8_other_format", "d=32 kvlane=e4m3"},
    {"attn.fp8_fnuz", "d=32 kvlane=e4m3"},
    {"attn.fp8_no_nan", "d=32 fill=normal:1+v.special:0.0001 kvlane=e4m3"},
    {"attn.fp8_k_flushed",
     "d=32 fill=normal:1+k.subnormal:1 kvlane=e4m3 kscale=tensor:64"},
    {"attn.fp8_v_flushed",
     "d=32 fill=normal:1+v.subnormal:1+peak:40,L kvlane=e4m3"},
    {"attn.fp8_subnormals_normal",
     "d=32 fill=normal:1+kv.subnormal:0.5 kvlane=e4m3"},
    {"attn.fp8_pairs_swapped", "d=32 kvlane=e4m3"},
    {"attn.fp8_p_unscaled", "d=32 fill=normal:1+peak:10,L kvlane=e4m3"},
    {"attn.fp8_p_saturates", "d=32 kvlane=e4m3"},
    {"attn.fp8_p_scale_kept", "d=32 kvlane=e4m3"},
    {"attn.fp8_q_scale_forgotten",
     "d=32 kvlane=e4m3 qlane=e4m3 qscale=tensor:0.5"},
    {"attn.fp8_q_scale_twice",
     "d=32 kvlane=e4m3 qlane=e4m3 qscale=head:uniform:0.5,0.75"},
    {"attn.fp8_q_scale_inverted",
     "d=32 kvlane=e4m3 qlane=e4m3 qscale=tensor:0.5"},
    {"attn.fp8_q_scale_of_k",
     "d=32 kvlane=e4m3 kscale=tensor:2 qlane=e4m3 qscale=tensor:0.5"},
    {"attn.fp8_q_scale_of_group",
     "hkv=1 d=32 kvlane=e5m2 qlane=e4m3 qscale=head:uniform:0.5,2"},
    {"attn.fp8_q_scale_next_head",
     "d=32 kvlane=e4m3 qlane=e5m2 qscale=head:uniform:0.5,2"},
    {"attn.fp8_q_scale_batch_zero",
     "b=2 d=32 kvlane=e4m3 qlane=e4m3 qscale=token:uniform:0.5,2"},
    {"attn.fp8_q_scale_next_block",
     "d=32 kvlane=e4m3 qlane=e4m3 qscale=block:2:uniform:0.5,2"},
    {"attn.fp8_q_scale_first_block",
     "d=32 kvlane=e4m3 qlane=e4m3 qscale=token:uniform:0.5,2"},
    {"attn.fp8_q_block_starts_late",
     "d=32 kvlane=e4m3 qlane=e4m3 qscale=block:2:uniform:0.5,2"},
    {"attn.fp8_q_scale_after_cap",
     "d=32 cap=2 kvlane=e4m3 qlane=e4m3 qscale=token:uniform:0.5,2"},
    {"attn.fp8_q_other_format", "d=32 kvlane=e4m3 qlane=e4m3"},
    {"attn.fp8_q_format_of_k", "d=32 kvlane=e4m3 qlane=e5m2"},
    {"attn.fp8_q_no_nan",
     "d=32 fill=normal:1+q.special:0.02 kvlane=e4m3 qlane=e4m3"},
    {"attn.fp8_q_flushed",
     "d=32 fill=normal:1+q.subnormal:1 kvlane=e4m3 qlane=e4m3 "
     "qscale=tensor:64"},
    {"attn.fp8_q_bf16",
     "d=32 fill=normal:1+peak:40,L kvlane=e4m3 qlane=e4m3 qscale=tensor:0.3"},
    {"attn.fp8_q_rounded_again",
     "d=32 kvlane=e4m3 qlane=e4m3 qscale=token:uniform:0.5,2"},
    {"attn.fp8_q_truncated",
     "d=32 kvlane=e4m3 qlane=e4m3 qscale=token:uniform:0.5,2"},
    {"attn.fp8_q_not_saturated",
     "d=32 scale=0.001 fill=normal:1+q.huge:0.01 kvlane=e4m3 qlane=e4m3 "
     "qscale=tensor:4"},
    {"attn.fp8_p_scale_twice", "d=32 lane=bf16 kvlane=e4m3", "fp8-p-e4m3"},
    {"attn.fp8_p_scale_wrong_power", "d=32 lane=bf16 kvlane=e4m3",
     "fp8-p-e4m3"},
    {"attn.fp8_p_scale_in_l", "d=32 lane=bf16 kvlane=e4m3", "fp8-p-e4m3"},
    {"attn.fp8_p_not_saturated", "d=32 lane=bf16 kvlane=e4m3", "fp8-p-e4m3"},
    {"attn.fp8_v_scale_per_tile",
     "d=32 fill=normal:1+v.uniform:1,2 lane=bf16 kvlane=e4m3 "
     "vscale=tensor:0.5",
     "fp8-p-e4m3"},
    {"attn.fp8_v_scale_of_tile",
     "d=32 mask=window:6,0 align=br lane=bf16 kvlane=e4m3 "
     "vscale=block:2:uniform:0.5,8",
     "fp8-scale-in-acc"},
    {"attn.far_query_row", "d=32 strides=q:64/32/1073741824/1"},
    {"attn.far_key_row", "d=32 strides=k:64/32/F/1"},
    {"attn.far_value_row", "d=32 strides=v:64/32/F/1"},
    {"attn.far_batch", "b=2 d=32 strides=q:2147483648/160/32/1"},
    {"attn.far_kv_head", "d=32 strides=k:32/2147483648/32/1"},
    {"attn.far_sum", "b=2 d=32 strides=k:1200000000/1300000000/32/1"},
    {"attn.far_bytes", "d=32 strides=k:32/536870912/32/1"},
    {"attn.far_unsigned", "d=32 strides=v:32/4294967296/32/1"},
    {"attn.far_product_24", "b=2 hkv=1 d=32 strides=k:2147483648/32/32/1"},
    {"attn.far_range", "d=32 strides=v:32/1073741824/32/1"},
    {"attn.far_value_by_key", "d=32 strides=k:32/2147483648/32/1"},
    {"attn.far_output_row", "d=32 strides=o:32/2147483648/32/1"},
    {"attn.far_lse_row", "d=32 strides=o:32/2147483648/32/1"},
    {"attn.far_page_bytes", "d=32 page=64 strides=k:536870912/2048/32/1"},
    {"attn.list_of_next_query", "d=32 mask=index:64"},
    {"attn.list_of_first_query", "d=32 mask=index:64"},
    {"attn.list_kv_head_zero", "d=32 mask=index:64"},
    {"attn.list_axes_swapped", "d=32 mask=index:64"},
    {"attn.list_batch_zero", "b=2 d=32 mask=index:64"},
    {"attn.list_repeats_count", "d=32 mask=index:64"},
    {"attn.list_no_key_last", "d=32 mask=index:64"},
    {"attn.list_last_entry_lost", "d=32 mask=index:64"},
    {"attn.list_whole_vectors", "d=32 mask=index:72"},
    {"attn.list_stage_reused", "d=32 mask=index:64"},
    {"attn.list_alone", "d=32 mask=causal&index:64"},
    {"attn.list_ascending_only", "d=32 mask=index:64"},
    {"attn.list_short_goes_on", "d=32 mask=index:64"},
    {"attn.list_row_stride", "d=32 mask=index:64"},
    {"attn.list_end_passed", "d=32 mask=index:64"},
    {"attn.list_key_narrow", "d=32 mask=index:64"},
    {"attn.page_of_next_row", "b=2 d=32 page=16"},
    {"attn.page_table_row_zero", "b=2 d=32 page=16"},
    {"attn.page_table_transposed", "b=2 d=32 page=16"},
    {"attn.page_entry_next", "d=32 page=16"},
    {"attn.page_key_of_neighbour", "d=32 page=16"},
    {"attn.page_slots_read", "b=2 d=32 page=24 valid_kv=N,M"},
    {"attn.page_entries_followed", "b=2 d=32 page=16 valid_kv=N,M"},
    {"attn.page_length_row_zero", "b=2 d=32 page=16 valid_kv=L,N"},
    {"attn.page_count_floored", "d=32 page=24"},
    {"attn.page_full_last_key", "d=32 page=16"},
    {"attn.page_order_swapped", "d=32 page=16:nhd"},
    {"attn.page_size_doubled", "d=32 page=16"},
    {"attn.page_value_stride", "d=32 dv=16 page=16"},
    {"attn.page_offset_narrow", "d=32 page=1"},
    {"attn.page_shared_written", "b=2 d=32 page=16:share=4"},
    {"attn.varlen_next_token", "b=2 d=32 layout=varlen valid_kv=N,M"},
    {"attn.varlen_key_of_next_row", "b=2 d=32 layout=varlen"},
    {"attn.varlen_query_table", "b=2 d=32 layout=varlen valid_kv=L,N"},
    {"attn.varlen_value_table", "b=2 d=32 layout=varlen valid_kv=L,N"},
    {"attn.varlen_last_row_lost", "b=2 d=32 layout=varlen"},
    {"attn.varlen_empty_shifts", "b=3 d=32 layout=varlen valid_kv=N,0,M"},
    {"attn.varlen_offset_padded",
     "b=2 d=32 mask=causal align=br layout=varlen valid_kv=L,N"},
    {"attn.varlen_max_length", "b=2 d=32 layout=varlen valid_kv=L,N"},
    {"attn.varlen_length_row_zero", "b=2 d=32 layout=varlen valid_kv=L,N"},
    {"attn.varlen_length_next", "b=2 d=32 layout=varlen valid_kv=L,N"},
    {"attn.varlen_tail_read", "b=2 d=32 layout=varlen valid_kv=L,N"},
    {"attn.varlen_padded_start", "b=2 d=32 layout=varlen valid_kv=N,L"},
    {"attn.varlen_last_key_lost", "d=32 layout=varlen"},
    {"attn.varlen_query_early", "b=2 d=32 layout=varlen"},
};

LengthCase OwnCase(const OwnCircumstance& own, int64_t length) {
  std::string line =
      "attention_forward hq=2 sq=5 skv=" + std::to_string(length) + " ";
  for (const char letter : std::string(own.text)) {
    line += letter == 'N'   ? std::to_string(length / 2)
            : letter == 'M' ? std::to_string(length - length / 2)
            : letter == 'L' ? std::to_string(length)
            : letter == 'F' ? std::to_string((int64_t{1} << 32) / length)
                            : std::string(1, letter);
  }
  return {line, own.base, false, own.bug, false};
}

}  // namespace

std::vector<LengthCase> OwnLengthCases(int64_t length) {
  std::vector<LengthCase> cases;
  for (const OwnCircumstance& own : kOwn) cases.push_back(OwnCase(own, length));
  return cases;
}

}  // namespace lockstep::verify
