#include "verify/host/call.h"

namespace lockstep::verify::host {

PreparedCall PrepareAttentionMerge(const Library& library,
                                   lockstep_handle* handle, CallReader* in) {
  const auto function = library.attention_merge;
  if (function == nullptr) return {};
  lockstep_attention_merge_call call = {};
  call.size = sizeof(call);
  call.abi = LOCKSTEP_ABI;
  call.case_line = in->case_line();
  call.threads = in->threads();
  call.lane = in->Lane("lane");
  call.out = in->Lane("out");
  call.base = std::string_view(in->Word("base")) == "2" ? 2 : 0;
  call.s = in->Integer("s");
  call.h = in->Integer("h");
  call.n = in->Integer("n");
  call.dv = in->Integer("dv");
  call.o_parts = in->Input("o_parts");
  call.lse_parts = in->Input("lse_parts");
  call.o = in->Output("o");
  call.lse = in->Output("lse");
  return {[=](lockstep_receipt* receipt) {
            const lockstep_attention_merge_call own = call;
            return function(handle, &own, receipt);
          },
          nullptr};
}

}  // namespace lockstep::verify::host
