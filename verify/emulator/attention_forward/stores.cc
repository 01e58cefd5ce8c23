#include "verify/emulator/attention_forward/stores.h"

#include <algorithm>
#include <cstdint>

namespace lockstep::verify {
namespace {

// One output row, and the memory it lies in.
struct Row {
  int64_t b, h, i;
};

// Channels of o that a faulty kernel computes.
constexpr int64_t kChannelsComputed = 64;

// The row that was stored as [query, head] where [head, query] is read.
Row Transposed(const AttentionForwardProblem& p, Row at) {
  const int64_t flat = at.h * p.q_len + at.i;
  return {at.b, flat % p.q_heads, flat / p.q_heads};
}

// The row whose lse is found where that of `at` is due.
Row LseFrom(const AttentionForwardProblem& p, const AttentionVariant& variant,
            Fault fault, Row at) {
  switch (fault) {
    case Fault::kLseOfGroup:
      at.h = at.h / p.group() * p.group() + p.group() - 1;
      break;
    case Fault::kLseOfTileEdge:
      if (at.i % variant.tile_q == 0 && at.i > 0) --at.i;
      break;
    case Fault::kLseTransposed:
      at = Transposed(p, at);
      break;
    case Fault::kLseBatchZero:
      at.b = 0;
      break;
    case Fault::kLseHeadZero:
      at.h = 0;
      break;
    default:
      break;
  }
  return at;
}

// The row whose channel c of o is found where that of `at` is due; a row
// before the first means zero.
Row OutputFrom(const AttentionForwardProblem& p,
               const AttentionVariant& variant, Fault fault, Row at,
               int64_t c) {
  const bool tail = c >= p.value_dim - p.value_dim % 8;
  switch (fault) {
    case Fault::kOutputHeadsSwapped:
      if ((at.h ^ 1) < p.q_heads) at.h ^= 1;
      break;
    case Fault::kOutputTransposed:
      at = Transposed(p, at);
      break;
    case Fault::kValueChannelsOnly:
      if (c >= kChannelsComputed) at.i = -1;
      break;
    case Fault::kOFragmentRows:
      if (c >= p.value_dim / 2 && (at.i ^ 1) < p.q_len) at.i ^= 1;
      break;
    case Fault::kValueTailZero:
      if (tail) at.i = -1;
      break;
    case Fault::kValueTailStale:
      if (tail) --at.i;
      break;
    case Fault::kLastRowTwice:
      // The rows of a ragged tile are clamped one too early.
      if (p.q_len % variant.tile_q != 0 && at.i == p.q_len - 2) ++at.i;
      break;
    default:
      break;
  }
  return at;
}

}  // namespace

void BreakStores(const AttentionForwardProblem& p,
                 const AttentionVariant& variant, const FaultDial& dial,
                 std::vector<float>* o, std::vector<float>* lse) {
  if (dial.fault == Fault::kNone) return;
  if (dial.Is(Fault::kZeros)) {
    std::fill(o->begin(), o->end(), 0.0f);
    std::fill(lse->begin(), lse->end(), 0.0f);
    return;
  }
  const std::vector<float> o_before = *o;
  const std::vector<float> lse_before = *lse;
  const auto flat = [&](const Row& row) {
    return (row.b * p.q_heads + row.h) * p.q_len + row.i;
  };
  const int64_t rows = p.batch * p.q_heads * p.q_len;
  for (int64_t row = 0; row < rows; ++row) {
    const Row at = {row / p.q_len / p.q_heads, row / p.q_len % p.q_heads,
                    row % p.q_len};
    Row lse_from = at;
    for (const Fault fault : dial.Faults()) {
      lse_from = LseFrom(p, variant, fault, lse_from);
    }
    (*lse)[static_cast<size_t>(row)] =
        lse_before[static_cast<size_t>(flat(lse_from))];
    for (int64_t c = 0; c < p.value_dim; ++c) {
      Row from = at;
      for (const Fault fault : dial.Faults()) {
        from = OutputFrom(p, variant, fault, from, c);
      }
      (*o)[static_cast<size_t>(row * p.value_dim + c)] =
          from.i < 0
              ? 0.0f
              : o_before[static_cast<size_t>(flat(from) * p.value_dim + c)];
    }
  }
}

}  // namespace lockstep::verify
