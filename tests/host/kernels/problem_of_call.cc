// Longer than 400 lines: the calls of every op, read in one place.
#include "tests/host/kernels/problem_of_call.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace lockstep::tests {
namespace {

Lane LaneOf(int32_t type) {
  if (type == LOCKSTEP_F16) return Lane::kF16;
  if (type == LOCKSTEP_E4M3) return Lane::kE4m3;
  if (type == LOCKSTEP_E5M2) return Lane::kE5m2;
  return type == LOCKSTEP_BF16 ? Lane::kBf16 : Lane::kF32;
}

int64_t BytesOf(int32_t type) {
  if (type == LOCKSTEP_U8 || IsFp8(LaneOf(type))) return 1;
  return type == LOCKSTEP_BF16 || type == LOCKSTEP_F16 ? 2 : 4;
}

template <size_t kRank>
void FillAxes(const lockstep_tensor& tensor, std::array<int64_t, kRank>* shape,
              std::array<int64_t, kRank>* strides) {
  for (size_t axis = 0; axis < kRank; ++axis) {
    (*shape)[axis] = tensor.shape[axis];
    (*strides)[axis] = tensor.strides[axis] / BytesOf(tensor.dtype);
  }
}

template <typename T, size_t kRank>
void Set(const lockstep_tensor* tensor, TensorView<T, kRank>* view) {
  if (tensor == nullptr) return;
  view->data = static_cast<T*>(tensor->data);
  FillAxes(*tensor, &view->shape, &view->strides);
}

template <typename Void, size_t kRank>
void Set(const lockstep_tensor* tensor, BasicLaneView<Void, kRank>* view) {
  if (tensor == nullptr) return;
  view->data = tensor->data;
  view->lane = LaneOf(tensor->dtype);
  FillAxes(*tensor, &view->shape, &view->strides);
}

// A pool as [pages, hkv, slot, d].
void SetPool(const lockstep_attention_forward_call& call,
             const lockstep_tensor* pool, LaneView* view) {
  Set(pool, view);
  if (call.page_nhd == 0) return;
  std::swap(view->shape[1], view->shape[2]);
  std::swap(view->strides[1], view->strides[2]);
}

// [heads, tokens] as [1, heads, tokens].
template <typename T>
void SetTokens(const lockstep_tensor* tensor, TensorView<T, 3>* view) {
  if (tensor == nullptr) return;
  TensorView<T, 2> tokens;
  Set(tensor, &tokens);
  const auto& n = tokens.shape;
  const auto& s = tokens.strides;
  *view = {tokens.data, {1, n[0], n[1]}, {0, s[0], s[1]}};
}

// Tokens [tokens, heads, channels] as [1, heads, tokens, channels].
template <typename Void>
void SetTokens(const lockstep_tensor* tensor, BasicLaneView<Void, 4>* view) {
  if (tensor == nullptr) return;
  BasicLaneView<Void, 3> tokens;
  Set(tensor, &tokens);
  const auto& n = tokens.shape;
  const auto& s = tokens.strides;
  *view = {
      tokens.data, tokens.lane, {1, n[1], n[0], n[2]}, {0, s[1], s[0], s[2]}};
}

std::vector<int64_t> IntegersOf(const lockstep_tensor& tensor) {
  TensorView<const int32_t, 1> view;
  Set(&tensor, &view);
  std::vector<int64_t> values;
  for (int64_t n = 0; n < view.shape[0]; ++n) values.push_back(view(n));
  return values;
}

MaskExpr MaskOf(const lockstep_mask& mask, int64_t batch,
                AttentionForwardInputs* inputs) {
  static constexpr MaskExpr::Kind kKinds[] = {
      MaskExpr::Kind::kFull,   MaskExpr::Kind::kCausal,
      MaskExpr::Kind::kWindow, MaskExpr::Kind::kChunked,
      MaskExpr::Kind::kPrefix, MaskExpr::Kind::kSink,
      MaskExpr::Kind::kDense,  MaskExpr::Kind::kAnd,
      MaskExpr::Kind::kOr,     MaskExpr::Kind::kDense};
  const auto side = [](int64_t bound) {
    return bound == LOCKSTEP_NO_BOUND ? kUnlimited : bound;
  };
  MaskExpr expr;
  expr.kind = kKinds[mask.kind - LOCKSTEP_MASK_FULL];
  expr.left = side(mask.left);
  expr.right = side(mask.right);
  expr.chunk = mask.chunk;
  expr.tokens = mask.tokens;
  if (mask.prefix != nullptr) {
    expr.prefix.assign(mask.prefix, mask.prefix + batch);
  }
  if (mask.kind == LOCKSTEP_MASK_BLOCKS) {
    expr.block_q = mask.block_q;
    expr.block_k = mask.block_k;
  }
  if (mask.dense != nullptr) {
    expr.dense = inputs->dense_masks.size();
    Set(mask.dense, &inputs->dense_masks.emplace_back());
  }
  for (int32_t n = 0; n < mask.term_count; ++n) {
    expr.children.push_back(MaskOf(*mask.terms[n], batch, inputs));
  }
  return expr;
}

// The alignment that gives these offsets.
Alignment AlignmentOf(const lockstep_attention_forward_call& call,
                      const AttentionForwardInputs& inputs) {
  const int64_t* begin = call.offset;
  const int64_t* end = begin + call.b;
  if (std::all_of(begin, end, [](int64_t offset) { return offset == 0; })) {
    return {};
  }
  bool right = true;
  for (int64_t b = 0; b < call.b; ++b) {
    const auto row = static_cast<size_t>(b);
    right = right && begin[b] == inputs.valid_kv[row] - inputs.valid_q[row];
  }
  if (right) return {Alignment::Kind::kBottomRight, 0};
  return {Alignment::Kind::kOffset, begin[0]};
}

template <typename T>
void SetCarry(const lockstep_tensor* const (&parts)[4], Mamba3Carry<T>* carry) {
  Set(parts[0], &carry->theta);
  Set(parts[1], &carry->h);
  Set(parts[2], &carry->k);
  Set(parts[3], &carry->v);
  if (parts[0] != nullptr || parts[1] == nullptr) return;
  // Without angles it has no element, and a shape all the same.
  carry->theta.shape = {carry->h.shape[0], carry->h.shape[1], 0};
}

KeyScales ScalesOf(const lockstep_tensor* tensor, int64_t keys,
                   KeyScaleView* view) {
  Set(tensor, view);
  if (tensor == nullptr) return {};
  if (keys > 0) return {ScaleLayout::kBlock, keys};
  return {tensor->shape[1] == 1 ? ScaleLayout::kTensor : ScaleLayout::kHead, 0};
}

void ReadScales(const lockstep_attention_forward_call& call,
                AttentionForwardProblem* problem,
                AttentionForwardInputs* inputs) {
  if (call.kv_lane == 0) return;
  problem->kv_lane = LaneOf(call.kv_lane);
  problem->k_scales =
      ScalesOf(call.k_scale, call.k_scale_keys, &inputs->k_scale);
  problem->v_scales =
      ScalesOf(call.v_scale, call.v_scale_keys, &inputs->v_scale);
}

// All but o and lse.
void ReadAttention(const lockstep_attention_forward_call& call,
                   AttentionForwardProblem* problem,
                   AttentionForwardInputs* inputs) {
  AttentionForwardProblem& p = *problem;
  AttentionForwardInputs& in = *inputs;
  p.batch = call.b;
  p.q_heads = call.hq;
  p.kv_heads = call.hkv;
  p.q_len = call.sq;
  p.kv_len = call.skv;
  p.head_dim = call.d;
  p.value_dim = call.dv;
  p.lane = LaneOf(call.lane);
  p.p_lane = LaneOf(call.p);
  p.scale = call.scale;
  if (call.softcap != 0) p.softcap = call.softcap;
  p.segments = call.q_seg != nullptr;
  p.sink = call.sink != nullptr;
  if (call.varlen != 0) {
    SetTokens(call.q, &in.q);
    SetTokens(call.k, &in.k);
    SetTokens(call.v, &in.v);
  } else {
    Set(call.q, &in.q);
    Set(call.k, &in.k);
    Set(call.v, &in.v);
  }
  p.v_in_k = in.v.data == in.k.data && call.page_size == 0;
  Set(call.q_seg, &in.q_seg);
  Set(call.kv_seg, &in.kv_seg);
  Set(call.sink, &in.sink);
  ReadScales(call, problem, inputs);
  in.valid_q = IntegersOf(*call.valid_q);
  in.valid_kv = IntegersOf(*call.valid_kv);
  p.masks.clear();
  for (int32_t n = 0; n < call.mask_count; ++n) {
    p.masks.push_back(MaskOf(*call.masks[n], call.b, &in));
  }
  p.align = AlignmentOf(call, in);
}

}  // namespace

Status ProblemOf(const lockstep_attention_forward_call& call,
                 AttentionCall* to) {
  ReadAttention(call, &to->problem, &to->inputs);
  if (call.varlen != 0) {
    VarlenRows& rows = to->varlen.emplace();
    Set(call.cu_seqlens_q, &rows.cu_q);
    Set(call.cu_seqlens_k, &rows.cu_kv);
    SetTokens(call.o, &to->outputs.o);
    SetTokens(call.lse, &to->outputs.lse);
    return CheckVarlen(to->problem, to->inputs, rows, to->outputs);
  }
  Set(call.o, &to->outputs.o);
  Set(call.lse, &to->outputs.lse);
  if (call.page_size == 0) {
    return Validate(to->problem, to->inputs, to->outputs);
  }
  KeyPages& pages = to->pages.emplace();
  pages.size = call.page_size;
  SetPool(call, call.k_pages, &pages.k);
  SetPool(call, call.v_pages, &pages.v);
  to->problem.v_in_k = pages.v.data == pages.k.data;
  Set(call.page_table, &pages.table);
  to->inputs.valid_kv = IntegersOf(*call.kv_len);
  to->inputs = WithoutPages(to->inputs, to->problem, pages);
  const Status status = Validate(to->problem, to->inputs, to->outputs);
  return status.ok() ? CheckKeyPages(to->problem, to->inputs, pages) : status;
}

Status ProblemOf(const lockstep_attention_backward_call& call,
                 BackwardCall* to) {
  ReadAttention(*call.forward, &to->problem.forward, &to->inputs.forward);
  to->problem.grad_lane = LaneOf(call.grad);
  to->problem.dlse = call.dlse != nullptr;
  Set(call.dsink, &to->outputs.dsink);
  if (call.forward->varlen != 0) {
    VarlenRows& rows = to->varlen.emplace();
    Set(call.forward->cu_seqlens_q, &rows.cu_q);
    Set(call.forward->cu_seqlens_k, &rows.cu_kv);
    SetTokens(call.forward->o, &to->inputs.o);
    SetTokens(call.forward->lse, &to->inputs.lse);
    SetTokens(call.d_o, &to->inputs.d_o);
    SetTokens(call.dlse, &to->inputs.dlse);
    SetTokens(call.dq, &to->outputs.dq);
    SetTokens(call.dk, &to->outputs.dk);
    SetTokens(call.dv, &to->outputs.dv);
    return CheckVarlen(to->problem, to->inputs, rows, to->outputs);
  }
  Set(call.forward->o, &to->inputs.o);
  Set(call.forward->lse, &to->inputs.lse);
  Set(call.d_o, &to->inputs.d_o);
  Set(call.dlse, &to->inputs.dlse);
  Set(call.dq, &to->outputs.dq);
  Set(call.dk, &to->outputs.dk);
  Set(call.dv, &to->outputs.dv);
  Set(call.own_o, &to->own.o);
  Set(call.own_lse, &to->own.lse);
  return Validate(to->problem, to->inputs, to->outputs);
}

constexpr Mamba3ScanProblem::Runs kRuns[] = {
    Mamba3ScanProblem::Runs::kRows, Mamba3ScanProblem::Runs::kSegments,
    Mamba3ScanProblem::Runs::kCuSeqlens};

namespace {

// All but the outputs.
void ReadScan(const lockstep_mamba3_scan_call& call, Mamba3ScanProblem* problem,
              Mamba3ScanInputs* inputs) {
  Mamba3ScanProblem& p = *problem;
  Mamba3ScanInputs& in = *inputs;
  p.batch = call.b;
  p.length = call.t;
  p.heads = call.h;
  p.groups = call.g;
  p.ranks = call.r;
  p.state_dim = call.n;
  p.head_dim = call.p;
  p.angles = call.s;
  p.variant = call.mimo != 0 ? Mamba3ScanProblem::Variant::kMimo
                             : Mamba3ScanProblem::Variant::kSiso;
  p.lane = LaneOf(call.lane);
  p.rotated_lane = LaneOf(call.rotated);
  p.runs = kRuns[call.runs - LOCKSTEP_RUNS_ROWS];
  p.bias = call.bias != 0;
  p.skip = call.skip != 0;
  p.gate = call.gate != 0;
  p.reduce = call.reduce != 0;
  if (call.norm_weight != nullptr) p.norm_epsilon = call.norm_epsilon;
  p.carry_in = call.carry_in != 0;
  Set(call.q, &in.q);
  Set(call.k, &in.k);
  Set(call.v, &in.v);
  Set(call.a, &in.a);
  Set(call.dt, &in.dt);
  Set(call.tau, &in.tau);
  Set(call.vartheta, &in.vartheta);
  Set(call.bq, &in.bq);
  Set(call.bk, &in.bk);
  Set(call.d, &in.d);
  Set(call.z, &in.z);
  Set(call.psi, &in.psi);
  Set(call.zeta, &in.zeta);
  Set(call.phi, &in.phi);
  Set(call.norm_weight, &in.norm_weight);
  Set(call.segments, &in.segments);
  if (call.cu_seqlens != nullptr) in.cu_seqlens = IntegersOf(*call.cu_seqlens);
  SetCarry({call.init_theta, call.init_h, call.init_k, call.init_v}, &in.carry);
}

}  // namespace

Status ProblemOf(const lockstep_attention_merge_call& call, MergeCall* to) {
  to->problem = {.parts = call.s,
                 .heads = call.h,
                 .rows = call.n,
                 .value_dim = call.dv,
                 .lane = LaneOf(call.lane),
                 .out_lane = LaneOf(call.out),
                 .base = call.base == 2 ? LseBase::kTwo : LseBase::kE};
  Set(call.o_parts, &to->inputs.o);
  Set(call.lse_parts, &to->inputs.lse);
  Set(call.o, &to->outputs.o);
  Set(call.lse, &to->outputs.lse);
  return Validate(to->problem, to->inputs, to->outputs);
}

Status ProblemOf(const lockstep_mamba3_scan_call& call, ScanCall* to) {
  ReadScan(call, &to->problem, &to->inputs);
  Set(call.y, &to->outputs.y);
  SetCarry({call.carry_theta, call.carry_h, call.carry_k, call.carry_v},
           &to->outputs.carry);
  return Validate(to->problem, to->inputs, to->outputs);
}

Status ProblemOf(const lockstep_mamba3_scan_backward_call& call,
                 ScanBackwardCall* to) {
  ReadScan(*call.forward, &to->problem.forward, &to->inputs.forward);
  to->problem.grad_lane = LaneOf(call.grad);
  to->problem.carry_grad = call.carry_grad != 0;
  Set(call.dy, &to->inputs.dy);
  SetCarry({call.dcarry_theta, call.dcarry_h, call.dcarry_k, call.dcarry_v},
           &to->inputs.dcarry);
  Mamba3ScanBackwardOutputs& out = to->outputs;
  Set(call.dv, &out.dv);
  Set(call.dq, &out.dq);
  Set(call.dk, &out.dk);
  Set(call.dtau, &out.dtau);
  Set(call.dvartheta, &out.dvartheta);
  Set(call.dz, &out.dz);
  Set(call.da, &out.da);
  Set(call.ddt, &out.ddt);
  Set(call.dbq, &out.dbq);
  Set(call.dbk, &out.dbk);
  Set(call.dd, &out.dd);
  Set(call.dpsi, &out.dpsi);
  Set(call.dzeta, &out.dzeta);
  Set(call.dphi, &out.dphi);
  Set(call.dnorm_weight, &out.dnorm_weight);
  SetCarry({call.dinit_theta, call.dinit_h, call.dinit_k, call.dinit_v},
           &out.dcarry);
  return Validate(to->problem, to->inputs, out);
}

Status ProblemOf(const lockstep_ssd_scan_call& call, SsdCall* to) {
  SsdScanInputs& in = to->inputs;
  to->problem = {call.b,
                 call.t,
                 call.h,
                 call.g,
                 call.n,
                 call.p,
                 LaneOf(call.lane),
                 kRuns[call.runs - LOCKSTEP_RUNS_ROWS],
                 call.skip != 0,
                 call.gate != 0,
                 call.carry_in != 0};
  Set(call.q, &in.q);
  Set(call.k, &in.k);
  Set(call.v, &in.v);
  Set(call.a, &in.a);
  Set(call.dt, &in.dt);
  Set(call.d, &in.d);
  Set(call.z, &in.z);
  Set(call.init_h, &in.carry);
  Set(call.segments, &in.segments);
  if (call.cu_seqlens != nullptr) in.cu_seqlens = IntegersOf(*call.cu_seqlens);
  Set(call.y, &to->outputs.y);
  Set(call.carry_h, &to->outputs.carry);
  return Validate(to->problem, in, to->outputs);
}

int Refuse(const Status& status, lockstep_receipt* receipt) {
  std::snprintf(receipt->message, sizeof(receipt->message), "%s",
                status.message().c_str());
  return LOCKSTEP_UNSUPPORTED;
}

std::string ArgumentOf(int argc, const char* const* argv, const char* key) {
  const size_t length = std::strlen(key);
  for (int n = 0; n < argc; ++n) {
    const std::string_view word = argv[n];
    if (word.substr(0, length) == key && word.size() > length &&
        word[length] == '=') {
      return std::string(word.substr(length + 1));
    }
  }
  return "";
}

}  // namespace lockstep::tests
