#include "verify/emulator/attention_backward/varlen/taken_gradients.h"

#include <algorithm>
#include <array>
#include <utility>

#include "reference/contract/lanes.h"
#include "reference/elementary.h"
#include "verify/emulator/taken.h"

namespace lockstep::verify {
namespace {

// The forward bug that is the same bug as this one.
FaultDial ForwardDial(GradFault fault) {
  switch (fault) {
    case GradFault::kVarlenQueryTable:
      return {Fault::kVarlenQueryTable};
    case GradFault::kVarlenNextToken:
      return {Fault::kVarlenNextToken};
    case GradFault::kVarlenEmptyShifts:
      return {Fault::kVarlenEmptyShifts};
    case GradFault::kVarlenOffsetPadded:
      return {Fault::kVarlenOffsetPadded};
    default:
      return {};
  }
}

// The pair (batch row, query) of every token.
std::vector<std::pair<int64_t, int64_t>> QueryTokens(
    const AttentionForwardProblem& p, const AttentionForwardInputs& in) {
  std::vector<std::pair<int64_t, int64_t>> tokens;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t i = 0; i < in.ValidQ(p, b); ++i) tokens.emplace_back(b, i);
  }
  return tokens;
}

// Reads o of row b from token b * longest on.
void TakePaddedO(const AttentionForwardProblem& p, const LaneView& from,
                 const AttentionForwardInputs& in, TakenGradients* taken) {
  const auto tokens = QueryTokens(p, in);
  int64_t longest = 0;
  for (int64_t b = 0; b < p.batch; ++b) {
    longest = std::max(longest, in.ValidQ(p, b));
  }
  taken->inputs.o = TakeDense(
      from, from.shape, [&](int64_t b) { return in.ValidQ(p, b); },
      [&](int64_t b, int64_t h, int64_t i) {
        const auto [row, query] =
            tokens[static_cast<size_t>(b * longest + i) % tokens.size()];
        return row * from.strides[0] + h * from.strides[1] +
               query * from.strides[2];
      },
      &taken->o);
}

// Reads lse, which is [heads, tokens], as [tokens, heads].
void TakeLseByTokens(const AttentionForwardProblem& p,
                     const AttentionForwardInputs& in, TakenGradients* taken) {
  const auto tokens = QueryTokens(p, in);
  const TensorView<const float, 3> from = taken->inputs.lse;
  const std::array<int64_t, 3> shape = from.shape;
  const std::array<int64_t, 3> strides = DenseStrides(shape);
  taken->lse.resize(static_cast<size_t>(shape[0] * strides[0]));
  for (size_t t = 0; t < tokens.size(); ++t) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      const size_t at =
          t * static_cast<size_t>(p.q_heads) + static_cast<size_t>(h);
      const auto [row, query] = tokens[at % tokens.size()];
      const auto head = static_cast<int64_t>(at / tokens.size());
      const auto [b, i] = tokens[t];
      taken->lse[static_cast<size_t>(b * strides[0] + h * strides[1] + i)] =
          from(row, head, query);
    }
  }
  taken->inputs.lse = {taken->lse.data(), shape, strides};
}

// Channels of one position, as numbers.
class GradientRow {
 public:
  GradientRow(const MutableLaneView& x, int64_t b, int64_t h, int64_t at)
      : x_(x), b_(b), h_(h), at_(at) {}

  float Get(int64_t c) const {
    const LaneView x{x_.data, x_.lane, x_.shape, x_.strides};
    return x.Float(b_, h_, at_, c);
  }
  void Set(int64_t c, float value) const {
    WithAnyLane(x_.lane, [&](auto element) {
      using T = decltype(element);
      x_.As<T>()(b_, h_, at_, c) = reference::ElementFrom<T>(value);
    });
  }
  void Take(const GradientRow& from, bool add) const {
    for (int64_t c = 0; c < x_.shape[3]; ++c) {
      Set(c, from.Get(c) + (add ? Get(c) : 0.0f));
    }
  }
  void Clear() const {
    for (int64_t c = 0; c < x_.shape[3]; ++c) Set(c, 0.0f);
  }

 private:
  const MutableLaneView& x_;
  int64_t b_, h_, at_;
};

// The gradient of key number `at(keys of the row)` of every row goes to the
// next row that has a key.
template <class At>
void AddToNeighbours(const AttentionForwardProblem& p,
                     const AttentionForwardInputs& in, const MutableLaneView& x,
                     const At& at, bool clear) {
  int64_t next = -1;  // the last row has none
  for (int64_t b = p.batch - 1; b >= 0; --b) {
    const int64_t keys = in.ValidKv(p, b);
    if (keys == 0) continue;
    const int64_t key = at(keys);
    for (int64_t g = 0; next >= 0 && key < p.kv_len && g < p.kv_heads; ++g) {
      GradientRow(x, next, g, 0).Take(GradientRow(x, b, g, key), true);
      if (clear) GradientRow(x, b, g, key).Clear();
    }
    next = b;
  }
}

void ClearLastRow(const AttentionForwardProblem& p, int64_t heads,
                  const MutableLaneView& x) {
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t i = 0; i < x.shape[2]; ++i)
      GradientRow(x, p.batch - 1, h, i).Clear();
  }
}

void WriteEarly(const AttentionForwardProblem& p,
                const AttentionForwardInputs& in, const MutableLaneView& dq) {
  const auto tokens = QueryTokens(p, in);
  const auto first =
      static_cast<size_t>(std::max<int64_t>(in.ValidQ(p, 0) - 1, 0));
  for (int64_t h = 0; h < p.q_heads; ++h) {
    for (size_t t = first; t < tokens.size(); ++t) {
      const GradientRow to(dq, tokens[t].first, h, tokens[t].second);
      if (t + 1 == tokens.size()) {
        to.Clear();
        continue;
      }
      to.Take(GradientRow(dq, tokens[t + 1].first, h, tokens[t + 1].second),
              false);
    }
  }
}

}  // namespace

bool BreaksVarlen(GradFault fault) {
  return fault >= GradFault::kVarlenQueryTable;
}

TakenGradients TakeGradients(const AttentionBackwardProblem& problem,
                             const AttentionBackwardInputs& inputs,
                             const AttentionForwardInputs& tokens,
                             const VarlenRows& rows, GradFault fault) {
  TakenGradients taken;
  taken.forward = TakeRows(problem.forward, tokens, rows, ForwardDial(fault));
  taken.problem = problem;
  taken.problem.forward = taken.forward.problem;
  taken.inputs = inputs;
  taken.inputs.forward = taken.forward.inputs;
  if (fault == GradFault::kVarlenDeltaPadded) {
    TakePaddedO(problem.forward, inputs.o, inputs.forward, &taken);
  }
  if (fault == GradFault::kVarlenLseByTokens) {
    TakeLseByTokens(problem.forward, inputs.forward, &taken);
  }
  return taken;
}

void MisplaceGradients(const AttentionBackwardProblem& problem,
                       const AttentionBackwardInputs& inputs, GradFault fault,
                       const AttentionBackwardOutputs& outputs) {
  const AttentionForwardProblem& p = problem.forward;
  const AttentionForwardInputs& in = inputs.forward;
  for (const MutableLaneView* x : {&outputs.dk, &outputs.dv}) {
    if (fault == GradFault::kVarlenNextToken) {
      AddToNeighbours(p, in, *x, [](int64_t keys) { return keys; }, false);
    }
    if (fault == GradFault::kVarlenKeyToNeighbour) {
      AddToNeighbours(p, in, *x, [](int64_t keys) { return keys - 1; }, true);
    }
    if (fault == GradFault::kVarlenLastRowLost) {
      ClearLastRow(p, p.kv_heads, *x);
    }
  }
  if (fault == GradFault::kVarlenLastRowLost) {
    ClearLastRow(p, p.q_heads, outputs.dq);
  }
  if (fault == GradFault::kVarlenDqEarly) WriteEarly(p, in, outputs.dq);
}

}  // namespace lockstep::verify
