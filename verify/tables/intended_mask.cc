#include "verify/tables/intended_mask.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "reference/contract/attention_forward.h"
#include "reference/contract/limits.h"
#include "reference/contract/mask.h"
#include "reference/mask.h"

namespace lockstep::verify {
namespace {

using Kind = MaskExpr::Kind;

// Farther than any query is from any key, so that a bound beyond it does not
// bind; sums of it do not overflow.
constexpr int64_t kFar = 2 * kMaxOffset;

// Whether a head of its own means bits of its own.
bool HasHeadBits(const MaskExpr& mask, const AttentionForwardInputs& inputs) {
  return (mask.kind == Kind::kDense &&
          inputs.dense_masks[mask.dense].shape[1] != 1) ||
         std::any_of(
             mask.children.begin(), mask.children.end(),
             [&](const MaskExpr& child) { return HasHeadBits(child, inputs); });
}

// The first head whose mask is the same by its expression.
int64_t FirstLike(const AttentionForwardProblem& problem,
                  const AttentionForwardInputs& inputs, int64_t head) {
  if (HasHeadBits(problem.mask(head), inputs)) return head;
  int64_t first = 0;
  while (!(problem.mask(first) == problem.mask(head))) ++first;
  return first;
}

// Where along the keys the answer to one query may turn.
class Turns {
 public:
  Turns(const AttentionForwardProblem& problem,
        const AttentionForwardInputs& inputs, int64_t batch, bool segments)
      : problem_(problem),
        inputs_(inputs),
        batch_(batch),
        valid_kv_(inputs.ValidKv(problem, batch)),
        offset_(inputs.Offset(problem, batch)),
        by_id_(segments && problem.segments) {
    if (!inputs.kv_seg.data) {
      runs_[0] = {{0, static_cast<int32_t>(problem.kv_len)}};
      return;
    }
    for (int64_t j = 0; j < problem.kv_len; ++j) {
      const int32_t id = inputs.kv_seg(batch, j);
      std::vector<KeyRange>& runs = runs_[by_id_ ? id : 0];
      if (j == 0 || inputs.kv_seg(batch, j - 1) != id) {
        runs.push_back({static_cast<int32_t>(j), 0});
      }
      runs.back().end = static_cast<int32_t>(j) + 1;
    }
  }

  // Ascending, the first 0; from the valid count on nothing is visible.
  const std::vector<int64_t>& Of(int64_t head, int64_t query) {
    turns_ = {0};
    every_key_ = false;
    const std::vector<KeyRange>& own = Own(query);
    for (size_t n = 0; by_id_ && n < own.size(); ++n) {
      turns_.insert(turns_.end(), {own[n].begin, own[n].end});
    }
    Append(problem_.mask(head), query, own);
    if (every_key_) return EveryKey();
    std::erase_if(turns_, [&](int64_t j) { return j < 0 || j >= valid_kv_; });
    if (!std::is_sorted(turns_.begin(), turns_.end())) {
      std::sort(turns_.begin(), turns_.end());
    }
    turns_.erase(std::unique(turns_.begin(), turns_.end()), turns_.end());
    return turns_;
  }

  // Whether a query sees what the one before it sees, by what both are made of.
  bool AsBefore(int64_t head, int64_t query) const {
    if (query == 0) return false;
    const bool same_id = !by_id_ || inputs_.q_seg(batch_, query) ==
                                        inputs_.q_seg(batch_, query - 1);
    return same_id && SameOf(problem_.mask(head), query);
  }

  // How many there are at most.
  int64_t Most(int64_t head, int64_t query) {
    const auto runs = static_cast<int64_t>(Own(query).size());
    return 1 + 2 * runs + MostOf(problem_.mask(head), runs);
  }

  int64_t valid_kv() const { return valid_kv_; }

 private:
  // Runs of keys that the query's id leaves; all of them without ids.
  const std::vector<KeyRange>& Own(int64_t query) {
    const int32_t id = by_id_ ? inputs_.q_seg(batch_, query) : 0;
    if (own_ == nullptr || id != own_id_) {
      own_id_ = id;
      const auto found = runs_.find(id);
      own_ = found == runs_.end() ? &none_ : &found->second;
    }
    return *own_;
  }

  void Append(const MaskExpr& mask, int64_t query,
              const std::vector<KeyRange>& own) {
    const int64_t position = query + offset_;
    switch (mask.kind) {
      case Kind::kFull:
        break;
      case Kind::kCausal:
        turns_.push_back(position + 1);
        break;
      case Kind::kWindow:
        if (mask.left != kUnlimited) {
          turns_.push_back(position - std::min(mask.left, kFar));
        }
        if (mask.right != kUnlimited) {
          turns_.push_back(position + std::min(mask.right, kFar) + 1);
        }
        break;
      case Kind::kChunked: {
        // The chunk of a query in front of the keys shows none of them.
        const int64_t begin = position / mask.chunk * mask.chunk;
        turns_.insert(turns_.end(), {begin, position + 1});
        break;
      }
      case Kind::kPrefix: {
        const auto row = static_cast<size_t>(batch_);
        turns_.insert(
            turns_.end(),
            {mask.prefix[mask.prefix.size() == 1 ? 0 : row], position + 1});
        break;
      }
      case Kind::kSink:
        for (const KeyRange& run : own) {
          turns_.insert(turns_.end(),
                        {run.begin, run.begin + std::min(mask.tokens, kFar)});
        }
        break;
      case Kind::kDense:
        every_key_ = every_key_ || mask.block_k == 1;
        for (int64_t j = 0; !every_key_ && j < valid_kv_; j += mask.block_k) {
          turns_.push_back(j);
        }
        break;
      case Kind::kAnd:
      case Kind::kOr:
        for (const MaskExpr& child : mask.children) Append(child, query, own);
        break;
    }
  }

  // Only what does not go by positions, or by blocks of them, can be the same.
  static bool SameOf(const MaskExpr& mask, int64_t query) {
    switch (mask.kind) {
      case Kind::kFull:
      case Kind::kSink:
        return true;
      case Kind::kDense:
        return query % mask.block_q != 0;
      case Kind::kAnd:
      case Kind::kOr:
        return std::all_of(
            mask.children.begin(), mask.children.end(),
            [&](const MaskExpr& child) { return SameOf(child, query); });
      default:
        return false;
    }
  }

  const std::vector<int64_t>& EveryKey() {
    if (keys_.empty()) {
      keys_.resize(static_cast<size_t>(valid_kv_));
      std::iota(keys_.begin(), keys_.end(), 0);
    }
    return keys_;
  }

  int64_t MostOf(const MaskExpr& mask, int64_t runs) const {
    int64_t most = 2;
    if (mask.kind == Kind::kSink) most = 2 * runs;
    if (mask.kind == Kind::kDense) {
      most = (valid_kv_ + mask.block_k - 1) / mask.block_k;
    }
    for (const MaskExpr& child : mask.children) most += MostOf(child, runs);
    return most;
  }

  const AttentionForwardProblem& problem_;
  const AttentionForwardInputs& inputs_;
  int64_t batch_;
  int64_t valid_kv_;
  int64_t offset_;
  bool by_id_;
  std::map<int32_t, std::vector<KeyRange>> runs_;  // of each id; else of 0
  std::vector<KeyRange> none_;
  const std::vector<KeyRange>* own_ = nullptr;
  int32_t own_id_ = 0;
  std::vector<int64_t> turns_;  // of the query at hand
  bool every_key_ = false;      // may be one
  std::vector<int64_t> keys_;   // all
};

// Sets the bits [begin, end).
void SetBits(int64_t begin, int64_t end, std::span<uint64_t> words) {
  for (int64_t n = begin; n < end;) {
    const int64_t last = std::min(end, (n / 64 + 1) * 64);
    uint64_t bits = ~uint64_t{0} << (n % 64);
    if (last % 64 != 0) bits &= ~(~uint64_t{0} << (last % 64));
    words[static_cast<size_t>(n / 64)] |= bits;
    n = last;
  }
}

}  // namespace

void IntendedMask::HeadMask::CloseRow() {
  if (start.empty()) start.push_back(0);
  const auto last = ranges.begin() + start.back();
  // Queries of one block see the same: one row of ranges stands for them all.
  if (start.size() > 1) {
    const auto before = ranges.begin() + start[start.size() - 2];
    if (std::equal(before, last, last, ranges.end())) {
      ranges.erase(last, ranges.end());
      row.push_back(row.back());
      return;
    }
  }
  row.push_back(static_cast<int32_t>(start.size()) - 1);
  start.push_back(static_cast<int64_t>(ranges.size()));
}

IntendedMask IntendedMask::Of(const AttentionForwardProblem& problem,
                              const AttentionForwardInputs& inputs,
                              int64_t batch, bool segments) {
  AttentionForwardProblem asked = problem;
  asked.segments = segments && problem.segments;
  Turns turns(problem, inputs, batch, segments);
  const int64_t valid_q = inputs.ValidQ(problem, batch);
  IntendedMask mask;
  mask.q_len_ = problem.q_len;
  mask.kv_len_ = problem.kv_len;
  for (int64_t h = 0; h < problem.q_heads; ++h) {
    const int64_t first = FirstLike(problem, inputs, h);
    if (first < h) {
      mask.mask_of_head_.push_back(
          mask.mask_of_head_[static_cast<size_t>(first)]);
      continue;
    }
    HeadMask head;
    for (int64_t i = 0; i < problem.q_len; ++i) {
      if (i < valid_q && turns.AsBefore(h, i)) {
        head.row.push_back(head.row.back());
        continue;
      }
      static const std::vector<int64_t> kNowhere;
      const std::vector<int64_t>& at = i < valid_q ? turns.Of(h, i) : kNowhere;
      bool open = false;
      for (size_t n = 0; n < at.size(); ++n) {
        const bool seen =
            reference::IsVisible(asked, inputs, batch, h, i, at[n]);
        const auto end = static_cast<int32_t>(
            n + 1 < at.size() ? at[n + 1] : turns.valid_kv());
        if (seen && !open) {
          head.ranges.push_back({static_cast<int32_t>(at[n]), end});
        }
        if (seen) head.ranges.back().end = end;
        open = seen;
      }
      head.CloseRow();
    }
    mask.mask_of_head_.push_back(mask.masks_.size());
    mask.masks_.push_back(std::move(head));
  }
  return mask;
}

std::span<const KeyRange> IntendedMask::Keys(int64_t head,
                                             int64_t query) const {
  if (query < 0 || query >= q_len_) return {};
  const HeadMask& mask = MaskOf(head);
  const auto row = static_cast<size_t>(mask.row[static_cast<size_t>(query)]);
  return {mask.ranges.data() + mask.start[row],
          mask.ranges.data() + mask.start[row + 1]};
}

std::span<const KeyRange> IntendedMask::Keys(int64_t head, int64_t query,
                                             int64_t begin, int64_t end) const {
  const std::span<const KeyRange> keys = Keys(head, query);
  const auto first = std::partition_point(
      keys.begin(), keys.end(),
      [begin](const KeyRange& r) { return r.end <= begin; });
  auto last = first;
  while (last != keys.end() && last->begin < end) ++last;
  return {first, last};
}

bool IntendedMask::Alike(int64_t head, int64_t a, int64_t b) const {
  const std::vector<int32_t>& row = MaskOf(head).row;
  const auto row_of = [&](int64_t query) {
    return query < 0 || query >= q_len_ ? -1 : row[static_cast<size_t>(query)];
  };
  return row_of(a) == row_of(b);
}

int64_t IntendedMask::Count(int64_t head, int64_t query, int64_t begin,
                            int64_t end) const {
  int64_t count = 0;
  for (const KeyRange& range : Keys(head, query, begin, end)) {
    count += std::min<int64_t>(range.end, end) -
             std::max<int64_t>(range.begin, begin);
  }
  return count;
}

void IntendedMask::Bits(int64_t head, int64_t query, int64_t begin, int64_t end,
                        std::span<uint64_t> words) const {
  std::fill(words.begin(), words.end(), 0);
  for (const KeyRange& range : Keys(head, query, begin, end)) {
    SetBits(std::max<int64_t>(range.begin, begin) - begin,
            std::min<int64_t>(range.end, end) - begin, words);
  }
}

int64_t IntendedMask::PairsIn(int64_t head, KeyRange queries,
                              KeyRange keys) const {
  int64_t pairs = 0;
  ForAlike(head, queries.begin, queries.end, [&](int64_t first, int64_t last) {
    pairs += (last - first) * Count(head, first, keys.begin, keys.end);
  });
  return pairs;
}

int64_t IntendedMask::Pairs(int64_t head) const {
  return PairsIn(head, {0, static_cast<int32_t>(q_len_)},
                 {0, static_cast<int32_t>(kv_len_)});
}

int64_t IntendedMask::Differences(int64_t a, int64_t b) const {
  int64_t both = 0;
  for (int64_t i = 0; i < q_len_; ++i) {
    for (const KeyRange& range : Keys(b, i)) {
      both += Count(a, i, range.begin, range.end);
    }
  }
  return Pairs(a) + Pairs(b) - 2 * both;
}

int64_t PlacesToAsk(const AttentionForwardProblem& problem,
                    const AttentionForwardInputs& inputs, int64_t batch,
                    bool segments) {
  Turns turns(problem, inputs, batch, segments);
  int64_t places = 0;
  for (int64_t h = 0; h < problem.q_heads; ++h) {
    if (FirstLike(problem, inputs, h) < h) continue;
    for (int64_t i = 0; i < problem.q_len; ++i) {
      if (turns.AsBefore(h, i)) continue;
      if (__builtin_add_overflow(places, turns.Most(h, i), &places)) {
        return INT64_MAX;
      }
    }
  }
  return places;
}

}  // namespace lockstep::verify
