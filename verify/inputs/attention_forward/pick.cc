// Longer than 400 lines: one walk through all that a case holds.
#include "verify/inputs/attention_forward/pick.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward/pick_masks.h"
#include "verify/inputs/picks/picked.h"

namespace lockstep::verify {
namespace {

std::vector<int64_t> CountTo(int64_t n) {
  std::vector<int64_t> list(static_cast<size_t>(n));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

int64_t SizeOf(const std::vector<int64_t>& list) {
  return static_cast<int64_t>(list.size());
}

// The same number times a factor, where that is one.
uint32_t Times(Lane lane, uint32_t bits, double factor) {
  const uint32_t other = BitsOf(lane, factor * ElementValue(lane, bits));
  return std::isfinite(ElementValue(lane, other)) ? other : bits;
}

// Positions first .. first + count - 1 of the source, and padding behind them.
struct Stretch {
  int64_t first = 0;
  int64_t count = 0;
  int64_t padding = 0;

  bool LiesIn(int64_t length) const {
    return first >= 0 && count >= 1 && first <= length - count && padding >= 0;
  }

  int64_t size() const { return count + padding; }
  bool Pads(int64_t i) const { return i >= count; }
  int64_t From(int64_t i) const { return first + i % count; }
};

Result<LaneTensor> PickRows(const LaneTensor& from,
                            const std::vector<int64_t>& rows,
                            const std::vector<int64_t>& heads,
                            const Stretch& at, double factor, Layout layout) {
  if (!AreAmong(rows, from.view.shape[0]) ||
      !AreAmong(heads, from.view.shape[1]) || !at.LiesIn(from.view.shape[2])) {
    return NoSuchPart();
  }
  const std::array<int64_t, 4> shape = {SizeOf(rows), SizeOf(heads), at.size(),
                                        from.view.shape[3]};
  Result<LaneTensor> to = AllocateLaneTensor(from.view.lane, shape,
                                             LayoutStrides(layout, shape), 0);
  if (!to.ok()) return to;
  ForElements(shape, [&](const At& e) {
    const At source = {rows[static_cast<size_t>(e[0])],
                       heads[static_cast<size_t>(e[1])], at.From(e[2]), e[3]};
    const uint32_t bits = ElementBits(from.const_view(), source);
    SetElement(to->view, e,
               at.Pads(e[2]) ? Times(from.view.lane, bits, factor) : bits);
  });
  return to;
}

// Lists of one prefix per batch row.
void PickPrefixes(const std::vector<int64_t>& rows, MaskExpr* mask) {
  if (mask->prefix.size() > 1) {
    const std::vector<int64_t> from = mask->prefix;
    mask->prefix.clear();
    for (const int64_t b : rows) {
      mask->prefix.push_back(from[static_cast<size_t>(b)]);
    }
  }
  for (MaskExpr& child : mask->children) PickPrefixes(rows, &child);
}

// Runs of the positions of a stretch; padding belongs to the first run.
std::vector<SegmentRun> CutRuns(const std::vector<SegmentRun>& runs,
                                const Stretch& at) {
  std::vector<SegmentRun> cut;
  const auto add = [&](int32_t id, int64_t length) {
    if (length <= 0) return;
    if (!cut.empty() && cut.back().id == id) {
      cut.back().length += length;
    } else {
      cut.push_back({id, length});
    }
  };
  int64_t begin = 0;
  for (const SegmentRun& run : runs) {
    const int64_t end = begin + run.length;
    add(run.id, std::min(end, at.first + at.count) - std::max(begin, at.first));
    begin = end;
  }
  if (!cut.empty()) add(cut.front().id, at.padding);
  return cut;
}

class AttentionPicker {
 public:
  AttentionPicker(const AttentionForwardData& from, const AttentionPick& pick,
                  AttentionForwardCase* to)
      : from_(from),
        pick_(pick),
        to_(*to),
        queries_{pick.first_query, pick.queries, pick.padding},
        keys_{pick.first_key, pick.keys, pick.padding},
        masks_(from, pick) {}

  void Describe() {
    DescribeProblem();
    DescribeCase();
  }

  // Says whether the source has all that is picked.
  bool Exists() const {
    const AttentionForwardProblem& p = from_.problem;
    return AreAmong(pick_.rows, p.batch) &&
           AreAmong(pick_.q_heads, p.q_heads) &&
           AreAmong(pick_.kv_heads, p.kv_heads) &&
           SizeOf(pick_.q_heads) % SizeOf(pick_.kv_heads) == 0 &&
           queries_.LiesIn(p.q_len) && keys_.LiesIn(p.kv_len);
  }

  Result<AttentionForwardData> Run() {
    if (!Exists()) return NoSuchPart();
    Describe();
    CutMasks();
    Status status = Take(from_.q, pick_.q_heads, queries_, &data_.q);
    if (status.ok()) status = Take(from_.k, pick_.kv_heads, keys_, &data_.k);
    if (status.ok() && !from_.problem.v_in_k) {
      status = Take(from_.v, pick_.kv_heads, keys_, &data_.v);
    }
    if (status.ok()) status = TakeIds();
    if (status.ok()) status = TakeSink();
    if (status.ok()) status = TakeScales();
    if (status.ok()) status = TakeMasks();
    if (!status.ok()) return status;
    data_.inputs.q = data_.q.const_view();
    data_.inputs.k = data_.k.const_view();
    data_.inputs.v = data_.v.const_view();
    if (from_.problem.v_in_k) PutValuesInKeys(&data_);
    data_.lists = from_.lists;  // its mask says which lists still stand
    TakePages();
    if (to_.layout == Layout::kVarlen) data_.varlen = from_.varlen;
    return std::move(data_);
  }

 private:
  bool WholeLength() const {
    const AttentionForwardProblem& p = from_.problem;
    return pick_.first_query == 0 && pick_.queries == p.q_len &&
           pick_.first_key == 0 && pick_.keys == p.kv_len;
  }

  // Of a part: the picked queries' place among the picked keys.
  Alignment PartAlignment() const {
    const AttentionForwardProblem& p = from_.problem;
    const int64_t offset = from_.inputs.Offset(p, pick_.rows.front()) +
                           pick_.first_query - pick_.first_key;
    const bool counts =
        !from_.inputs.valid_q.empty() || !from_.inputs.valid_kv.empty();
    if (offset == pick_.keys - pick_.queries && !counts) {
      return {Alignment::Kind::kBottomRight, 0};
    }
    // Where no term asks for positions, any will do.
    if (offset == 0 || !AsksForPositions(p)) return {};
    return {Alignment::Kind::kOffset, offset};
  }

  void DescribeProblem() {
    const AttentionForwardProblem& p = from_.problem;
    AttentionForwardProblem& made = data_.problem;
    made = p;
    made.batch = SizeOf(pick_.rows);
    made.q_heads = SizeOf(pick_.q_heads);
    made.kv_heads = SizeOf(pick_.kv_heads);
    made.q_len = queries_.size();
    made.kv_len = keys_.size();
    made.sink = p.sink && pick_.sink;
    if (!WholeLength()) made.align = PartAlignment();
    if (p.masks.size() > 1) {
      made.masks.clear();
      for (const int64_t h : pick_.q_heads) made.masks.push_back(p.mask(h));
    }
    for (MaskExpr& mask : made.masks) PickPrefixes(pick_.rows, &mask);
    const bool counts = pick_.counts || pick_.padding > 0;
    const auto take = [&](const std::vector<int64_t>& own, const Stretch& at,
                          std::vector<int64_t>* to) {
      if (own.empty() && !counts) return;
      for (const int64_t b : pick_.rows) {
        const int64_t count =
            own.empty() ? at.count : own[static_cast<size_t>(b)] - at.first;
        to->push_back(std::clamp<int64_t>(count, 0, at.count));
      }
    };
    take(from_.inputs.valid_q, queries_, &data_.inputs.valid_q);
    take(from_.inputs.valid_kv, keys_, &data_.inputs.valid_kv);
  }

  // The text of the case, as far as a line can say it.
  void DescribeCase() {
    const AttentionForwardProblem& p = data_.problem;
    to_.batch = p.batch;
    to_.q_heads = p.q_heads;
    to_.kv_heads = p.kv_heads;
    to_.q_len = p.q_len;
    to_.kv_len = p.kv_len;
    to_.align = p.align;
    to_.valid_q = data_.inputs.valid_q;
    to_.valid_kv = data_.inputs.valid_kv;
    if (to_.valid_q.empty()) to_.valid_q = {p.q_len};
    if (to_.valid_kv.empty()) to_.valid_kv = {p.kv_len};
    to_.strides = {};
    // Rows that are cut no longer begin with the same pages.
    if (!WholeLength() || pick_.padding > 0 || p.batch < 2 ||
        to_.page.from_file()) {
      to_.page = to_.page.Drawn();
    }
    PickPrefixes(pick_.rows, &to_.mask);
    const std::map<int64_t, MaskExpr> masks = std::move(to_.head_mask);
    to_.head_mask.clear();
    for (size_t h = 0; h < pick_.q_heads.size(); ++h) {
      const auto own = masks.find(pick_.q_heads[h]);
      if (own == masks.end()) continue;
      MaskExpr& mask = to_.head_mask[static_cast<int64_t>(h)] = own->second;
      PickPrefixes(pick_.rows, &mask);
    }
    if (!p.sink) to_.sinklogit.reset();
    Cut(queries_, &to_.q_seg);
    Cut(keys_, &to_.kv_seg);
  }

  // Masks as they are on a part, in the problem and, as far as it can say them,
  // in the case.
  void CutMasks() {
    if (WholeLength()) return;
    std::vector<MaskExpr>& masks = data_.problem.masks;
    for (MaskExpr& mask : masks) mask = masks_.Cut(mask);
    to_.mask = masks.front();
    to_.head_mask.clear();
    for (size_t h = 1; h < masks.size(); ++h) {
      to_.head_mask[static_cast<int64_t>(h)] = masks[h];
    }
    to_.dense.resize(masks_.terms());
  }

  void Cut(const Stretch& at, Segments* segments) const {
    if (segments->kind != Segments::Kind::kRuns) return;
    const auto own = segments->rows;
    segments->rows.clear();
    for (const int64_t b : pick_.rows) {
      const size_t row = own.size() == 1 ? 0 : static_cast<size_t>(b);
      segments->rows.push_back(CutRuns(own[row], at));
      if (own.size() == 1) break;
    }
  }

  Status Take(const LaneTensor& from, const std::vector<int64_t>& heads,
              const Stretch& at, LaneTensor* to) const {
    ASSIGN_OR_RETURN(LaneTensor made,
                     PickRows(from, pick_.rows, heads, at, pick_.padding_factor,
                              to_.layout));
    *to = std::move(made);
    return {};
  }

  // The pages are like those of the source, and lie in a pool of their own.
  void TakePages() {
    data_.pages = from_.pages;
    if (!data_.pages) return;
    data_.pages->how = to_.page;
    data_.pages->given.clear();
    data_.pages->shared = to_.page.shared > 0;
    data_.pages->k_strides = data_.pages->v_strides = std::nullopt;
  }

  static Status Allocate(int64_t bytes, GuardedBuffer* buffer) {
    ASSIGN_OR_RETURN(auto allocated, GuardedBuffer::Allocate(bytes, 0));
    *buffer = std::move(allocated);
    return {};
  }

  Status TakeIds() {
    if (!data_.problem.segments) return {};
    const AttentionForwardInputs& in = from_.inputs;
    RETURN_IF_ERROR(
        TakeIds(in.q_seg, queries_, &data_.q_seg, &data_.inputs.q_seg));
    return TakeIds(in.kv_seg, keys_, &data_.kv_seg, &data_.inputs.kv_seg);
  }

  Status TakeIds(const TensorView<const int32_t, 2>& from, const Stretch& at,
                 GuardedBuffer* buffer, TensorView<const int32_t, 2>* view) {
    const int64_t rows = SizeOf(pick_.rows);
    RETURN_IF_ERROR(Allocate(rows * at.size() * 4, buffer));
    auto* ids = reinterpret_cast<int32_t*>(buffer->data());
    *view = {ids, {rows, at.size()}, {at.size(), 1}};
    for (const int64_t b : pick_.rows) {
      for (int64_t i = 0; i < at.size(); ++i) {
        *ids++ = from(b, at.Pads(i) ? at.first : at.From(i));
      }
    }
    return {};
  }

  Status TakeSink() {
    if (!data_.problem.sink) return {};
    const int64_t heads = SizeOf(pick_.q_heads);
    RETURN_IF_ERROR(Allocate(heads * 4, &data_.sink));
    auto* sink = reinterpret_cast<float*>(data_.sink.data());
    data_.inputs.sink = {sink, {heads}, {1}};
    for (const int64_t h : pick_.q_heads) *sink++ = from_.inputs.sink(h);
    return {};
  }

  // Scales of keys or blocks become scales of keys: a part may begin inside a
  // block.
  Status TakeScales() {
    const AttentionForwardInputs& from = from_.inputs;
    AttentionForwardInputs& in = data_.inputs;
    AttentionForwardProblem& p = data_.problem;
    RETURN_IF_ERROR(TakeScales(from.k_scale, keys_, &p.k_scales, &to_.k_scale,
                               &data_.k_scale, &in.k_scale));
    RETURN_IF_ERROR(TakeScales(from.v_scale, keys_, &p.v_scales, &to_.v_scale,
                               &data_.v_scale, &in.v_scale));
    return TakeScales(from.q_scale, queries_, &p.q_scales, &to_.q_scale,
                      &data_.q_scale, &in.q_scale);
  }

  Status TakeScales(const KeyScaleView& from, const Stretch& at,
                    KeyScales* scales, ScaleSpec* line, GuardedBuffer* buffer,
                    KeyScaleView* view) {
    const auto& heads_at = &at == &queries_ ? pick_.q_heads : pick_.kv_heads;
    if (!scales->any()) return {};
    const KeyScales own = *scales;
    if (own.by_key()) *scales = {ScaleLayout::kToken, 0};
    line->layout = *scales;
    view->shape =
        ScaleShape(*scales, SizeOf(pick_.rows), SizeOf(heads_at), at.size());
    view->strides = DenseStrides(view->shape);
    const auto [rows, heads, count] = view->shape;
    RETURN_IF_ERROR(Allocate(rows * heads * count * 4, buffer));
    auto* to = reinterpret_cast<float*>(buffer->data());
    view->data = to;
    for (int64_t b = 0; b < rows; ++b) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t n = 0; n < count; ++n) {
          const bool pads = own.by_key() && at.Pads(n);
          *to++ = pads ? 1.0f
                       : KeyScaleOf(own, from, pick_.rows[Place(b)],
                                    heads_at[Place(h)],
                                    own.by_key() ? at.From(n) : 0);
        }
      }
    }
    return {};
  }
  static size_t Place(int64_t n) { return static_cast<size_t>(n); }

  // Padding is let in: valid counts keep it out.
  Status TakeMasks() {
    data_.inputs.dense_masks.resize(masks_.terms());
    data_.dense_masks.resize(masks_.terms());
    for (size_t n = 0; n < masks_.terms(); ++n) {
      const auto shape = masks_.Shape(n, queries_.size(), keys_.size());
      const bool blocks = masks_.Blocks(n);
      const auto strides = DenseStrides(shape);
      RETURN_IF_ERROR(Allocate(shape[0] * strides[0], &data_.dense_masks[n]));
      const TensorView<uint8_t, 4> made{data_.dense_masks[n].data(), shape,
                                        strides};
      ForElements(shape, [&](const At& e) {
        const bool pads = !blocks && (queries_.Pads(e[2]) || keys_.Pads(e[3]));
        const int64_t i = blocks ? e[2] : queries_.From(e[2]);
        const int64_t j = blocks ? e[3] : keys_.From(e[3]);
        made(e[0], e[1], e[2], e[3]) =
            pads || masks_.Element(n, e[0], e[1], {i, j}) ? 1 : 0;
      });
      data_.inputs.dense_masks[n] = {made.data, shape, strides};
    }
    return {};
  }

  const AttentionForwardData& from_;
  const AttentionPick& pick_;
  AttentionForwardCase& to_;
  Stretch queries_, keys_;
  PickedMasks masks_;
  AttentionForwardData data_;
};

}  // namespace

AttentionPick PickAll(const AttentionForwardData& from) {
  const AttentionForwardProblem& p = from.problem;
  AttentionPick pick;
  pick.rows = CountTo(p.batch);
  pick.q_heads = CountTo(p.q_heads);
  pick.kv_heads = CountTo(p.kv_heads);
  pick.queries = p.q_len;
  pick.keys = p.kv_len;
  return pick;
}

Result<AttentionForwardData> PickAttention(const AttentionForwardData& from,
                                           const AttentionPick& pick,
                                           AttentionForwardCase* to) {
  return AttentionPicker(from, pick, to).Run();
}

void DescribePick(const AttentionForwardData& from, const AttentionPick& pick,
                  AttentionForwardCase* to) {
  AttentionPicker picker(from, pick, to);
  if (picker.Exists()) picker.Describe();
}

Result<LaneTensor> PickQueries(const LaneTensor& from,
                               const AttentionPick& pick, Layout layout) {
  return PickRows(from, pick.rows, pick.q_heads,
                  {pick.first_query, pick.queries, pick.padding},
                  pick.padding_factor, layout);
}

}  // namespace lockstep::verify
