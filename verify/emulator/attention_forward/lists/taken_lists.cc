#include "verify/emulator/attention_forward/lists/taken_lists.h"

#include <algorithm>

#include "reference/contract/mask.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kVector = 16;    // entries that are read at a time
constexpr int64_t kQueryTile = 4;  // queries that share a list by mistake
constexpr uint8_t kMostOften = 255;

class ListWalk {
 public:
  ListWalk(const AttentionForwardProblem& problem,
           const AttentionForwardInputs& inputs, const ListedKeys& listed,
           const FaultDial& dial)
      : p_(problem), in_(inputs), lists_(listed.lists), dial_(dial) {}

  // The keys that the kernel reads for a query, each as often as it does.
  std::vector<int32_t> Keys(int64_t b, int64_t h, int64_t i) const {
    std::vector<int32_t> keys;
    for (int64_t n = 0; n < Entries(); ++n) {
      const int32_t entry = EntryOf(b, h, i, n);
      if (entry < 0) {
        if (dial_.Is(Fault::kListEndPassed)) continue;
        const int64_t last = in_.ValidKv(p_, b) - 1;
        if (dial_.Is(Fault::kListNoKeyLast) && last >= 0) {
          keys.push_back(static_cast<int32_t>(last));
        }
        break;
      }
      // Such entries stand behind the end of a list. What a kernel finds there
      // is not its own memory.
      if (entry >= p_.kv_len) continue;
      if (dial_.Is(Fault::kListAscendingOnly) && !keys.empty() &&
          entry < keys.back()) {
        break;
      }
      keys.push_back(Narrow(entry));
    }
    return Cut(std::move(keys));
  }

 private:
  int64_t Entries() const { return lists_.shape[3]; }

  int32_t EntryOf(int64_t b, int64_t h, int64_t i, int64_t n) const {
    int64_t head = h / p_.group();
    if (dial_.Is(Fault::kListBatchZero)) b = 0;
    if (dial_.Is(Fault::kListKvHeadZero)) head = 0;
    if (dial_.Is(Fault::kListAxesSwapped)) {
      const int64_t flat = i * p_.kv_heads + head;
      head = flat / p_.q_len;
      i = flat % p_.q_len;
    }
    if (dial_.Is(Fault::kListOfNextQuery)) i = (i + 1) % p_.q_len;
    if (dial_.Is(Fault::kListOfFirstQuery)) i -= i % kQueryTile;
    if (dial_.Is(Fault::kListStageReused) && n >= 2 * kVector) {
      n -= 2 * kVector;
    }
    if (dial_.Is(Fault::kListRowStride)) {
      const int64_t flat = i * (Entries() - 1) + n;
      return lists_(b, head, flat / Entries(), flat % Entries());
    }
    if (dial_.Is(Fault::kListShortGoesOn) && n >= EndOf(b, head, i)) {
      return lists_(b, head, (i + 1) % p_.q_len, n);
    }
    return lists_(b, head, i, n);
  }

  // The place of the first -1.
  int64_t EndOf(int64_t b, int64_t head, int64_t i) const {
    int64_t n = 0;
    while (n < Entries() && lists_(b, head, i, n) >= 0) ++n;
    return n;
  }

  int32_t Narrow(int32_t key) const {
    if (!dial_.Is(Fault::kListKeyNarrow)) return key;
    const auto bits = static_cast<int>(dial_.SeverityOf(Fault::kListKeyNarrow));
    return key % (1 << bits);
  }

  std::vector<int32_t> Cut(std::vector<int32_t> keys) const {
    if (dial_.Is(Fault::kListLastEntryLost) && !keys.empty()) keys.pop_back();
    if (dial_.Is(Fault::kListWholeVectors)) {
      keys.resize(keys.size() - keys.size() % kVector);
    }
    return keys;
  }

  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& in_;
  const TensorView<const int32_t, 4>& lists_;
  const FaultDial& dial_;
};

// Whether the mask has the dense term.
bool HasTerm(const MaskExpr& mask, size_t dense) {
  if (mask.kind == MaskExpr::Kind::kDense && mask.dense == dense) return true;
  return std::any_of(
      mask.children.begin(), mask.children.end(),
      [&](const MaskExpr& child) { return HasTerm(child, dense); });
}

}  // namespace

bool BreaksLists(const FaultDial& dial) {
  const auto of_lists = [](Fault f) {
    return f >= Fault::kListOfNextQuery && f <= Fault::kListKeyNarrow;
  };
  return of_lists(dial.fault) || of_lists(dial.second);
}

TakenLists TakeLists(const AttentionForwardProblem& problem,
                     const AttentionForwardInputs& inputs,
                     const ListedKeys& listed, const FaultDial& dial) {
  const AttentionForwardProblem& p = problem;
  const ListWalk walk(problem, inputs, listed, dial);
  TakenLists taken;
  taken.problem = problem;
  taken.inputs = inputs;
  const auto row = static_cast<size_t>(p.kv_len);
  taken.mask.resize(static_cast<size_t>(p.batch * p.q_heads * p.q_len) * row);
  size_t at = 0;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i, at += row) {
        for (const int32_t key : walk.Keys(b, h, i)) {
          uint8_t& often = taken.mask[at + static_cast<size_t>(key)];
          if (often < kMostOften) ++often;
        }
      }
    }
  }
  auto& view = taken.inputs.dense_masks[listed.dense];
  view.data = taken.mask.data();
  view.shape = {p.batch, p.q_heads, p.q_len, p.kv_len};
  view.strides = DenseStrides(view.shape);
  if (!dial.Is(Fault::kListAlone)) return taken;
  MaskExpr alone;
  alone.kind = MaskExpr::Kind::kDense;
  alone.dense = listed.dense;
  for (MaskExpr& mask : taken.problem.masks) {
    if (HasTerm(mask, listed.dense)) mask = alone;
  }
  return taken;
}

}  // namespace lockstep::verify
