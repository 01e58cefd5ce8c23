#include "verify/ops/mamba3_scan/slice.h"

namespace lockstep::verify {
namespace {

// Tokens of every tensor that has them.
void NarrowTokens(Mamba3ScanInputs* in, int64_t first, int64_t extent) {
  Narrow(&in->q, 1, first, extent);
  Narrow(&in->k, 1, first, extent);
  for (LaneView* x : {&in->v, &in->z, &in->vartheta}) {
    Narrow(x, 1, first, extent);
  }
  Narrow(&in->a, 2, first, extent);
  Narrow(&in->dt, 2, first, extent);
  Narrow(&in->tau, 2, first, extent);
}

void NarrowRow(Mamba3ScanInputs* in, int64_t row) {
  Narrow(&in->q, 0, row, 1);
  Narrow(&in->k, 0, row, 1);
  for (LaneView* x : {&in->v, &in->z, &in->vartheta}) Narrow(x, 0, row, 1);
  Narrow(&in->a, 0, row, 1);
  Narrow(&in->dt, 0, row, 1);
  Narrow(&in->tau, 0, row, 1);
}

void NarrowInputs(Mamba3ScanInputs* in, const HeadRange& heads, int64_t group) {
  const int64_t head = heads.first;
  const int64_t count = heads.end - heads.first;
  Narrow(&in->q, 3, group, 1);
  Narrow(&in->k, 3, group, 1);
  for (LaneView* x : {&in->v, &in->z, &in->vartheta}) Narrow(x, 2, head, count);
  Narrow(&in->a, 1, head, count);
  Narrow(&in->dt, 1, head, count);
  Narrow(&in->tau, 1, head, count);
  for (auto* x : {&in->bq, &in->bk, &in->psi, &in->zeta, &in->phi}) {
    Narrow(x, 0, head, count);
  }
  Narrow(&in->d, 0, head, count);
  Narrow(&in->norm_weight, 0, head, count);
  NarrowHeads(&in->carry, heads);
}

void AsRows(ScanSlice* slice) {
  slice->problem.runs = Mamba3ScanProblem::Runs::kRows;
  slice->inputs.segments = {};
  slice->inputs.cu_seqlens.clear();
}

}  // namespace

void NarrowRuns(Mamba3Carry<const float>* carry, int64_t run) {
  Narrow(&carry->theta, 0, run, 1);
  if (carry->given()) carry->theta.shape[0] = 1;
  Narrow(&carry->h, 0, run, 1);
  Narrow(&carry->k, 0, run, 1);
  Narrow(&carry->v, 0, run, 1);
}

void NarrowHeads(Mamba3Carry<const float>* carry, const HeadRange& heads) {
  const int64_t count = heads.end - heads.first;
  Narrow(&carry->theta, 1, heads.first, count);
  if (carry->given()) carry->theta.shape[1] = count;
  Narrow(&carry->h, 1, heads.first, count);
  Narrow(&carry->k, 2, heads.first, count);
  Narrow(&carry->v, 1, heads.first, count);
}

ScanSlice SliceHeads(const Mamba3ScanProblem& problem,
                     const Mamba3ScanInputs& inputs, const HeadRange& heads) {
  ScanSlice slice{problem, inputs};
  slice.problem.heads = heads.end - heads.first;
  slice.problem.groups = 1;
  NarrowInputs(&slice.inputs, heads, heads.first / problem.group());
  return slice;
}

ScanSlice SliceRun(const Mamba3ScanProblem& problem,
                   const Mamba3ScanInputs& inputs, const reference::Run& at,
                   int64_t run) {
  ScanSlice slice{problem, inputs};
  AsRows(&slice);
  slice.problem.batch = 1;
  slice.problem.length = at.end - at.first;
  NarrowRow(&slice.inputs, at.row);
  NarrowTokens(&slice.inputs, at.first, at.end - at.first);
  NarrowRuns(&slice.inputs.carry, run);
  return slice;
}

ScanSlice SliceHead(const Mamba3ScanProblem& problem,
                    const Mamba3ScanInputs& inputs, int64_t row, int64_t first,
                    int64_t end, int64_t head, int64_t run) {
  const ScanSlice of_run = SliceRun(problem, inputs, {row, first, end}, run);
  return SliceHeads(of_run.problem, of_run.inputs, {head, head + 1});
}

ScanSlice SliceStep(const Mamba3ScanProblem& problem,
                    const Mamba3ScanInputs& inputs, int64_t t,
                    const Mamba3Carry<const float>& carry) {
  ScanSlice slice{problem, inputs};
  AsRows(&slice);
  slice.problem.length = 1;
  slice.problem.carry_in = true;
  NarrowTokens(&slice.inputs, t, 1);
  slice.inputs.carry = carry;
  return slice;
}

}  // namespace lockstep::verify
