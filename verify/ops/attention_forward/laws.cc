#include "verify/ops/attention_forward/laws.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "reference/mask.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

// Pairs of query and key above which hidden ones are not looked for.
constexpr int64_t kHiddenPairs = int64_t{1} << 22;

// Changes the rows of `tensor` that are wanted(batch, head, position).
template <class Wanted>
void ChangeRows(const LaneTensor& tensor, const Wanted& wanted) {
  const MutableLaneView& view = tensor.view;
  ForElements(view.shape, [&](const At& at) {
    if (!wanted(at[0], at[1], at[2])) return;
    const uint32_t bits = ElementBits(tensor.const_view(), at);
    SetElement(view, at, OtherNumber(view.lane, bits));
  });
}

// Those of k and of v, wherever they lie.
template <class Wanted>
void ChangeKeys(const AttentionForwardData& data, const Wanted& wanted) {
  ChangeRows(data.k, wanted);
  if (!data.problem.v_in_k) ChangeRows(data.v, wanted);
}

bool Owned(const AttentionForwardData& data) {
  return Owned(data.q) && Owned(data.k) && Owned(data.v);
}

}  // namespace

uint32_t OtherNumber(Lane lane, uint32_t bits) {
  const uint32_t other = BitsOf(lane, 0.25 - 1.5 * ElementValue(lane, bits));
  if (std::isfinite(ElementValue(lane, other))) return other;
  return bits ^ 1u << (8 * LaneBytes(lane) - 1);
}

std::vector<LinePair> AttentionLaws::AllLines() const {
  const AttentionForwardProblem& p = data_.problem;
  std::vector<LinePair> lines(
      static_cast<size_t>(p.batch * p.q_heads * p.q_len));
  for (size_t n = 0; n < lines.size(); ++n) {
    lines[n] = {static_cast<int64_t>(n), static_cast<int64_t>(n)};
  }
  return lines;
}

std::vector<LinePair> AttentionLaws::ThatAreThere(
    std::vector<LinePair> lines) const {
  if (!data_.varlen) return lines;
  const AttentionForwardProblem& p = data_.problem;
  std::erase_if(lines, [&](const LinePair& pair) {
    const int64_t b = pair.own / (p.q_heads * p.q_len);
    return pair.own % p.q_len >= data_.inputs.ValidQ(p, b);
  });
  return lines;
}

Law AttentionLaws::Of(const char* name, AttentionForwardData data,
                      const std::vector<LinePair>& lines) const {
  const std::vector<LinePair> kept = ThatAreThere(lines);
  Law law;
  law.name = name;
  if (kept.empty()) return law;
  law.calls.push_back(
      {std::make_unique<AttentionForwardTrial>(case_, std::move(data)),
       {kept, kept},
       nullptr});
  return law;
}

bool AttentionLaws::HasNeighbours() const {
  const AttentionForwardProblem& p = data_.problem;
  const bool shared = data_.pages && data_.pages->shared;
  return p.batch * p.kv_heads > 1 && Owned(data_) && !shared;
}

Result<Law> AttentionLaws::Neighbours() const {
  const AttentionForwardProblem& p = data_.problem;
  ASSIGN_OR_RETURN(AttentionForwardData data, Clone(data_));
  const auto n =
      static_cast<int64_t>(salt_ % static_cast<uint64_t>(p.batch * p.kv_heads));
  const int64_t row = n / p.kv_heads;
  const int64_t head = n % p.kv_heads;
  const auto other = [&](int64_t b, int64_t h, int64_t) {
    return b != row || h != head;
  };
  ChangeRows(data.q, [&](int64_t b, int64_t h, int64_t i) {
    return other(b, h / p.group(), i);
  });
  ChangeKeys(data, other);
  std::vector<LinePair> kept;
  for (int64_t h = head * p.group(); h < (head + 1) * p.group(); ++h) {
    for (int64_t i = 0; i < p.q_len; ++i) {
      kept.push_back({Line(row, h, i), Line(row, h, i)});
    }
  }
  Law law = Of("neighbours", std::move(data), kept);
  law.structural = true;
  return law;
}

bool AttentionLaws::HasEdges() const {
  const AttentionForwardProblem& p = data_.problem;
  return p.kv_len > 1 && Owned(data_) &&
         p.q_len <= kHiddenPairs / (p.kv_len * p.batch * p.q_heads);
}

Result<Law> AttentionLaws::HiddenKeys(const char* name, bool later) const {
  const AttentionForwardProblem& p = data_.problem;
  const auto edge =
      static_cast<int64_t>(1 + salt_ % static_cast<uint64_t>(p.kv_len - 1));
  const int64_t first = later ? edge : 0;
  const int64_t end = later ? p.kv_len : edge;
  const auto sees = [&](int64_t b, int64_t h, int64_t i) {
    for (int64_t j = first; j < end; ++j) {
      if (reference::IsVisible(p, data_.inputs, b, h, i, j)) return true;
    }
    return false;
  };
  std::vector<LinePair> kept;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        if (!sees(b, h, i)) kept.push_back({Line(b, h, i), Line(b, h, i)});
      }
    }
  }
  ASSIGN_OR_RETURN(AttentionForwardData data, Clone(data_));
  const auto hidden = [&](int64_t, int64_t, int64_t j) {
    return j >= first && j < end;
  };
  ChangeKeys(data, hidden);
  return Of(name, std::move(data), kept);
}

bool AttentionLaws::HasPadding() const {
  const AttentionForwardProblem& p = data_.problem;
  bool padded = false;
  for (int64_t b = 0; b < p.batch; ++b) {
    padded |= data_.inputs.ValidQ(p, b) < p.q_len ||
              data_.inputs.ValidKv(p, b) < p.kv_len;
  }
  return padded && Owned(data_);
}

Result<Law> AttentionLaws::Padding() const {
  const AttentionForwardProblem& p = data_.problem;
  const AttentionForwardInputs& in = data_.inputs;
  ASSIGN_OR_RETURN(AttentionForwardData data, Clone(data_));
  const auto query = [&](int64_t b, int64_t, int64_t i) {
    return i >= in.ValidQ(p, b);
  };
  const auto key = [&](int64_t b, int64_t, int64_t j) {
    return j >= in.ValidKv(p, b);
  };
  ChangeRows(data.q, query);
  ChangeKeys(data, key);
  for (int64_t b = 0; p.segments && b < p.batch; ++b) {
    // Ids that would let the padding in.
    for (int64_t i = in.ValidQ(p, b); i < p.q_len; ++i) {
      Ids(data.q_seg, in.q_seg)(b, i) = in.kv_seg(b, 0);
    }
    for (int64_t j = in.ValidKv(p, b); j < p.kv_len; ++j) {
      Ids(data.kv_seg, in.kv_seg)(b, j) = in.q_seg(b, 0);
    }
  }
  return Of("padding", std::move(data), AllLines());
}

Result<LawCall> AttentionLaws::Renamed(IdRange range) const {
  const AttentionForwardInputs& in = data_.inputs;
  ASSIGN_OR_RETURN(AttentionForwardData data, Clone(data_));
  std::vector<int32_t> names;
  const auto each = [](const TensorView<const int32_t, 2>& ids,
                       const auto& visit) {
    for (int64_t b = 0; b < ids.shape[0]; ++b) {
      for (int64_t i = 0; i < ids.shape[1]; ++i) visit(b, i, ids(b, i));
    }
  };
  for (const auto* ids : {&in.q_seg, &in.kv_seg}) {
    each(*ids, [&](int64_t, int64_t, int32_t id) { names.push_back(id); });
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto renamed = [&](int32_t id) {
    return OtherId(
        range, std::lower_bound(names.begin(), names.end(), id) - names.begin(),
        static_cast<int64_t>(names.size()));
  };
  const auto q_ids = Ids(data.q_seg, in.q_seg);
  const auto kv_ids = Ids(data.kv_seg, in.kv_seg);
  each(in.q_seg,
       [&](int64_t b, int64_t i, int32_t id) { q_ids(b, i) = renamed(id); });
  each(in.kv_seg,
       [&](int64_t b, int64_t j, int32_t id) { kv_ids(b, j) = renamed(id); });
  return std::move(Of("relabel", std::move(data), AllLines()).calls.front());
}

Result<Law> AttentionLaws::Relabel() const {
  constexpr IdRange kDrawn[] = {IdRange::kLargest, IdRange::kSmallest,
                                IdRange::kMirrored, IdRange::kSteps24};
  Law law;
  law.name = "relabel";
  law.structural = true;
  for (const IdRange range :
       {IdRange::kSteps16, kDrawn[salt_ / 8 % std::size(kDrawn)]}) {
    ASSIGN_OR_RETURN(LawCall call, Renamed(range));
    law.calls.push_back(std::move(call));
  }
  return law;
}

}  // namespace lockstep::verify
