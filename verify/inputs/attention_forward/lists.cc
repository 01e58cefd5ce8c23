#include "verify/inputs/attention_forward/lists.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "verify/inputs/fill.h"

namespace lockstep::verify {
namespace {

using ListDraw = DenseSource::ListDraw;

struct KeyRange {
  int64_t first = 0;
  int64_t count = 0;
};

// Keys among which those of query i are drawn; none where its own place, that
// of align=br, is before the first key.
KeyRange DrawnFrom(const AttentionForwardProblem& p, const DenseSource& source,
                   int64_t i) {
  if (source.draw != ListDraw::kRecent) return {0, p.kv_len};
  const int64_t end = std::max<int64_t>(i + 1 + p.kv_len - p.q_len, 0);
  const int64_t count = std::min(2 * source.entries, end);
  return {end - count, count};
}

// Marks the entries below `keys` in `seen`, which holds zeros. Returns how many
// keys these are.
int64_t Mark(std::span<const int32_t> list, int64_t keys,
             std::vector<uint8_t>* seen) {
  int64_t count = 0;
  for (const int32_t key : list) {
    if (key < 0) break;
    if (key >= keys) continue;
    uint8_t& mark = (*seen)[static_cast<size_t>(key)];
    count += mark == 0 ? 1 : 0;
    mark = 1;
  }
  return count;
}

// Makes one list after the other for a mask.
class ListMaker {
 public:
  explicit ListMaker(const AttentionForwardData& data)
      : p_(data.problem),
        in_(data.inputs),
        lists_(*data.lists),
        mask_(data.inputs.dense_masks[data.lists->dense]),
        seen_(static_cast<size_t>(p_.kv_len)) {}

  // The list, of any length, of a query.
  std::vector<int32_t> List(int64_t b, int64_t head, int64_t i) {
    const int64_t keys = in_.ValidKv(p_, b);
    const uint8_t* const row =
        &mask_(mask_.shape[0] == 1 ? 0 : b,
               mask_.shape[1] == 1 ? 0 : head * p_.group(), i, int64_t{0});
    const std::span<const int32_t> given = Given(b, head, i);
    if (Stands(given, row, keys, i < in_.ValidQ(p_, b))) {
      return {given.begin(), given.end()};
    }
    std::vector<int32_t> list;
    if (i >= in_.ValidQ(p_, b)) return list;
    for (int64_t j = 0; j < keys; ++j) {
      if (row[j] != 0) list.push_back(static_cast<int32_t>(j));
    }
    return list;
  }

 private:
  // The list that was drawn or read at that place; empty if there is none.
  std::span<const int32_t> Given(int64_t b, int64_t head, int64_t i) const {
    const int64_t all = p_.batch * p_.kv_heads * p_.q_len * lists_.entries;
    if (std::ssize(lists_.given) != all) return {};
    const int64_t at = ((b * p_.kv_heads + head) * p_.q_len + i);
    return std::span(lists_.given)
        .subspan(static_cast<size_t>(at * lists_.entries),
                 static_cast<size_t>(lists_.entries));
  }

  // Whether the list names keys of this problem, and those of the mask.
  bool Stands(std::span<const int32_t> list, const uint8_t* row, int64_t keys,
              bool there) {
    if (list.empty()) return false;
    const auto beyond = [&](int32_t key) { return key >= p_.kv_len; };
    if (std::any_of(list.begin(), list.end(), beyond)) return false;
    if (!there) return true;
    std::fill(seen_.begin(), seen_.end(), 0);
    Mark(list, keys, &seen_);
    const auto same = [](uint8_t a, uint8_t b) { return (a != 0) == (b != 0); };
    return std::equal(seen_.begin(), seen_.begin() + keys, row, same);
  }

  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& in_;
  const KeyLists& lists_;
  const TensorView<const uint8_t, 4>& mask_;
  std::vector<uint8_t> seen_;
};

}  // namespace

std::vector<int32_t> DrawLists(const CounterGenerator& generator,
                               const DenseSource& source,
                               const AttentionForwardProblem& problem) {
  const int64_t lists = problem.batch * problem.kv_heads * problem.q_len;
  const int64_t entries = source.entries;
  std::vector<int32_t> drawn(static_cast<size_t>(lists * entries),
                             kNoKeyListed);
  WordStream counts(generator, kStreamListCounts, lists);
  WordStream words(generator, kStreamLists, lists * entries);
  for (int64_t list = 0; list < lists; ++list) {
    const auto shorter = counts.At(list);
    const int64_t count = shorter[0] % 4 == 0 ? shorter[1] % entries : entries;
    const KeyRange from = DrawnFrom(problem, source, list % problem.q_len);
    const auto begin = drawn.begin() + list * entries;
    for (int64_t n = 0; n < count && from.count > 0; ++n) {
      const auto word = words.At(list * entries + n);
      const auto steps = static_cast<uint64_t>(from.count) * word[0] >> 32;
      begin[n] =
          n > 0 && word[1] % 8 == 0
              ? begin[n - 1]
              : static_cast<int32_t>(from.first + static_cast<int64_t>(steps));
    }
    if (source.draw == ListDraw::kAscending) std::sort(begin, begin + count);
  }
  return drawn;
}

void MarkListed(const AttentionForwardProblem& problem, const KeyLists& lists,
                const TensorView<uint8_t, 4>& mask) {
  const int64_t group = mask.shape[1] == 1 ? 1 : problem.group();
  auto entry = lists.given.begin();
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t head = 0; head < problem.kv_heads; ++head) {
      for (int64_t i = 0; i < problem.q_len; ++i, entry += lists.entries) {
        for (auto key = entry; key != entry + lists.entries; ++key) {
          if (*key < 0) break;
          for (int64_t h = head * group; h < (head + 1) * group; ++h) {
            mask(b, h, i, int64_t{*key}) = 1;
          }
        }
      }
    }
  }
}

ListTensor ListsOf(const AttentionForwardData& data) {
  const AttentionForwardProblem& p = data.problem;
  ListMaker maker(data);
  std::vector<std::vector<int32_t>> lists;
  auto longest = static_cast<size_t>(data.lists->entries);
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t head = 0; head < p.kv_heads; ++head) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        lists.push_back(maker.List(b, head, i));
        longest = std::max(longest, lists.back().size());
      }
    }
  }
  ListTensor made;
  made.shape = {p.batch, p.kv_heads, p.q_len, static_cast<int64_t>(longest)};
  for (const std::vector<int32_t>& list : lists) {
    made.keys.insert(made.keys.end(), list.begin(), list.end());
    made.keys.insert(made.keys.end(), longest - list.size(), kNoKeyListed);
  }
  return made;
}

ListTensor EndedLists(const AttentionForwardData& data) {
  constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();
  constexpr int32_t kSmallest = std::numeric_limits<int32_t>::min();
  constexpr int64_t kStride = 7919;  // a prime: all keys take turns
  const int64_t keys = data.problem.kv_len;
  ListTensor made = ListsOf(data);
  const int64_t entries = made.shape[3];
  bool ended = false;
  for (int64_t at = 0; at < std::ssize(made.keys); ++at) {
    int32_t& entry = made.keys[static_cast<size_t>(at)];
    if (at % entries == 0) ended = false;
    if (ended) {
      const auto beyond = static_cast<int32_t>(keys);
      const auto key =
          static_cast<int32_t>(at * kStride % std::max<int64_t>(keys, 1));
      const std::array<int32_t, 5> garbage = {key, kLargest, key, kSmallest,
                                              beyond};
      entry = garbage[static_cast<size_t>(at) % garbage.size()];
    } else {
      ended = entry < 0;
    }
  }
  return made;
}

void AddLists(const AttentionForwardData& data, KernelInputs* inputs) {
  if (!data.lists) return;
  const ListTensor lists = ListsOf(data);
  inputs->AddIntegers("indices", {lists.shape.begin(), lists.shape.end()},
                      lists.keys);
}

void HandOverLists(const AttentionForwardData& data, KernelInputs* inputs) {
  if (!data.lists) return;
  inputs->Drop("dense_mask_" + std::to_string(data.lists->dense));
  inputs->listed = data.lists->dense;
}

void HandOverEndedLists(const AttentionForwardData& data,
                        KernelInputs* inputs) {
  HandOverLists(data, inputs);
  if (!data.lists) return;
  const ListTensor lists = EndedLists(data);
  inputs->AddIntegers("indices", {lists.shape.begin(), lists.shape.end()},
                      lists.keys);
}

}  // namespace lockstep::verify
