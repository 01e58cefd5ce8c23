#include "verify/host/call.h"

namespace lockstep::verify::host {
namespace {

void ReadCotangents(CallReader* reader,
                    lockstep_mamba3_scan_backward_call* call) {
  CallReader& in = *reader;
  call->dy = in.Input("dy");
  call->dcarry_theta = in.Input("dcarry_theta");
  call->dcarry_h = in.Input("dcarry_h");
  call->dcarry_k = in.Input("dcarry_k");
  call->dcarry_v = in.Input("dcarry_v");
}

void ReadGradients(CallReader* reader,
                   lockstep_mamba3_scan_backward_call* call) {
  CallReader& in = *reader;
  call->dv = in.Output("dv");
  call->dq = in.Output("dq");
  call->dk = in.Output("dk");
  call->dtau = in.Output("dtau");
  call->dvartheta = in.Output("dvartheta");
  call->dz = in.Output("dz");
  call->da = in.Output("da");
  call->ddt = in.Output("ddt");
  call->dbq = in.Output("dbq");
  call->dbk = in.Output("dbk");
  call->dd = in.Output("dd");
  call->dpsi = in.Output("dpsi");
  call->dzeta = in.Output("dzeta");
  call->dphi = in.Output("dphi");
  call->dnorm_weight = in.Output("dnorm_weight");
  call->dinit_theta = in.Output("dinit_theta");
  call->dinit_h = in.Output("dinit_h");
  call->dinit_k = in.Output("dinit_k");
  call->dinit_v = in.Output("dinit_v");
}

}  // namespace

PreparedCall PrepareMamba3ScanBackward(const Library& library,
                                       lockstep_handle* handle,
                                       CallReader* in) {
  const auto function = library.mamba3_scan_backward;
  if (function == nullptr) return {};
  const lockstep_mamba3_scan_call forward = ReadMamba3ScanCall(in);
  lockstep_mamba3_scan_backward_call call = {};
  call.size = sizeof(call);
  call.abi = LOCKSTEP_ABI;
  call.grad = in->Lane("grad");
  call.carry_grad = in->Truth("carry_grad");
  ReadCotangents(in, &call);
  ReadGradients(in, &call);
  return {[=](lockstep_receipt* receipt) {
            lockstep_mamba3_scan_backward_call own = call;
            own.forward = &forward;
            return function(handle, &own, receipt);
          },
          nullptr};
}

}  // namespace lockstep::verify::host
