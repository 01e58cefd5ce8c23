// Laws of order: batch rows and heads in another one.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/ops/attention_forward/laws.h"

namespace lockstep::verify {
namespace {

// Element [b, h, i, c] of `to` becomes [row(b), head(h), i, c] of `from`.
template <class Row, class Head>
void Take(const LaneTensor& from, const Row& row, const Head& head,
          const LaneTensor& to) {
  ForElements(to.view.shape, [&](const At& at) {
    const At source = {row(at[0]), head(at[1]), at[2], at[3]};
    SetElement(to.view, at, ElementBits(from.const_view(), source));
  });
}

// The same of dense masks; axes of one element stay.
template <class Row, class Head>
void TakeMasks(const AttentionForwardData& from, const Row& row,
               const Head& head, AttentionForwardData* to) {
  for (size_t n = 0; n < to->dense_masks.size(); ++n) {
    const auto& source = from.inputs.dense_masks[n];
    const TensorView<uint8_t, 4> target{to->dense_masks[n].data(), source.shape,
                                        source.strides};
    ForElements(source.shape, [&](const At& at) {
      const int64_t b = source.shape[0] == 1 ? 0 : row(at[0]);
      const int64_t h = source.shape[1] == 1 ? 0 : head(at[1]);
      target(at[0], at[1], at[2], at[3]) = source(b, h, at[2], at[3]);
    });
  }
}

// The same of scales (N25) of `made`, which has the memory of `buffer`.
template <class Row, class Head>
void TakeScales(const KeyScaleView& from, const Row& row, const Head& head,
                const GuardedBuffer& buffer) {
  if (from.data == nullptr) return;
  const TensorView<float, 3> to{reinterpret_cast<float*>(buffer.data()),
                                from.shape, from.strides};
  for (int64_t b = 0; b < from.shape[0]; ++b) {
    for (int64_t h = 0; h < from.shape[1]; ++h) {
      const int64_t source_b = from.shape[0] == 1 ? 0 : row(b);
      const int64_t source_h = from.shape[1] == 1 ? 0 : head(h);
      for (int64_t n = 0; n < from.shape[2]; ++n) {
        to(b, h, n) = from(source_b, source_h, n);
      }
    }
  }
}

int64_t Same(int64_t n) { return n; }

// Puts the first of `count` parts of each of `rows` rows behind the others.
void Rotate(int64_t rows, int64_t count, std::vector<int32_t>* table) {
  const int64_t size = std::ssize(*table) / rows;
  for (int64_t b = 0; b < rows; ++b) {
    const auto begin = table->begin() + b * size;
    std::rotate(begin, begin + size / count, begin + size);
  }
}

// Lists of one prefix per batch row, turned like the rows.
template <class Row>
void TakePrefixes(int64_t batch, const Row& row, MaskExpr* mask) {
  if (mask->prefix.size() > 1) {
    const std::vector<int64_t> from = mask->prefix;
    for (int64_t b = 0; b < batch; ++b) {
      mask->prefix[static_cast<size_t>(b)] = from[static_cast<size_t>(row(b))];
    }
  }
  for (MaskExpr& child : mask->children) TakePrefixes(batch, row, &child);
}

}  // namespace

Result<AttentionForwardData> TurnRows(const AttentionForwardData& from) {
  const AttentionForwardProblem& p = from.problem;
  Result<AttentionForwardData> data = Clone(from);
  if (!data.ok()) return data.status();
  const auto row = [&](int64_t b) { return (b + 1) % p.batch; };
  Take(from.q, row, Same, data->q);
  Take(from.k, row, Same, data->k);
  Take(from.v, row, Same, data->v);
  TakeScales(from.inputs.k_scale, row, Same, data->k_scale);
  TakeScales(from.inputs.v_scale, row, Same, data->v_scale);
  TakeScales(from.inputs.q_scale, row, Same, data->q_scale);
  TakeMasks(from, row, Same, &data.value());
  for (MaskExpr& mask : data->problem.masks) TakePrefixes(p.batch, row, &mask);
  const auto turn = [&](const std::vector<int64_t>& own,
                        std::vector<int64_t>* counts) {
    for (size_t b = 0; b < own.size(); ++b) {
      (*counts)[b] = own[static_cast<size_t>(row(static_cast<int64_t>(b)))];
    }
  };
  turn(from.inputs.valid_q, &data->inputs.valid_q);
  turn(from.inputs.valid_kv, &data->inputs.valid_kv);
  if (data->pages) Rotate(1, p.batch, &data->pages->given);
  // A kernel may add in the order of its list.
  if (data->lists) Rotate(1, p.batch, &data->lists->given);
  for (int64_t b = 0; p.segments && b < p.batch; ++b) {
    for (int64_t i = 0; i < p.q_len; ++i) {
      Ids(data->q_seg, from.inputs.q_seg)(b, i) = from.inputs.q_seg(row(b), i);
    }
    for (int64_t j = 0; j < p.kv_len; ++j) {
      Ids(data->kv_seg, from.inputs.kv_seg)(b, j) =
          from.inputs.kv_seg(row(b), j);
    }
  }
  return data;
}

Result<Law> AttentionLaws::Rows() const {
  const AttentionForwardProblem& p = data_.problem;
  ASSIGN_OR_RETURN(AttentionForwardData data, TurnRows(data_));
  std::vector<LinePair> kept;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t n = 0; n < p.q_heads * p.q_len; ++n) {
      kept.push_back({Line(b, 0, n), Line((b + 1) % p.batch, 0, n)});
    }
  }
  Law law = Of("rows", std::move(data), kept);
  law.structural = true;
  return law;
}

int64_t TurnedHead(const AttentionForwardProblem& p, int64_t h, bool inside) {
  const int64_t key_head = (h / p.group() + 1) % p.kv_heads;
  return key_head * p.group() + (h % p.group() + (inside ? 1 : 0)) % p.group();
}

Result<AttentionForwardData> TurnHeads(const AttentionForwardData& from,
                                       bool inside) {
  const AttentionForwardProblem& p = from.problem;
  Result<AttentionForwardData> data = Clone(from);
  if (!data.ok()) return data.status();
  const auto key_head = [&](int64_t g) { return (g + 1) % p.kv_heads; };
  const auto head = [&](int64_t h) { return TurnedHead(p, h, inside); };
  Take(from.q, Same, head, data->q);
  Take(from.k, Same, key_head, data->k);
  Take(from.v, Same, key_head, data->v);
  TakeScales(from.inputs.k_scale, Same, key_head, data->k_scale);
  TakeScales(from.inputs.v_scale, Same, key_head, data->v_scale);
  TakeScales(from.inputs.q_scale, Same, head, data->q_scale);
  TakeMasks(from, Same, head, &data.value());
  if (data->lists) Rotate(p.batch, p.kv_heads, &data->lists->given);
  auto* sinks = reinterpret_cast<float*>(data->sink.data());
  for (int64_t h = 0; h < p.q_heads; ++h) {
    if (p.sink) sinks[h] = from.inputs.sink(head(h));
    if (p.masks.size() > 1) {
      data->problem.masks[static_cast<size_t>(h)] =
          p.masks[static_cast<size_t>(head(h))];
    }
  }
  return data;
}

Result<Law> AttentionLaws::Heads() const {
  const AttentionForwardProblem& p = data_.problem;
  ASSIGN_OR_RETURN(AttentionForwardData data, TurnHeads(data_, true));
  std::vector<LinePair> kept;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        kept.push_back({Line(b, h, i), Line(b, TurnedHead(p, h, true), i)});
      }
    }
  }
  return Of("heads", std::move(data), kept);
}

}  // namespace lockstep::verify
