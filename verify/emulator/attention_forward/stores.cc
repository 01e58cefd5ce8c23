#include "verify/emulator/attention_forward/stores.h"

#include <cstddef>
#include <cstdint>
#include <set>

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

int64_t Flat(const AttentionForwardProblem& p, const Row& row) {
  return (row.b * p.q_heads + row.h) * p.q_len + row.i;
}

Row PlaceOf(const AttentionForwardProblem& p, int64_t row) {
  return {row / p.q_len / p.q_heads, row / p.q_len % p.q_heads, row % p.q_len};
}

// The row in which channel c of o of `row` was computed, -1: zero; and that of
// its lse.
int64_t OutputSource(const AttentionForwardProblem& p,
                     const AttentionVariant& variant, const FaultDial& dial,
                     int64_t row, int64_t c) {
  Row from = PlaceOf(p, row);
  for (const Fault fault : dial.Faults()) {
    from = OutputFrom(p, variant, fault, from, c);
  }
  return from.i < 0 ? -1 : Flat(p, from);
}
int64_t LseSource(const AttentionForwardProblem& p,
                  const AttentionVariant& variant, const FaultDial& dial,
                  int64_t row) {
  Row from = PlaceOf(p, row);
  for (const Fault fault : dial.Faults()) {
    from = LseFrom(p, variant, fault, from);
  }
  return Flat(p, from);
}

}  // namespace

RowResult StoredRow(const AttentionForwardProblem& problem,
                    const AttentionVariant& variant, const FaultDial& dial,
                    int64_t row,
                    const std::function<const RowResult&(int64_t)>& computed) {
  if (dial.fault == Fault::kNone) return computed(row);
  RowResult stored;
  stored.o.resize(static_cast<size_t>(problem.value_dim));
  if (dial.Is(Fault::kZeros)) return stored;
  stored.lse = computed(LseSource(problem, variant, dial, row)).lse;
  for (int64_t c = 0; c < problem.value_dim; ++c) {
    const int64_t from = OutputSource(problem, variant, dial, row, c);
    if (from < 0) continue;
    stored.o[static_cast<size_t>(c)] = computed(from).o[static_cast<size_t>(c)];
  }
  return stored;
}

std::vector<int64_t> RowsNeeded(const AttentionForwardProblem& problem,
                                const AttentionVariant& variant,
                                const FaultDial& dial,
                                std::span<const int64_t> wanted) {
  std::set<int64_t> needed;
  for (const int64_t row : wanted) {
    needed.insert(row);
    needed.insert(LseSource(problem, variant, dial, row));
    for (int64_t c = 0; c < problem.value_dim; ++c) {
      const int64_t from = OutputSource(problem, variant, dial, row, c);
      if (from >= 0) needed.insert(from);
    }
  }
  std::set<int64_t> all = needed;
  for (const int64_t row : needed) {
    if (dial.Is(Fault::kMaxOfRowPair) && row % problem.q_len % 2 == 1) {
      all.insert(row - 1);
    }
    for (int64_t n = 1; n <= kRowsKept && n <= row; ++n) {
      if (dial.Is(Fault::kEmptyRowKeepsPrevious)) all.insert(row - n);
    }
    for (int64_t r = row - problem.q_len; r >= 0; r -= problem.q_len) {
      if (dial.Is(Fault::kScratchReused)) all.insert(r);
    }
  }
  return {all.begin(), all.end()};
}

}  // namespace lockstep::verify
