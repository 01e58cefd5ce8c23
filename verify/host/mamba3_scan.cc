#include <string_view>

#include "verify/host/call.h"

namespace lockstep::verify::host {

int32_t RunsOf(std::string_view name) {
  if (name == "segments") return LOCKSTEP_RUNS_SEGMENTS;
  return name == "cu_seqlens" ? LOCKSTEP_RUNS_CU_SEQLENS : LOCKSTEP_RUNS_ROWS;
}

namespace {

void ReadScalars(CallReader* reader, lockstep_mamba3_scan_call* call) {
  CallReader& in = *reader;
  call->case_line = in.case_line();
  call->threads = in.threads();
  call->splits = in.splits();
  call->lane = in.Lane("lane");
  call->rotated = in.Lane("rotated");
  call->mimo = std::string_view(in.Word("variant")) == "mimo" ? 1 : 0;
  call->runs = RunsOf(in.Word("runs"));
  call->bias = in.Truth("bias");
  call->skip = in.Truth("skip");
  call->gate = in.Truth("gate");
  call->reduce = in.Truth("reduce");
  call->carry_in = in.Truth("carry_in");
  call->b = in.Integer("b");
  call->t = in.Integer("t");
  call->h = in.Integer("h");
  call->g = in.Integer("g");
  call->r = in.Integer("r");
  call->n = in.Integer("n");
  call->p = in.Integer("p");
  call->s = in.Integer("s");
  call->run_count = in.Integer("run_count");
  call->output_ranks = in.Integer("output_ranks");
  call->norm_epsilon = in.Real("norm_epsilon", 0);
}

void ReadInputs(CallReader* reader, lockstep_mamba3_scan_call* call) {
  CallReader& in = *reader;
  call->q = in.Input("q");
  call->k = in.Input("k");
  call->v = in.Input("v");
  call->a = in.Input("a");
  call->dt = in.Input("dt");
  call->tau = in.Input("tau");
  call->vartheta = in.Input("vartheta");
  call->z = in.Input("z");
  call->bq = in.Input("bq");
  call->bk = in.Input("bk");
  call->d = in.Input("d");
  call->psi = in.Input("psi");
  call->zeta = in.Input("zeta");
  call->phi = in.Input("phi");
  call->norm_weight = in.Input("norm_weight");
  call->init_theta = in.Input("init_theta");
  call->init_h = in.Input("init_h");
  call->init_k = in.Input("init_k");
  call->init_v = in.Input("init_v");
  call->segments = in.Input("segments");
  call->cu_seqlens = in.Input("cu_seqlens");
}

PreparedCall Prepare(decltype(&lockstep_mamba3_scan) function,
                     lockstep_handle* handle, CallReader* in) {
  if (function == nullptr) return {};
  lockstep_mamba3_scan_call call = ReadMamba3ScanCall(in);
  call.y = in->Output("y");
  call.carry_theta = in->Output("carry_theta");
  call.carry_h = in->Output("carry_h");
  call.carry_k = in->Output("carry_k");
  call.carry_v = in->Output("carry_v");
  return {[=](lockstep_receipt* receipt) {
            return function(handle, &call, receipt);
          },
          nullptr};
}

}  // namespace

lockstep_mamba3_scan_call ReadMamba3ScanCall(CallReader* in) {
  lockstep_mamba3_scan_call call = {};
  call.size = sizeof(call);
  call.abi = LOCKSTEP_ABI;
  ReadScalars(in, &call);
  ReadInputs(in, &call);
  return call;
}

PreparedCall PrepareMamba3Scan(const Library& library, lockstep_handle* handle,
                               CallReader* in) {
  return Prepare(library.mamba3_scan, handle, in);
}

PreparedCall PrepareMamba3Step(const Library& library, lockstep_handle* handle,
                               CallReader* in) {
  return Prepare(library.mamba3_step, handle, in);
}

}  // namespace lockstep::verify::host
