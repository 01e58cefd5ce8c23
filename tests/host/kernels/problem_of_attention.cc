// Calls of attention, of its gradients, and of merges as problems.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tests/host/kernels/problem_of_call.h"
#include "tests/host/kernels/views_of_call.h"

namespace lockstep::tests {
namespace {

// Views a pool as [pages, hkv, slot, d].
void SetPool(const lockstep_attention_forward_call& call,
             const lockstep_tensor* pool, LaneView* view) {
  Set(pool, view);
  if (call.page_nhd == 0) return;
  std::swap(view->shape[1], view->shape[2]);
  std::swap(view->strides[1], view->strides[2]);
}

// Views [heads, tokens] as [1, heads, tokens].
template <typename T>
void SetTokens(const lockstep_tensor* tensor, TensorView<T, 3>* view) {
  if (tensor == nullptr) return;
  TensorView<T, 2> tokens;
  Set(tensor, &tokens);
  const auto& n = tokens.shape;
  const auto& s = tokens.strides;
  *view = {tokens.data, {1, n[0], n[1]}, {0, s[0], s[1]}};
}

// Views [tokens, heads, channels] as [1, heads, tokens, channels].
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

// The mask of the lists, for every query head.
void SetListed(const lockstep_attention_forward_call& call,
               const TensorView<const int32_t, 4>& lists, MadeMasks* made,
               TensorView<const uint8_t, 4>* view) {
  view->shape = {call.b, call.hq, call.sq, call.skv};
  view->strides = DenseStrides(view->shape);
  const auto size = static_cast<size_t>(call.b * view->strides[0]);
  std::vector<uint8_t>& bits = made->emplace_back(size);
  view->data = bits.data();
  size_t row = 0;
  for (int64_t b = 0; b < call.b; ++b) {
    for (int64_t h = 0; h < call.hq; ++h) {
      for (int64_t i = 0; i < call.sq; ++i) {
        for (int64_t n = 0; n < lists.shape[3]; ++n) {
          const int32_t key = lists(b, h / (call.hq / call.hkv), i, n);
          if (key < 0) break;
          bits[row + static_cast<size_t>(key)] = 1;
        }
        row += static_cast<size_t>(call.skv);
      }
    }
  }
}

MaskExpr MaskOf(const lockstep_mask& mask,
                const lockstep_attention_forward_call& call,
                AttentionForwardInputs* inputs, MadeMasks* made) {
  static constexpr MaskExpr::Kind kKinds[] = {
      MaskExpr::Kind::kFull,   MaskExpr::Kind::kCausal,
      MaskExpr::Kind::kWindow, MaskExpr::Kind::kChunked,
      MaskExpr::Kind::kPrefix, MaskExpr::Kind::kSink,
      MaskExpr::Kind::kDense,  MaskExpr::Kind::kAnd,
      MaskExpr::Kind::kOr,     MaskExpr::Kind::kDense,
      MaskExpr::Kind::kDense};
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
    expr.prefix.assign(mask.prefix, mask.prefix + call.b);
  }
  if (mask.kind == LOCKSTEP_MASK_BLOCKS) {
    expr.block_q = mask.block_q;
    expr.block_k = mask.block_k;
  }
  if (mask.dense != nullptr) {
    expr.dense = inputs->dense_masks.size();
    Set(mask.dense, &inputs->dense_masks.emplace_back());
  }
  if (mask.indices != nullptr) {
    expr.dense = inputs->dense_masks.size();
    TensorView<const int32_t, 4> lists;
    Set(mask.indices, &lists);
    SetListed(call, lists, made, &inputs->dense_masks.emplace_back());
  }
  for (int32_t n = 0; n < mask.term_count; ++n) {
    expr.children.push_back(MaskOf(*mask.terms[n], call, inputs, made));
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
  if (call.q_lane == 0) return;
  problem->q_lane = LaneOf(call.q_lane);
  problem->q_scales =
      ScalesOf(call.q_scale, call.q_scale_queries, &inputs->q_scale);
}

ProductOrder OrderOf(std::string_view name) {
  for (const auto order :
       {ProductOrder::kAmx, ProductOrder::kAmpere, ProductOrder::kHopper}) {
    if (name == OrderName(order)) return order;
  }
  return ProductOrder::kChain;
}

// Fills all but o and lse.
void ReadAttention(const lockstep_attention_forward_call& call,
                   AttentionForwardProblem* problem,
                   AttentionForwardInputs* inputs, MadeMasks* made) {
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
  p.order = OrderOf(call.order);
  p.split = std::max<int64_t>(call.split, 1);
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
    p.masks.push_back(MaskOf(*call.masks[n], call, &in, made));
  }
  p.align = AlignmentOf(call, in);
}

}  // namespace

Status ProblemOf(const lockstep_attention_forward_call& call,
                 AttentionCall* to) {
  ReadAttention(call, &to->problem, &to->inputs, &to->made);
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
  ReadAttention(*call.forward, &to->problem.forward, &to->inputs.forward,
                &to->made);
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
    SetTokens(call.own_o, &to->own.o);
    SetTokens(call.own_lse, &to->own.lse);
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

}  // namespace lockstep::tests
