#include "verify/host/call.h"

namespace lockstep::verify::host {

PreparedCall PrepareSsdScan(const Library& library, lockstep_handle* handle,
                            CallReader* reader) {
  const auto function = library.ssd_scan;
  if (function == nullptr) return {};
  CallReader& in = *reader;
  lockstep_ssd_scan_call call = {};
  call.size = sizeof(call);
  call.abi = LOCKSTEP_ABI;
  call.case_line = in.case_line();
  call.threads = in.threads();
  call.splits = in.splits();
  call.lane = in.Lane("lane");
  call.runs = RunsOf(in.Word("runs"));
  call.skip = in.Truth("skip");
  call.gate = in.Truth("gate");
  call.carry_in = in.Truth("carry_in");
  call.b = in.Integer("b");
  call.t = in.Integer("t");
  call.h = in.Integer("h");
  call.g = in.Integer("g");
  call.n = in.Integer("n");
  call.p = in.Integer("p");
  call.run_count = in.Integer("run_count");
  call.q = in.Input("q");
  call.k = in.Input("k");
  call.v = in.Input("v");
  call.a = in.Input("a");
  call.dt = in.Input("dt");
  call.z = in.Input("z");
  call.d = in.Input("d");
  call.init_h = in.Input("init_h");
  call.segments = in.Input("segments");
  call.cu_seqlens = in.Input("cu_seqlens");
  call.y = in.Output("y");
  call.carry_h = in.Output("carry_h");
  return {[=](lockstep_receipt* receipt) {
            return function(handle, &call, receipt);
          },
          nullptr};
}

}  // namespace lockstep::verify::host
