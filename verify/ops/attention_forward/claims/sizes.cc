// The cases of claims in other sizes than the line's own.
#include <algorithm>
#include <optional>
#include <utility>

#include "verify/case/attention_forward/case.h"
#include "verify/ops/attention_forward/claims/claims.h"

namespace lockstep::verify {
namespace {

using Af = AttentionForwardCase;

const Af& Of(const Case& c) { return c.Get<Af>(); }

// The runs of the first positions of a list; the last run is as long as it
// takes.
std::vector<SegmentRun> RunsOf(std::vector<SegmentRun> runs, int64_t length) {
  int64_t end = 0;
  std::vector<SegmentRun> made;
  for (SegmentRun& run : runs) {
    run.length = std::min(run.length, length - end);
    if (run.length <= 0) break;
    end += run.length;
    made.push_back(run);
  }
  if (!made.empty()) made.back().length += length - end;
  return made;
}

// Those of the last `length` positions.
std::vector<SegmentRun> LastRuns(const std::vector<SegmentRun>& runs,
                                 int64_t length) {
  std::vector<SegmentRun> made(runs.rbegin(), runs.rend());
  made = RunsOf(std::move(made), length);
  std::reverse(made.begin(), made.end());
  return made;
}

void SetLength(int64_t queries, int64_t keys, Af* a) {
  const bool same = a->q_seg == a->kv_seg;
  for (auto& row : a->kv_seg.rows) row = RunsOf(std::move(row), keys);
  for (size_t n = 0; n < a->q_seg.rows.size(); ++n) {
    a->q_seg.rows[n] = same ? LastRuns(a->kv_seg.rows[n], queries)
                            : RunsOf(std::move(a->q_seg.rows[n]), queries);
  }
  // Queries of a sequence stay at its end.
  const bool square = a->q_len == a->kv_len;
  const bool at_start =
      a->align.kind == Alignment::Kind::kTopLeft ||
      (a->align.kind == Alignment::Kind::kOffset && a->align.offset == 0);
  if (square && at_start && queries < keys) {
    a->align = {Alignment::Kind::kBottomRight, 0};
  }
  a->q_len = queries;
  a->kv_len = keys;
  a->valid_q = {queries};
  a->valid_kv = {keys};
  a->strides = {};
}

// One prefix for each batch row, or one for all.
void RepeatPrefixes(size_t batch, MaskExpr* mask) {
  if (mask->prefix.size() > 1) {
    const std::vector<int64_t> own = mask->prefix;
    mask->prefix.resize(batch);
    for (size_t b = 0; b < batch; ++b) mask->prefix[b] = own[b % own.size()];
  }
  for (MaskExpr& child : mask->children) RepeatPrefixes(batch, &child);
}

// Whether no query sees a key behind its own.
bool LooksBack(const MaskExpr& mask) {
  const auto looks = [](const MaskExpr& child) { return LooksBack(child); };
  switch (mask.kind) {
    case MaskExpr::Kind::kCausal:
    case MaskExpr::Kind::kChunked:
      return true;
    case MaskExpr::Kind::kWindow:
      return mask.right == 0;
    case MaskExpr::Kind::kAnd:
      return std::any_of(mask.children.begin(), mask.children.end(), looks);
    case MaskExpr::Kind::kOr:
      return std::all_of(mask.children.begin(), mask.children.end(), looks);
    case MaskExpr::Kind::kFull:
    case MaskExpr::Kind::kPrefix:
    case MaskExpr::Kind::kSink:
    case MaskExpr::Kind::kDense:
      break;
  }
  return false;
}

MaskExpr LookingBack(const MaskExpr& mask) {
  if (LooksBack(mask)) return mask;
  MaskExpr causal;
  causal.kind = MaskExpr::Kind::kCausal;
  if (mask.kind == MaskExpr::Kind::kFull) return causal;
  MaskExpr both;
  both.kind = MaskExpr::Kind::kAnd;
  if (mask.kind == MaskExpr::Kind::kAnd) both.children = mask.children;
  if (both.children.empty()) both.children = {mask};
  both.children.push_back(causal);
  return both;
}

// Whether the line says lengths, in lists that others do not follow from.
bool HasCounts(const Af& a) {
  const auto below = [](const std::vector<int64_t>& counts, int64_t length) {
    return std::any_of(counts.begin(), counts.end(),
                       [&](int64_t count) { return count != length; });
  };
  return below(a.valid_q, a.q_len) || below(a.valid_kv, a.kv_len);
}

std::vector<int64_t> WithOwn(std::vector<int64_t> sizes, bool own,
                             int64_t size) {
  if (own) sizes.push_back(size);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace

int64_t AttentionClaimLength(const Case& c) { return Of(c).kv_len; }

bool AttentionClaimGrows(const Case& c) { return !NamesFiles(c); }

int64_t AttentionClaimWork(const Case& c) {
  const Af& a = Of(c);
  return a.batch * a.q_heads * a.q_len * a.kv_len * (a.head_dim + a.value_dim);
}

Result<Case> AttentionOfLength(const Case& c, const ClaimSize& size) {
  if (size.length == Of(c).kv_len) return c;
  Case made = c;
  Af& a = made.Get<Af>();
  SetLength(std::min(a.q_len, size.length), size.length, &a);
  return made;
}

Result<Case> AttentionOfBatch(const Case& c, const ClaimSize& size) {
  const bool own =
      size.length == Of(c).kv_len && size.width == Of(c).batch && !size.ragged;
  if (own) return c;
  Case made = c;
  Af& a = made.Get<Af>();
  SetLength(std::min(a.q_len, size.length), size.length, &a);
  const auto batch = static_cast<size_t>(size.width);
  for (Segments* segments : {&a.q_seg, &a.kv_seg}) {
    const auto rows = segments->rows;
    for (size_t b = 0; rows.size() > 1 && b < batch; ++b) {
      if (b >= segments->rows.size()) segments->rows.emplace_back();
      segments->rows[b] = rows[b % rows.size()];
    }
    if (rows.size() > 1) segments->rows.resize(batch);
  }
  RepeatPrefixes(batch, &a.mask);
  for (auto& [head, mask] : a.head_mask) RepeatPrefixes(batch, &mask);
  a.batch = size.width;
  if (size.ragged) a.valid_kv.clear();
  for (int64_t b = 0; size.ragged && b < a.batch; ++b) {
    // The first is short, the last has all keys, the others any number.
    const int64_t any = 1 + (b * 7919 + 13) % size.length;
    const int64_t keys = b == 0             ? (size.length + 1) / 2
                         : b == a.batch - 1 ? size.length
                                            : any;
    a.valid_kv.push_back(keys);
  }
  return made;
}

Result<Case> AttentionOfHeads(const Case& c, const ClaimSize& size) {
  const bool own = size.length == Of(c).kv_len && size.width == Of(c).kv_heads;
  if (own) return c;
  Case made = c;
  Af& a = made.Get<Af>();
  if (size.length != a.kv_len) {
    SetLength(std::min(a.q_len, size.length), size.length, &a);
  }
  a.strides = {};
  const int64_t group = a.q_heads / a.kv_heads;
  a.kv_heads = size.width;
  a.q_heads = size.width * group;
  std::erase_if(a.head_mask, [&](const auto& own_mask) {
    return own_mask.first >= a.q_heads;
  });
  return made;
}

Result<Case> AttentionOfPadding(const Case& c, const ClaimSize& size) {
  if (size.length == Of(c).kv_len && HasCounts(Of(c))) return c;
  Case made = c;
  Af& a = made.Get<Af>();
  if (size.length != a.kv_len) {
    SetLength(std::min(a.q_len, size.length), size.length, &a);
  }
  a.valid_q = {a.q_len};
  a.valid_kv = {a.kv_len};
  return made;
}

Result<Case> AttentionPrefill(const Case& c, const ClaimSize& size) {
  Case made = c;
  Af& a = made.Get<Af>();
  SetLength(size.length, size.length, &a);
  if (a.q_seg.kind != Segments::Kind::kNone) a.q_seg = a.kv_seg;
  a.align = {};
  a.mask = LookingBack(a.mask);
  for (auto& [head, mask] : a.head_mask) mask = LookingBack(mask);
  return made;
}

std::vector<int64_t> AttentionBatches(const Case& c, int64_t length) {
  return WithOwn({2, 3, 8, 64}, length == Of(c).kv_len && Of(c).batch > 1,
                 Of(c).batch);
}

std::vector<int64_t> AttentionHeads(const Case& c, int64_t length) {
  const bool own = length == Of(c).kv_len && Of(c).q_heads > 1;
  return WithOwn({2, 3, 8}, own, Of(c).kv_heads);
}

std::vector<int64_t> AttentionPaddings(const Case&, int64_t length) {
  return WithOwn({1, 15, 128}, true, length);
}

std::vector<int64_t> AttentionChunks(const Case&, int64_t length) {
  std::vector<int64_t> chunks;
  for (const int64_t chunk : {1, 7, 16, 128, 1000}) {
    if (chunk < length || chunks.empty()) chunks.push_back(chunk);
  }
  return chunks;
}

std::string WhyNoPadding(const Case& c) {
  const auto& dense = Of(c).dense;
  const bool blocks =
      std::any_of(dense.begin(), dense.end(), [](const DenseSource& source) {
        return source.kind == DenseSource::Kind::kBlockFile;
      });
  return blocks ? "a mask of blocks from a file has no room for padding" : "";
}

std::string WhyNoPrefill(const Case& c) {
  const Af& a = Of(c);
  if (NamesFiles(c) && (a.q_len != a.kv_len || !LooksBack(a.mask))) {
    return "tensors from files are no prefill: it has as many queries as keys, "
           "and a mask that looks back";
  }
  return WhyNoPadding(c).empty() ? ""
                                 : "a mask of blocks from a file is not cut";
}

}  // namespace lockstep::verify
