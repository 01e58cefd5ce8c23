#include "verify/emulator/attention_forward/visibility.h"

#include <algorithm>
#include <utility>

namespace lockstep::verify {
namespace {

using Kind = MaskExpr::Kind;

// Keys or rows that faulty kernels treat as one.
constexpr int64_t kVector = 8;
// Key indices that a faulty mask tells apart.
constexpr int64_t kNarrowIndex = 64;

int64_t FloorOf(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q * b > a ? q - 1 : q;
}

using Positions = std::vector<int64_t>;

// The start of the run that each position is in.
Positions StartsOf(const TensorView<const int32_t, 2>& ids, int64_t b,
                   int64_t length) {
  Positions starts;
  for (int64_t at = 0; at < length; ++at) {
    const bool same = at > 0 && ids(b, at) == ids(b, at - 1);
    starts.push_back(same ? starts.back() : at);
  }
  return starts;
}

// The ordinal of that run.
Positions OrdinalsOf(const Positions& starts) {
  Positions ordinals;
  for (size_t at = 0; at < starts.size(); ++at) {
    const bool same = at > 0 && starts[at] == starts[at - 1];
    const int64_t before = at > 0 ? ordinals.back() : -1;
    ordinals.push_back(same ? before : before + 1);
  }
  return ordinals;
}

size_t At(int64_t n) { return static_cast<size_t>(n); }

// Whether a sink term of the tree lets key j pass, whatever stands beside it.
template <typename Leaf>
bool AnySink(const MaskExpr& mask, const Leaf& leaf) {
  if (mask.kind == Kind::kSink) return leaf(mask);
  return std::any_of(
      mask.children.begin(), mask.children.end(),
      [&](const MaskExpr& child) { return AnySink(child, leaf); });
}

bool HasPrefix(const MaskExpr& mask) {
  return mask.kind == Kind::kPrefix ||
         std::any_of(mask.children.begin(), mask.children.end(), HasPrefix);
}

bool HasSink(const MaskExpr& mask) {
  return mask.kind == Kind::kSink ||
         std::any_of(mask.children.begin(), mask.children.end(), HasSink);
}

}  // namespace

Visibility::Visibility(const AttentionForwardProblem& problem,
                       const AttentionForwardInputs& inputs,
                       const FaultDial& dial)
    : problem_(problem), inputs_(inputs), dial_(dial) {
  if (!problem.segments) return;
  const bool by_run = dial.Is(Fault::kSegmentsByRun);
  bool sinks = false;
  for (int64_t h = 0; h < problem.q_heads; ++h) {
    sinks = sinks || HasSink(problem.mask(h));
  }
  for (int64_t b = 0; (sinks || by_run) && b < problem.batch; ++b) {
    kv_starts_.push_back(StartsOf(inputs.kv_seg, b, problem.kv_len));
    if (!by_run) continue;
    kv_runs_.push_back(OrdinalsOf(kv_starts_.back()));
    q_runs_.push_back(OrdinalsOf(StartsOf(inputs.q_seg, b, problem.q_len)));
  }
}

int64_t Visibility::Offset(int64_t b) const {
  if (dial_.Is(Fault::kOffsetOfBatch0)) b = 0;
  using Align = Alignment::Kind;
  Align kind = problem_.align.kind;
  if (dial_.Is(Fault::kTopLeft) && kind == Align::kBottomRight) {
    kind = Align::kTopLeft;
  } else if (dial_.Is(Fault::kBottomRight) && kind == Align::kTopLeft) {
    kind = Align::kBottomRight;
  }
  int64_t offset = kind == Align::kOffset ? problem_.align.offset : 0;
  if (kind == Align::kBottomRight) {
    offset = dial_.Is(Fault::kOffsetPadded)
                 ? problem_.kv_len - problem_.q_len
                 : inputs_.ValidKv(problem_, b) - inputs_.ValidQ(problem_, b);
  }
  if (dial_.Is(Fault::kOffsetIgnored)) return 0;
  return dial_.Is(Fault::kOffsetSign) ? -offset : offset;
}

int64_t Visibility::Position(const MaskPoint& at) const {
  int64_t position = at.i + Offset(at.b);
  // A decode kernel packs the group's heads as rows, and masks them as such.
  if (dial_.Is(Fault::kGroupRowsCausal) && problem_.q_len == 1) {
    position += at.h % problem_.group() - (problem_.group() - 1);
  }
  return position;
}

bool Visibility::SameSegment(const MaskPoint& at) const {
  if (!problem_.segments || dial_.Is(Fault::kSegmentsIgnored)) return true;
  int64_t b = at.b;
  if (dial_.Is(Fault::kSegmentsOfBatch0)) b = 0;
  const int64_t folded = at.b * problem_.kv_heads + at.h / problem_.group();
  if (dial_.Is(Fault::kSegmentsTiled)) b = folded % problem_.batch;
  if (dial_.Is(Fault::kSegmentsNotReplicated)) {
    b = std::min(folded, problem_.batch - 1);
  }
  if (dial_.Is(Fault::kSegmentsByRun)) {
    return q_runs_[At(b)][At(at.i)] == kv_runs_[At(b)][At(at.j)];
  }
  if (dial_.Is(Fault::kSegmentsOfPreviousRow)) b = std::max<int64_t>(b - 1, 0);
  int64_t i = at.i;
  int64_t j = at.j;
  if (dial_.Is(Fault::kSegmentOfFirstQuery)) i -= i % kVector;
  if (dial_.Is(Fault::kSegmentPerVector)) j -= j % kVector;
  if (dial_.Is(Fault::kSegmentsShifted)) j = std::max<int64_t>(j - 1, 0);
  const int32_t q = inputs_.q_seg(b, i);
  const int32_t kv = dial_.Is(Fault::kKvSegmentsFromQ)
                         ? inputs_.q_seg(b, std::min(j, problem_.q_len - 1))
                         : inputs_.kv_seg(b, j);
  if (dial_.Is(Fault::kSegments8Bit)) {
    return static_cast<uint8_t>(q) == static_cast<uint8_t>(kv);
  }
  if (dial_.Is(Fault::kSegments16Bit)) {
    return static_cast<uint16_t>(q) == static_cast<uint16_t>(kv);
  }
  if (dial_.Is(Fault::kSegmentsFloat)) {
    return static_cast<float>(q) == static_cast<float>(kv);
  }
  if (dial_.Is(Fault::kSegmentZeroPads) && kv == 0) return false;
  return dial_.Is(Fault::kSegmentsOrdered) ? q >= kv : q == kv;
}

bool Visibility::Payload(const MaskPoint& at) const {
  const int64_t b = dial_.Is(Fault::kValidOfBatch0) ? 0 : at.b;
  int64_t queries = inputs_.ValidQ(problem_, b);
  int64_t keys = inputs_.ValidKv(problem_, b);
  if (dial_.Is(Fault::kValidOfNextRow)) {
    keys = inputs_.ValidKv(problem_, (b + 1) % problem_.batch);
  }
  if (dial_.Is(Fault::kValidCountsSwapped)) std::swap(queries, keys);
  if (dial_.Is(Fault::kValidKeysOnly)) queries = problem_.q_len;
  if (dial_.Is(Fault::kValidKvIgnored)) keys = problem_.kv_len;
  if (dial_.Is(Fault::kValidZeroMeansAll)) {
    if (queries == 0) queries = problem_.q_len;
    if (keys == 0) keys = problem_.kv_len;
  }
  if (dial_.Is(Fault::kValidOffByOne)) ++keys;
  if (at.i >= queries || at.j >= keys) return false;
  if (dial_.Is(Fault::kPrefixIgnoresSegments) &&
      HasPrefix(problem_.mask(at.h)) && !(Position(at) >= at.j)) {
    return true;
  }
  return SameSegment(at);
}

bool Visibility::Tree(const MaskPoint& at) const {
  int64_t h = dial_.Is(Fault::kHead0Mask) ? 0 : at.h;
  if (dial_.Is(Fault::kMaskOfNextHead)) {
    h = std::min(h + 1, problem_.q_heads - 1);
  } else if (dial_.Is(Fault::kMaskOfKvHead)) {
    h /= problem_.group();
  }
  const MaskExpr& mask = problem_.mask(h);
  if (dial_.Is(Fault::kSinkIgnoresCausal) &&
      AnySink(mask, [&](const MaskExpr& leaf) { return Sink(leaf, at); })) {
    return true;
  }
  return Node(mask, at);
}

// Without a bug: what is left of the rest, without asking for each.
bool Visibility::Honestly(const MaskPoint& at) const {
  if (at.i >= inputs_.ValidQ(problem_, at.b)) return false;
  if (at.j >= inputs_.ValidKv(problem_, at.b)) return false;
  const bool apart = problem_.segments &&
                     inputs_.q_seg(at.b, at.i) != inputs_.kv_seg(at.b, at.j);
  return !apart && Node(problem_.mask(at.h), at);
}

bool Visibility::operator()(const MaskPoint& point) const {
  if (dial_.IsHonest()) return Honestly(point);
  MaskPoint at = point;
  if (dial_.Is(Fault::kMaskOfPreviousRow) && at.i > 0) --at.i;
  if (dial_.Is(Fault::kKeyIndexNarrow)) at.j %= kNarrowIndex;
  if (dial_.Is(Fault::kSegmentsOr) && problem_.segments) {
    return at.i < inputs_.ValidQ(problem_, at.b) &&
           at.j < inputs_.ValidKv(problem_, at.b) &&
           (Tree(at) || SameSegment(at));
  }
  return Payload(at) && Tree(at);
}

bool Visibility::Causal(const MaskPoint& at) const {
  if (dial_.Is(Fault::kSingleQueryNotCausal) && problem_.q_len == 1) {
    return true;
  }
  const int64_t back = Position(at) - at.j;
  if (dial_.Is(Fault::kCausalStrict)) return back > 0;
  if (dial_.Is(Fault::kCausalPlusOne)) return back >= -1;
  if (dial_.Is(Fault::kCausalByVector)) {
    return Position(at) >= at.j - at.j % kVector;
  }
  if (dial_.Is(Fault::kCausalByQueries)) {
    return back + kVector - 1 - at.i % kVector >= 0;
  }
  return back >= 0;
}

bool Visibility::Window(const MaskExpr& mask, const MaskPoint& at) const {
  int64_t left = mask.left;
  int64_t right = mask.right;
  const auto widen = [](int64_t* side, int64_t by) {
    if (*side != kUnlimited) *side = std::max<int64_t>(*side + by, 0);
  };
  if (dial_.Is(Fault::kWindowLeftPlusOne)) widen(&left, 1);
  if (dial_.Is(Fault::kWindowLeftMinusOne)) widen(&left, -1);
  if (dial_.Is(Fault::kWindowRightPlusOne)) widen(&right, 1);
  if (dial_.Is(Fault::kWindowRightIgnored)) right = kUnlimited;
  if (dial_.Is(Fault::kWindowZeroMeansOff) && left == 0) left = kUnlimited;
  if (dial_.Is(Fault::kWindowRightToUnlimited) && right >= problem_.kv_len) {
    right = kUnlimited;
  }
  if (dial_.Is(Fault::kSingleQueryUnwindowed) && problem_.q_len == 1) {
    left = kUnlimited;
  }
  const int64_t position =
      dial_.Is(Fault::kWindowIgnoresOffset) ? at.i : Position(at);
  const int64_t back = position - at.j;
  if (dial_.Is(Fault::kWindowByVector) && left != kUnlimited) {
    // The last key of the vector lies in the window: all of it is seen.
    left += kVector - 1 - at.j % kVector;
  }
  if (dial_.Is(Fault::kWindowByQueries) && left != kUnlimited) {
    left += at.i % kVector;
  }
  return (left == kUnlimited || back <= left) &&
         (right == kUnlimited || -back <= right);
}

bool Visibility::Chunked(const MaskExpr& mask, const MaskPoint& at) const {
  const int64_t position = Position(at);
  const int64_t back = position - at.j;
  if (back < 0) return false;
  if (dial_.Is(Fault::kChunkRelative)) return back < mask.chunk;
  const int64_t of_query =
      dial_.Is(Fault::kChunkIgnoresOffset) ? at.i : position;
  const int64_t key = dial_.Is(Fault::kChunkOfNextKey) ? at.j + 1 : at.j;
  return FloorOf(of_query, mask.chunk) == FloorOf(key, mask.chunk);
}

bool Visibility::Prefix(const MaskExpr& mask, const MaskPoint& at) const {
  const bool per_row =
      mask.prefix.size() > 1 && !dial_.Is(Fault::kPrefixOfBatch0);
  int64_t row = per_row ? at.b : 0;
  if (dial_.Is(Fault::kPrefixOfHead)) {
    row = at.h % static_cast<int64_t>(mask.prefix.size());
  }
  int64_t prefix = mask.prefix[static_cast<size_t>(row)];
  if (dial_.Is(Fault::kPrefixPlusOne)) ++prefix;
  if (dial_.Is(Fault::kPrefixMinusOne)) --prefix;
  return at.j < prefix || Position(at) >= at.j;
}

bool Visibility::Sink(const MaskExpr& mask, const MaskPoint& at) const {
  int64_t tokens = mask.tokens;
  if (dial_.Is(Fault::kSinkPlusOne)) ++tokens;
  if (!problem_.segments || dial_.Is(Fault::kSinkNotRelative)) {
    return at.j < tokens;
  }
  return at.j - kv_starts_[At(at.b)][At(at.j)] < tokens;
}

int64_t Visibility::Count(const MaskPoint& at) const {
  int64_t count = 1;
  for (const auto& bits : inputs_.dense_masks) {
    if (bits.shape[2] != problem_.q_len || bits.shape[3] != problem_.kv_len) {
      continue;  // of blocks
    }
    const int64_t b = bits.shape[0] == 1 ? 0 : at.b;
    const int64_t h = bits.shape[1] == 1 ? 0 : at.h;
    count = std::max<int64_t>(count, bits(b, h, at.i, at.j));
  }
  return count;
}

bool Visibility::Dense(const MaskExpr& mask, const MaskPoint& at) const {
  const auto& bits = inputs_.dense_masks[mask.dense];
  int64_t b = bits.shape[0] == 1 ? 0 : at.b;
  int64_t h = bits.shape[1] == 1 ? 0 : at.h;
  if (dial_.Is(Fault::kDenseAxesSwapped)) {
    b = at.h % bits.shape[0];
    h = at.b % bits.shape[1];
  }
  if (dial_.Is(Fault::kDenseTransposed) && at.i < problem_.kv_len &&
      at.j < problem_.q_len) {
    return bits(b, h, at.j / mask.block_q, at.i / mask.block_k) != 0;
  }
  const int64_t i = dial_.Is(Fault::kDenseLocalRow) ? at.i % kVector : at.i;
  return bits(b, h, i / mask.block_q, at.j / mask.block_k) != 0;
}

bool Visibility::Node(const MaskExpr& mask, const MaskPoint& at) const {
  bool all = true;
  bool any = false;
  switch (mask.kind) {
    case Kind::kFull:
      return true;
    case Kind::kCausal:
      return Causal(at);
    case Kind::kWindow:
      return Window(mask, at);
    case Kind::kChunked:
      return Chunked(mask, at);
    case Kind::kPrefix:
      return Prefix(mask, at);
    case Kind::kSink:
      return Sink(mask, at);
    case Kind::kDense:
      return Dense(mask, at);
    case Kind::kAnd:
    case Kind::kOr:
      for (const MaskExpr& child : mask.children) {
        const bool sees = Node(child, at);
        all = all && sees;
        any = any || sees;
      }
  }
  const bool conjunction = mask.kind == Kind::kAnd ? !dial_.Is(Fault::kAndAsOr)
                                                   : dial_.Is(Fault::kOrAsAnd);
  return conjunction ? all : any;
}

}  // namespace lockstep::verify
