#include "verify/host/call.h"

namespace lockstep::verify::host {

PreparedCall PrepareAttentionBackward(const Library& library,
                                      lockstep_handle* handle, CallReader* in) {
  const auto function = library.attention_backward;
  if (function == nullptr) return {};
  lockstep_attention_forward_call forward = ReadAttentionCall(in);
  forward.o = in->Input("o");
  forward.lse = in->Input("lse");
  lockstep_attention_backward_call call = {};
  call.size = sizeof(call);
  call.abi = LOCKSTEP_ABI;
  call.grad = in->Lane("grad");
  call.d_o = in->Input("do");
  call.dlse = in->Input("dlse");
  call.dq = in->Output("dq");
  call.dk = in->Output("dk");
  call.dv = in->Output("dv");
  call.dsink = in->Output("dsink");
  call.own_o = in->Output("own_o");
  call.own_lse = in->Output("own_lse");
  return {[=](lockstep_receipt* receipt) {
            lockstep_attention_backward_call own = call;
            own.forward = &forward;
            return function(handle, &own, receipt);
          },
          nullptr};
}

}  // namespace lockstep::verify::host
