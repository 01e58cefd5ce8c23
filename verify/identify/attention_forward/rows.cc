#include "verify/identify/attention_forward/rows.h"

#include <algorithm>

#include "verify/base/elements.h"
#include "verify/identify/attention_forward/kernel.h"

namespace lockstep::verify {

Rows Transposed(const Rows& rows) {
  Rows turned(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) turned[i].push_back(row[i]);
  }
  return turned;
}

Rows Diagonal(const std::vector<float>& x) {
  Rows rows(x.size(), std::vector<float>(x.size(), 0.0f));
  for (size_t i = 0; i < x.size(); ++i) rows[i][i] = x[i];
  return rows;
}

void FillRows(const Rows& rows, int64_t h, const MutableLaneView& view) {
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int64_t c = 0; c < view.shape[3]; ++c) {
      const auto at = static_cast<size_t>(c);
      const double x = at < rows[i].size() ? double{rows[i][at]} : 0;
      SetElement(view, {0, h, static_cast<int64_t>(i), c},
                 BitsOf(view.lane, x));
    }
  }
}

float ElementAt(const LaneView& view, int64_t h, int64_t i, int64_t c) {
  return view.Float(0, h, i, c);
}

Rows RowsAt(const LaneView& view, int64_t h, int64_t rows, int64_t width) {
  Rows all;
  for (int64_t i = 0; i < rows; ++i) {
    auto& row = all.emplace_back();
    for (int64_t c = 0; c < width; ++c) {
      row.push_back(ElementAt(view, h, i, c));
    }
  }
  return all;
}

void SetShape(const AttentionQuestion& question, Lane lane,
              AttentionForwardCase* values) {
  values->q_len = static_cast<int64_t>(question.q.size());
  values->kv_len = static_cast<int64_t>(question.k.size());
  values->head_dim = values->value_dim = static_cast<int64_t>(
      std::max(question.q.front().size(), question.v.front().size()));
  values->lane = lane;
  values->p_lane = lane;
  if (question.v_scale) {
    values->kv_lane = Lane::kE4m3;
    values->v_scale = *question.v_scale;
  }
  values->scale = Number{question.scale};
  if (question.cap) values->softcap = Number{*question.cap};
  if (question.padding > 0) {
    values->valid_kv = {values->kv_len - question.padding};
  }
  if (question.causal_to_the_end) {
    values->mask.kind = MaskExpr::Kind::kCausal;
    values->align.kind = Alignment::Kind::kBottomRight;
  }
}

}  // namespace lockstep::verify
