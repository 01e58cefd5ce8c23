#include "verify/ops/mamba3_scan/slice.h"

#include <cstddef>

namespace lockstep::verify {
namespace {

// Elements `first` .. `first + extent` - 1 along one axis.
template <typename T, size_t kRank>
void Narrow(TensorView<T, kRank>* view, size_t axis, int64_t first,
            int64_t extent) {
  if (view->data == nullptr) return;
  view->data += first * view->strides[axis];
  view->shape[axis] = extent;
}

template <size_t kRank>
void Narrow(BasicLaneView<const void, kRank>* view, size_t axis, int64_t first,
            int64_t extent) {
  if (view->data == nullptr) return;
  const int64_t bytes =
      first * view->strides[axis] * static_cast<int64_t>(LaneBytes(view->lane));
  view->data = static_cast<const char*>(view->data) + bytes;
  view->shape[axis] = extent;
}

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

void NarrowHead(Mamba3ScanInputs* in, int64_t head, int64_t group) {
  Narrow(&in->q, 3, group, 1);
  Narrow(&in->k, 3, group, 1);
  for (LaneView* x : {&in->v, &in->z, &in->vartheta}) Narrow(x, 2, head, 1);
  Narrow(&in->a, 1, head, 1);
  Narrow(&in->dt, 1, head, 1);
  Narrow(&in->tau, 1, head, 1);
  for (auto* x : {&in->bq, &in->bk, &in->psi, &in->zeta, &in->phi}) {
    Narrow(x, 0, head, 1);
  }
  Narrow(&in->d, 0, head, 1);
  Narrow(&in->norm_weight, 0, head, 1);
}

void NarrowCarry(Mamba3Carry<const float>* carry, int64_t run, int64_t head) {
  Narrow(&carry->theta, 0, run, 1);
  Narrow(&carry->theta, 1, head, 1);
  Narrow(&carry->h, 0, run, 1);
  Narrow(&carry->h, 1, head, 1);
  Narrow(&carry->k, 0, run, 1);
  Narrow(&carry->k, 2, head, 1);
  Narrow(&carry->v, 0, run, 1);
  Narrow(&carry->v, 1, head, 1);
}

void AsRows(ScanSlice* slice) {
  slice->problem.runs = Mamba3ScanProblem::Runs::kRows;
  slice->inputs.segments = {};
  slice->inputs.cu_seqlens.clear();
}

}  // namespace

ScanSlice SliceHead(const Mamba3ScanProblem& problem,
                    const Mamba3ScanInputs& inputs, int64_t row, int64_t first,
                    int64_t end, int64_t head, int64_t run) {
  ScanSlice slice{problem, inputs};
  AsRows(&slice);
  slice.problem.batch = slice.problem.heads = slice.problem.groups = 1;
  slice.problem.length = end - first;
  NarrowRow(&slice.inputs, row);
  NarrowTokens(&slice.inputs, first, end - first);
  NarrowHead(&slice.inputs, head, head / problem.group());
  NarrowCarry(&slice.inputs.carry, run, head);
  return slice;
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
