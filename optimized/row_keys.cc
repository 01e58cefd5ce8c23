#include "optimized/row_keys.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"

namespace lockstep::optimized {
namespace {

Range Intersect(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// Whether TermKeys has an answer.
bool IsRange(const MaskExpr& mask) {
  switch (mask.kind) {
    case MaskExpr::Kind::kFull:
    case MaskExpr::Kind::kCausal:
    case MaskExpr::Kind::kWindow:
    case MaskExpr::Kind::kChunked:
    case MaskExpr::Kind::kPrefix:
      return true;
    default:
      return false;
  }
}

// Saturating position arithmetic: kUnlimited sides must not overflow.
Range WindowKeys(const MaskExpr& mask, int64_t position, int64_t kv_len) {
  return {
      mask.left == kUnlimited ? 0 : position - std::min(mask.left, kMaxOffset),
      mask.right == kUnlimited
          ? kv_len
          : position + std::min(mask.right, kMaxOffset) + 1};
}

// How many of the first `count` cells are `seen`, or not, like the first one.
// In words: cell by cell a mask of 8192 x 8192 cells took seven times as long
// as the attention of the tenth that it shows (Intel Xeon, family 6 model 167).
int64_t LeadingAlike(const uint8_t* cells, int64_t count, bool seen) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr int64_t kWord = sizeof(uint64_t);
  int64_t n = 1;
  for (uint64_t word = 0; n + kWord <= count; n += kWord) {
    std::memcpy(&word, cells + n, sizeof(word));
    // Set exactly if some byte is 0, if not always where that byte is.
    const uint64_t zeros = (word - kOnes) & ~word & (kOnes << 7);
    if (seen ? zeros != 0 : word != 0) break;
  }
  while (n < count && (cells[n] != 0) == seen) ++n;
  return n;
}

}  // namespace

int64_t FloorDiv(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}

void SetBits(Range keys, std::span<uint64_t> words) {
  const auto bits = static_cast<int64_t>(words.size()) * 64;
  const int64_t first = std::clamp<int64_t>(keys.begin, 0, bits);
  const int64_t last = std::clamp<int64_t>(keys.end, 0, bits);
  if (first >= last) return;
  auto word = static_cast<size_t>(first) / 64;
  const auto end = static_cast<size_t>(last - 1) / 64;
  uint64_t ones = ~uint64_t{0} << (first % 64);
  for (; word < end; ones = ~uint64_t{0}) words[word++] |= ones;
  words[end] |= ones & ~uint64_t{0} >> (63 - (last - 1) % 64);
}

Range KeepBits(Range keys, std::span<uint64_t> words) {
  const auto below = [](int64_t n) {
    return n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  };
  Range left;
  int64_t first = 0;
  for (uint64_t& word : words) {
    const int64_t begin = std::clamp<int64_t>(keys.begin - first, 0, 64);
    const int64_t end = std::clamp<int64_t>(keys.end - first, begin, 64);
    word &= below(end) & ~below(begin);
    if (word != 0) {
      if (left.empty()) left.begin = first + std::countr_zero(word);
      left.end = first + 64 - std::countl_zero(word);
    }
    first += 64;
  }
  return left;
}

std::optional<Range> TermKeys(const MaskExpr& mask, int64_t batch,
                              int64_t position, int64_t kv_len) {
  switch (mask.kind) {
    case MaskExpr::Kind::kFull:
      return Range{0, kv_len};
    case MaskExpr::Kind::kCausal:
      return Range{0, position + 1};
    case MaskExpr::Kind::kWindow:
      return WindowKeys(mask, position, kv_len);
    case MaskExpr::Kind::kChunked:
      return Range{FloorDiv(position, mask.chunk) * mask.chunk, position + 1};
    case MaskExpr::Kind::kPrefix: {
      const size_t row =
          mask.prefix.size() == 1 ? 0 : static_cast<size_t>(batch);
      return Range{0, std::max(position + 1, mask.prefix[row])};
    }
    case MaskExpr::Kind::kSink:
    case MaskExpr::Kind::kDense:
    case MaskExpr::Kind::kAnd:
    case MaskExpr::Kind::kOr:
      break;
  }
  return std::nullopt;
}

RowKeys::RowKeys(const AttentionForwardProblem& problem,
                 const AttentionForwardInputs& inputs, int64_t batch,
                 bool segments)
    : problem_(&problem),
      inputs_(&inputs),
      batch_(batch),
      segments_(segments && problem.segments),
      valid_q_(inputs.ValidQ(problem, batch)),
      valid_kv_(inputs.ValidKv(problem, batch)),
      offset_(inputs.Offset(problem, batch)) {
  if (!segments_) {
    runs_ = {{0, {0, problem.kv_len}}};
    own_ = runs_;
    return;
  }
  runs_ = RunsOf(inputs.kv_seg, batch);
  JoinSegments(&runs_);
}

void RowKeys::SelectRuns(int32_t id) {
  if (!own_.empty() && own_.front().id == id) return;  // neighbours are alike
  own_ = std::ranges::equal_range(runs_, id, {}, &IdRun::id);
}

// Most masks are conjunctions of ranges: half the time of planning them was
// the walk over their tree, query by query.
void RowKeys::SelectHead(int64_t head) {
  if (head == head_) return;
  head_ = head;
  ranges_.clear();
  const MaskExpr& mask = problem_->mask(head);
  if (IsRange(mask)) ranges_.push_back(&mask);
  if (mask.kind != MaskExpr::Kind::kAnd ||
      !std::all_of(mask.children.begin(), mask.children.end(), IsRange)) {
    return;
  }
  for (const MaskExpr& term : mask.children) ranges_.push_back(&term);
}

std::span<const Range> RowKeys::Visible(int64_t head, int64_t query) {
  stack_.clear();
  if (query >= valid_q_) return stack_;
  Range clip{0, valid_kv_};
  if (segments_) {
    SelectRuns(inputs_->q_seg(batch_, query));
    if (own_.empty()) return stack_;
    clip = Intersect(clip, {own_.front().tokens.begin, own_.back().tokens.end});
  }
  SelectHead(head);
  query_ = query;
  position_ = query + offset_;
  if (ranges_.empty()) {
    Push(problem_->mask(head), clip);
  } else {
    for (const MaskExpr* term : ranges_) {
      clip = Intersect(clip,
                       *TermKeys(*term, batch_, position_, problem_->kv_len));
    }
    if (!clip.empty()) stack_.push_back(clip);
  }
  if (own_.size() > 1 && !stack_.empty()) {
    const size_t middle = stack_.size();
    const Range hull{stack_.front().begin, stack_.back().end};
    for (const IdRun& run : own_) {
      const Range keys = Intersect(run.tokens, hull);
      if (!keys.empty()) stack_.push_back(keys);
    }
    IntersectTop(0, middle);
  }
  return stack_;
}

Selection RowKeys::Select(int64_t head) {
  Selection selection;
  for (int64_t query = 0; query < problem_->q_len; ++query) {
    const std::span<const Range> keys = Visible(head, query);
    selection.queries += keys.empty() ? 0 : 1;
    for (const Range& range : keys) selection.pairs += range.end - range.begin;
  }
  return selection;
}

// Appends the keys in `clip` that the term shows.
void RowKeys::Push(const MaskExpr& mask, Range clip) {
  const std::optional<Range> keys =
      TermKeys(mask, batch_, position_, problem_->kv_len);
  if (keys) clip = Intersect(clip, *keys);
  if (clip.empty()) return;
  switch (mask.kind) {
    case MaskExpr::Kind::kSink:
      // Of the query's own runs: the segment ids are ANDed in any case.
      for (const IdRun& run : own_) {
        const int64_t tokens = std::min(mask.tokens, problem_->kv_len);
        const Range first = Intersect(
            run.tokens, {run.tokens.begin, run.tokens.begin + tokens});
        const Range seen = Intersect(clip, first);
        if (!seen.empty()) stack_.push_back(seen);
      }
      return;
    case MaskExpr::Kind::kDense:
      return PushDense(mask, clip);
    case MaskExpr::Kind::kAnd:
      return PushAnd(mask, clip);
    case MaskExpr::Kind::kOr:
      return PushOr(mask, clip);
    default:
      stack_.push_back(clip);
  }
}

void RowKeys::PushDense(const MaskExpr& mask, Range clip) {
  const auto& dense = inputs_->dense_masks[mask.dense];
  const int64_t b = dense.shape[0] == 1 ? 0 : batch_;
  const int64_t h = dense.shape[1] == 1 ? 0 : head_;
  const uint8_t* row = &dense(b, h, query_ / mask.block_q, int64_t{0});
  const int64_t stride = dense.strides[3];
  const int64_t columns = (clip.end - 1) / mask.block_k + 1;
  const size_t base = stack_.size();
  for (int64_t column = clip.begin / mask.block_k; column < columns;) {
    const bool seen = row[column * stride] != 0;
    const int64_t alike =
        stride == 1 ? LeadingAlike(row + column, columns - column, seen) : 1;
    const Range keys = Intersect(
        clip, {column * mask.block_k, (column + alike) * mask.block_k});
    column += alike;
    if (!seen) continue;
    if (stack_.size() > base && stack_.back().end == keys.begin) {
      stack_.back().end = keys.end;
    } else {
      stack_.push_back(keys);
    }
  }
}

// Terms of one range narrow the clip before the others are looked at.
void RowKeys::PushAnd(const MaskExpr& mask, Range clip) {
  bool only_ranges = true;
  for (const MaskExpr& child : mask.children) {
    const std::optional<Range> keys =
        TermKeys(child, batch_, position_, problem_->kv_len);
    if (keys) clip = Intersect(clip, *keys);
    only_ranges = only_ranges && keys.has_value();
  }
  if (clip.empty()) return;
  if (only_ranges) return stack_.push_back(clip);
  const size_t base = stack_.size();
  bool first = true;
  for (const MaskExpr& child : mask.children) {
    if (TermKeys(child, batch_, position_, problem_->kv_len)) continue;
    const size_t middle = stack_.size();
    Push(child, clip);
    if (!first) IntersectTop(base, middle);
    first = false;
  }
}

void RowKeys::PushOr(const MaskExpr& mask, Range clip) {
  const size_t base = stack_.size();
  for (const MaskExpr& child : mask.children) Push(child, clip);
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(base);
  std::sort(begin, stack_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  size_t last = base;
  for (size_t at = base + 1; at < stack_.size(); ++at) {
    if (stack_[at].begin <= stack_[last].end) {
      stack_[last].end = std::max(stack_[last].end, stack_[at].end);
    } else {
      stack_[++last] = stack_[at];
    }
  }
  if (last < stack_.size()) stack_.resize(last + 1);
}

// Replaces the lists [base, middle) and [middle, top) by what both have.
void RowKeys::IntersectTop(size_t base, size_t middle) {
  merged_.clear();
  size_t a = base;
  size_t b = middle;
  while (a < middle && b < stack_.size()) {
    const Range both = Intersect(stack_[a], stack_[b]);
    if (!both.empty()) merged_.push_back(both);
    ++(stack_[a].end < stack_[b].end ? a : b);
  }
  stack_.resize(base);
  stack_.insert(stack_.end(), merged_.begin(), merged_.end());
}

}  // namespace lockstep::optimized
