// Laws of order: batch rows and heads in another one.
#include <cstdint>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
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

int64_t Same(int64_t n) { return n; }

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

Result<Law> AttentionLaws::Rows() const {
  const AttentionForwardProblem& p = data_.problem;
  Result<AttentionForwardData> data = Clone(data_);
  if (!data.ok()) return data.status();
  const auto row = [&](int64_t b) { return (b + 1) % p.batch; };
  Take(data_.q, row, Same, data->q);
  Take(data_.k, row, Same, data->k);
  Take(data_.v, row, Same, data->v);
  TakeMasks(data_, row, Same, &data.value());
  for (MaskExpr& mask : data->problem.masks) TakePrefixes(p.batch, row, &mask);
  std::vector<LinePair> kept;
  for (int64_t b = 0; b < p.batch; ++b) {
    const int64_t from = row(b);
    for (auto* counts : {&data->inputs.valid_q, &data->inputs.valid_kv}) {
      const auto& own = counts == &data->inputs.valid_q ? data_.inputs.valid_q
                                                        : data_.inputs.valid_kv;
      if (own.empty()) continue;
      (*counts)[static_cast<size_t>(b)] = own[static_cast<size_t>(from)];
    }
    for (int64_t i = 0; p.segments && i < p.q_len; ++i) {
      Ids(data->q_seg, data_.inputs.q_seg)(b, i) = data_.inputs.q_seg(from, i);
    }
    for (int64_t j = 0; p.segments && j < p.kv_len; ++j) {
      Ids(data->kv_seg, data_.inputs.kv_seg)(b, j) =
          data_.inputs.kv_seg(from, j);
    }
    for (int64_t n = 0; n < p.q_heads * p.q_len; ++n) {
      kept.push_back({Line(b, 0, n), Line(from, 0, n)});
    }
  }
  Law law = Of("rows", std::move(data.value()), kept);
  law.structural = true;
  return law;
}

Result<Law> AttentionLaws::Heads() const {
  const AttentionForwardProblem& p = data_.problem;
  Result<AttentionForwardData> data = Clone(data_);
  if (!data.ok()) return data.status();
  const auto key_head = [&](int64_t g) { return (g + 1) % p.kv_heads; };
  const auto head = [&](int64_t h) {
    return key_head(h / p.group()) * p.group() +
           (h % p.group() + 1) % p.group();
  };
  Take(data_.q, Same, head, data->q);
  Take(data_.k, Same, key_head, data->k);
  Take(data_.v, Same, key_head, data->v);
  TakeMasks(data_, Same, head, &data.value());
  std::vector<LinePair> kept;
  auto* sinks = reinterpret_cast<float*>(data->sink.data());
  for (int64_t h = 0; h < p.q_heads; ++h) {
    const int64_t from = head(h);
    if (p.sink) sinks[h] = data_.inputs.sink(from);
    if (p.masks.size() > 1) {
      data->problem.masks[static_cast<size_t>(h)] =
          p.masks[static_cast<size_t>(from)];
    }
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        kept.push_back({Line(b, h, i), Line(b, from, i)});
      }
    }
  }
  return Of("heads", std::move(data.value()), kept);
}

}  // namespace lockstep::verify
