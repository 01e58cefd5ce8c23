// Longer than 400 lines: one law after the other, and the table of them.
// The laws of attention's gradients: other inputs whose gradients follow from
// the case's own, whatever the truth. o and lse are inputs: they stay what they
// were, or change alone. A kernel that has an o and lse of its own makes others
// of changed keys, and hands them back: what they reach is left out.
//   neighbours  other batch rows and key heads do not matter
//   queries     what queries from an edge on hold matters neither to other
//               queries' dq nor to dk and dv of keys that none of them sees:
//               a foreign document's cotangents do not leak
//   keys        what keys from an edge on hold matters neither to other keys'
//               dk and dv nor to dq of queries that see none of them
//   rows        batch rows in another order
//   heads       key heads in another order, with their groups
//   scale       cotangents times a power of two: so are all gradients
//   encoding    ragged rows have the gradients of padded ones, lists those of
//               their mask
// There is no law of order within a sum: each is one chain (N18).
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/laws.h"
#include "verify/ops/scale.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {
namespace {

// Pairs of query and key above which hidden ones are not looked for.
constexpr int64_t kHiddenPairs = int64_t{1} << 22;

// Rows of a tensor get other numbers where wanted(batch, head, position).
template <class Wanted>
void ChangeRows(const LaneTensor& tensor, const Wanted& wanted) {
  if (tensor.buffer.data() == nullptr) return;
  const MutableLaneView& view = tensor.view;
  ForElements(view.shape, [&](const At& at) {
    if (!wanted(at[0], at[1], at[2])) return;
    const uint32_t bits = ElementBits(tensor.const_view(), at);
    SetElement(view, at, OtherNumber(view.lane, bits));
  });
}

// All that belongs to queries. lse moves a little only: the weights of the rows
// that change stay far from overflow, masked ones included.
template <class Wanted>
void ChangeQueries(const AttentionBackwardData& data, const Wanted& wanted) {
  for (const LaneTensor* x :
       {&data.forward.q, &data.o, &data.d_o, &data.dlse}) {
    ChangeRows(*x, wanted);
  }
  const MutableLaneView& lse = data.lse.view;
  ForElements(lse.shape, [&](const At& at) {
    if (!wanted(at[0], at[1], at[2])) return;
    const uint32_t bits = ElementBits(data.lse.const_view(), at);
    const double x = ElementValue(lse.lane, bits);
    if (std::isfinite(x)) SetElement(lse, at, BitsOf(lse.lane, x + 0.125));
  });
}

template <class Wanted>
void ChangeKeys(const AttentionBackwardData& data, const Wanted& wanted) {
  ChangeRows(data.forward.k, wanted);
  ChangeRows(data.forward.v, wanted);
}

// Whether elements have memory of their own.
bool OwnsAll(const AttentionBackwardData& data) {
  for (const LaneTensor* x :
       {&data.forward.q, &data.forward.k, &data.forward.v, &data.o}) {
    if (!Owned(*x)) return false;
  }
  return true;
}

class BackwardLaws {
 public:
  BackwardLaws(const AttentionBackwardTrial& trial, uint64_t salt)
      : trial_(trial),
        data_(trial.data()),
        p_(data_.problem.forward),
        salt_(salt),
        kept_(trial.outputs().size()) {}

  bool HasNeighbours() const {
    return p_.batch * p_.kv_heads > 1 && OwnsAll(data_);
  }
  bool HasEdges(int64_t positions) const {
    return positions > 1 && OwnsAll(data_) &&
           p_.q_len <= kHiddenPairs / (p_.kv_len * p_.batch * p_.q_heads);
  }
  bool HasQueries() const { return HasEdges(p_.q_len); }
  bool HasKeys() const { return HasEdges(p_.kv_len); }
  bool HasRows() const { return p_.batch > 1; }
  bool HasHeads() const { return p_.kv_heads > 1; }
  bool Scales() const { return Owned(data_.d_o); }
  bool HasEncoding() const {
    return data_.forward.varlen || data_.forward.lists;
  }

  Result<Law> Neighbours();
  Result<Law> Queries();
  Result<Law> Keys();
  Result<Law> Rows();
  Result<Law> Heads();
  Result<Law> Scale();
  Result<Law> Encoding();

 private:
  int64_t Edge(int64_t positions) const {
    return static_cast<int64_t>(1 +
                                salt_ % static_cast<uint64_t>(positions - 1));
  }

  // Line `here` of the call has what line `own` of the case has; places of the
  // outputs as in Outputs().
  void KeepKey(int64_t b, int64_t g, int64_t j, int64_t from_b,
               int64_t from_g) {
    const LinePair pair = {(b * p_.kv_heads + g) * p_.kv_len + j,
                           (from_b * p_.kv_heads + from_g) * p_.kv_len + j};
    if (!trial_.HasKey(from_b, j)) return;
    kept_[0].push_back(pair);
    kept_[1].push_back(pair);
  }
  void KeepQuery(int64_t b, int64_t h, int64_t i, int64_t from_b,
                 int64_t from_h) {
    const LinePair pair = {(b * p_.q_heads + h) * p_.q_len + i,
                           (from_b * p_.q_heads + from_h) * p_.q_len + i};
    if (!trial_.HasQuery(from_b, i)) return;
    kept_[2].push_back(pair);
    for (size_t t = trial_.PlaceOfOwnO(); t < kept_.size(); ++t) {
      kept_[t].push_back(pair);
    }
  }

  // Picks all of batch row b, which is row(b) of the case.
  template <class Row>
  void KeepRows(const Row& row) {
    for (int64_t b = 0; b < p_.batch; ++b) {
      for (int64_t g = 0; g < p_.kv_heads; ++g) {
        for (int64_t j = 0; j < p_.kv_len; ++j) KeepKey(b, g, j, row(b), g);
      }
      for (int64_t h = 0; h < p_.q_heads; ++h) {
        for (int64_t i = 0; i < p_.q_len; ++i) KeepQuery(b, h, i, row(b), h);
      }
    }
  }

  // What a query of head h sees, flat (key head, key).
  void MarkKeys(const oracle::KeySet& keys, int64_t h,
                std::vector<bool>* reached) const {
    for (const auto& run : keys) {
      for (int64_t j = run.begin; j < run.end; ++j) {
        (*reached)[static_cast<size_t>(h / p_.group() * p_.kv_len + j)] = true;
      }
    }
  }

  Law Of(const char* name, AttentionBackwardData data, bool structural) {
    Law law;
    law.name = name;
    law.structural = structural;
    if (kept_[0].empty() && kept_[2].empty()) return law;
    law.calls.push_back({std::make_unique<AttentionBackwardTrial>(
                             trial_.request(), std::move(data)),
                         std::move(kept_), nullptr});
    return law;
  }

  // o, lse and the cotangents, moved like TurnRows and TurnHeads move the
  // others: element [b, h, i, c] becomes [row(b), head(h), i, c].
  template <class Row, class Head>
  Result<AttentionBackwardData> Turned(Result<AttentionForwardData> forward,
                                       const Row& row, const Head& head) const {
    if (!forward.ok()) return forward.status();
    Result<AttentionBackwardData> data = Clone(data_);
    if (!data.ok()) return data;
    data->forward = std::move(forward.value());
    data->inputs.forward = data->forward.inputs;
    data->problem.forward = data->forward.problem;
    const auto take = [&](const LaneTensor& from, const LaneTensor& to) {
      if (from.buffer.data() == nullptr) return;
      ForElements(to.view.shape, [&](const At& at) {
        const At source = {row(at[0]), head(at[1]), at[2], at[3]};
        SetElement(to.view, at, ElementBits(from.const_view(), source));
      });
    };
    take(data_.o, data->o);
    take(data_.d_o, data->d_o);
    take(data_.lse, data->lse);
    take(data_.dlse, data->dlse);
    return data;
  }

  const AttentionBackwardTrial& trial_;
  const AttentionBackwardData& data_;
  const AttentionForwardProblem& p_;
  uint64_t salt_;
  std::vector<std::vector<LinePair>> kept_;
};

Result<Law> BackwardLaws::Neighbours() {
  ASSIGN_OR_RETURN(AttentionBackwardData data, Clone(data_));
  const auto n = static_cast<int64_t>(
      salt_ % static_cast<uint64_t>(p_.batch * p_.kv_heads));
  const int64_t row = n / p_.kv_heads;
  const int64_t head = n % p_.kv_heads;
  const auto other = [&](int64_t b, int64_t g, int64_t) {
    return b != row || g != head;
  };
  ChangeQueries(data, [&](int64_t b, int64_t h, int64_t i) {
    return other(b, h / p_.group(), i);
  });
  ChangeKeys(data, other);
  for (int64_t j = 0; j < p_.kv_len; ++j) KeepKey(row, head, j, row, head);
  for (int64_t h = head * p_.group(); h < (head + 1) * p_.group(); ++h) {
    for (int64_t i = 0; i < p_.q_len; ++i) KeepQuery(row, h, i, row, h);
  }
  return Of("neighbours", std::move(data), true);
}

Result<Law> BackwardLaws::Queries() {
  ASSIGN_OR_RETURN(AttentionBackwardData data, Clone(data_));
  const int64_t edge = Edge(p_.q_len);
  // Half of the time those before it.
  const bool later = salt_ / 4096 % 2 == 0;
  const auto changed = [&](int64_t, int64_t, int64_t i) {
    return later == (i >= edge);
  };
  ChangeQueries(data, changed);
  const oracle::Visibility visibility(p_, data_.inputs.forward);
  for (int64_t b = 0; b < p_.batch; ++b) {
    std::vector<bool> reached(static_cast<size_t>(p_.kv_heads * p_.kv_len));
    for (int64_t h = 0; h < p_.q_heads; ++h) {
      for (int64_t i = 0; i < p_.q_len; ++i) {
        if (!changed(b, h, i)) {
          KeepQuery(b, h, i, b, h);
          continue;
        }
        MarkKeys(visibility.VisibleKeys(b, h, i), h, &reached);
      }
    }
    for (int64_t g = 0; g < p_.kv_heads; ++g) {
      for (int64_t j = 0; j < p_.kv_len; ++j) {
        if (!reached[static_cast<size_t>(g * p_.kv_len + j)]) {
          KeepKey(b, g, j, b, g);
        }
      }
    }
  }
  return Of("queries", std::move(data), true);
}

Result<Law> BackwardLaws::Keys() {
  ASSIGN_OR_RETURN(AttentionBackwardData data, Clone(data_));
  const int64_t edge = Edge(p_.kv_len);
  const bool later = salt_ / 4096 % 2 == 0;
  const auto changed = [&](int64_t, int64_t, int64_t j) {
    return later == (j >= edge);
  };
  ChangeKeys(data, changed);
  const oracle::Visibility visibility(p_, data_.inputs.forward);
  for (int64_t b = 0; b < p_.batch; ++b) {
    // Keys of queries whose own o and lse change.
    std::vector<bool> reached(static_cast<size_t>(p_.kv_heads * p_.kv_len));
    for (int64_t h = 0; h < p_.q_heads; ++h) {
      for (int64_t i = 0; i < p_.q_len; ++i) {
        const auto keys = visibility.VisibleKeys(b, h, i);
        bool sees = false;
        for (const auto& run : keys) {
          sees |= later ? run.end > edge : run.begin < edge;
        }
        if (!sees) KeepQuery(b, h, i, b, h);
        if (!sees || !data_.own.o) continue;
        MarkKeys(keys, h, &reached);
      }
    }
    for (int64_t g = 0; g < p_.kv_heads; ++g) {
      for (int64_t j = 0; j < p_.kv_len; ++j) {
        const bool other = reached[static_cast<size_t>(g * p_.kv_len + j)];
        if (!changed(b, g, j) && !other) KeepKey(b, g, j, b, g);
      }
    }
  }
  return Of("keys", std::move(data), true);
}

Result<Law> BackwardLaws::Rows() {
  const auto row = [&](int64_t b) { return (b + 1) % p_.batch; };
  ASSIGN_OR_RETURN(
      AttentionBackwardData data,
      Turned(TurnRows(data_.forward), row, [](int64_t h) { return h; }));
  KeepRows(row);
  return Of("rows", std::move(data), true);
}

Result<Law> BackwardLaws::Heads() {
  const auto head = [&](int64_t h) { return TurnedHead(p_, h, false); };
  ASSIGN_OR_RETURN(
      AttentionBackwardData data,
      Turned(
          TurnHeads(data_.forward, false), [](int64_t b) { return b; }, head));
  for (int64_t b = 0; b < p_.batch; ++b) {
    for (int64_t g = 0; g < p_.kv_heads; ++g) {
      const int64_t from = (g + 1) % p_.kv_heads;
      for (int64_t j = 0; j < p_.kv_len; ++j) KeepKey(b, g, j, b, from);
    }
    for (int64_t h = 0; h < p_.q_heads; ++h) {
      for (int64_t i = 0; i < p_.q_len; ++i) KeepQuery(b, h, i, b, head(h));
    }
  }
  for (int64_t h = 0; p_.sink && h < p_.q_heads; ++h) {
    kept_[3].push_back({h, head(h)});
  }
  return Of("heads", std::move(data), false);
}

// The formulas are linear in do and dlse; lines that lose something to
// underflow on the way, as weights and scores' gradients that become +0, are
// left out.
Result<Law> BackwardLaws::Scale() {
  Law law;
  law.name = "scale";
  ASSIGN_OR_RETURN(AttentionBackwardData data, Clone(data_));
  const int exponent =
      -1 - static_cast<int>(salt_ % static_cast<uint64_t>(kMostHalvings));
  for (const LaneTensor* cotangent : {&data.d_o, &data.dlse}) {
    if (!ScaleTensor(*cotangent, exponent)) return law;
  }
  auto scaled = std::make_unique<AttentionBackwardTrial>(trial_.request(),
                                                         std::move(data));
  ASSIGN_OR_RETURN(auto kept, ScaledLines(trial_, *scaled, exponent));
  law.exponents.assign(kept.size(), exponent);
  // No cotangent reaches the forward pass.
  for (size_t t = trial_.PlaceOfOwnO(); t < kept.size(); ++t) {
    law.exponents[t] = 0;
    kept[t].clear();
    for (int64_t line = 0; line < trial_.outputs()[t].lines(); ++line) {
      kept[t].push_back({line, line});
    }
  }
  law.calls.push_back({std::move(scaled), std::move(kept), nullptr});
  return law;
}

Result<Law> BackwardLaws::Encoding() {
  ASSIGN_OR_RETURN(AttentionBackwardData data, Clone(data_));
  data.forward.varlen.reset();
  data.forward.lists.reset();  // their mask stays
  Case plain = trial_.request();
  auto& attention = plain.Get<AttentionForwardCase>();
  if (data_.forward.varlen) attention.layout = Layout::kBhsd;
  // A dense mask; the line cannot say of which keys.
  if (data_.forward.lists) {
    attention.dense[data_.forward.lists->dense] = DenseSource();
  }
  KeepRows([](int64_t b) { return b; });
  Law law;
  law.name = "encoding";
  law.may_be_refused = true;
  law.calls.push_back(
      {std::make_unique<AttentionBackwardTrial>(plain, std::move(data)),
       std::move(kept_), nullptr});
  return law;
}

struct LawRow {
  const char* name;
  bool (BackwardLaws::*holds)() const;
  Result<Law> (BackwardLaws::*make)();
};
constexpr LawRow kLaws[] = {
    {"neighbours", &BackwardLaws::HasNeighbours, &BackwardLaws::Neighbours},
    {"queries", &BackwardLaws::HasQueries, &BackwardLaws::Queries},
    {"keys", &BackwardLaws::HasKeys, &BackwardLaws::Keys},
    {"rows", &BackwardLaws::HasRows, &BackwardLaws::Rows},
    {"heads", &BackwardLaws::HasHeads, &BackwardLaws::Heads},
    {"scale", &BackwardLaws::Scales, &BackwardLaws::Scale},
    {"encoding", &BackwardLaws::HasEncoding, &BackwardLaws::Encoding},
};

}  // namespace

std::vector<std::string> AttentionBackwardTrial::LawNames() const {
  std::vector<std::string> names;
  if (rows() > kLawWork / RowCost()) return names;
  const BackwardLaws laws(*this, 0);
  for (const LawRow& row : kLaws) {
    if ((laws.*row.holds)()) names.emplace_back(row.name);
  }
  return names;
}

Result<Law> AttentionBackwardTrial::MakeLaw(const std::string& name,
                                            uint64_t salt) const {
  BackwardLaws laws(*this, salt);
  for (const LawRow& row : kLaws) {
    if (name == row.name) return (laws.*row.make)();
  }
  return TrialLaws::MakeLaw(name, salt);
}

}  // namespace lockstep::verify
