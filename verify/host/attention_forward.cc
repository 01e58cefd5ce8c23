#include <string_view>

#include "verify/host/call.h"

namespace lockstep::verify::host {

lockstep_attention_forward_call ReadAttentionCall(CallReader* reader) {
  CallReader& in = *reader;
  lockstep_attention_forward_call call = {};
  call.size = sizeof(call);
  call.abi = LOCKSTEP_ABI;
  call.case_line = in.case_line();
  call.threads = in.threads();
  call.splits = in.splits();
  call.lane = in.Lane("lane");
  call.p = in.Lane("p");
  call.b = in.Integer("b");
  call.hq = in.Integer("hq");
  call.hkv = in.Integer("hkv");
  call.sq = in.Integer("sq");
  call.skv = in.Integer("skv");
  call.d = in.Integer("d");
  call.dv = in.Integer("dv");
  call.scale = in.Real("scale", 0);
  call.softcap = in.Real("softcap", 0);
  call.offset = in.Integers("offset");
  const auto& masks = in.Masks();
  call.masks = masks.data();
  call.mask_count = static_cast<int32_t>(masks.size());
  call.q = in.Input("q");
  call.k = in.Input("k");
  call.v = in.Input("v");
  call.valid_q = in.Input("valid_q");
  call.valid_kv = in.Input("valid_kv");
  call.q_seg = in.Input("q_seg");
  call.kv_seg = in.Input("kv_seg");
  call.sink = in.Input("sink");
  call.mask_dense = in.Input("mask.dense");
  call.mask_bias = in.Input("mask.bias");
  call.doc_ids = in.Input("doc_ids");
  call.cu_seqlens_q = in.Input("cu_seqlens_q");
  call.cu_seqlens_k = in.Input("cu_seqlens_k");
  call.max_seqlen_q = in.Integer("max_seqlen_q");
  call.max_seqlen_k = in.Integer("max_seqlen_k");
  call.page_size = in.Integer("page_size");
  call.page_nhd =
      call.page_size > 0 && std::string_view(in.Word("page_order")) == "nhd";
  call.k_pages = in.Input("k_pages");
  call.v_pages = in.Input("v_pages");
  call.page_table = in.Input("page_table");
  call.kv_len = in.Input("kv_len");
  call.varlen = in.Integer("varlen") != 0 ? 1 : 0;
  call.k_scale = in.Input("k_scale");
  call.v_scale = in.Input("v_scale");
  call.k_scale_keys = in.Integer("k_scale_keys");
  call.v_scale_keys = in.Integer("v_scale_keys");
  const std::string_view kv_lane = in.Word("kvlane");
  if (kv_lane == "e4m3") call.kv_lane = LOCKSTEP_E4M3;
  if (kv_lane == "e5m2") call.kv_lane = LOCKSTEP_E5M2;
  call.q_scale = in.Input("q_scale");
  call.q_scale_queries = in.Integer("q_scale_queries");
  const std::string_view q_lane = in.Word("qlane");
  if (q_lane == "e4m3") call.q_lane = LOCKSTEP_E4M3;
  if (q_lane == "e5m2") call.q_lane = LOCKSTEP_E5M2;
  call.order = in.Word("order");
  call.split = in.Integer("split");
  const auto& tables = in.Tables();
  call.tables = tables.data();
  call.table_count = static_cast<int64_t>(tables.size());
  return call;
}

PreparedCall PrepareAttentionForward(const Library& library,
                                     lockstep_handle* handle, CallReader* in) {
  const auto function = library.attention_forward;
  if (function == nullptr) return {};
  lockstep_attention_forward_call call = ReadAttentionCall(in);
  call.o = in->Output("o");
  call.lse = in->Output("lse");
  return {[=](lockstep_receipt* receipt) {
            return function(handle, &call, receipt);
          },
          nullptr};
}

}  // namespace lockstep::verify::host
