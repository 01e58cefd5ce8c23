// What a case of block_plan has that another may lack.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>
#include <vector>

#include "verify/case/block_plan.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/block_plan.h"
#include "verify/domain/features.h"
#include "verify/inputs/attention_forward.h"
#include "verify/tables/intended_mask.h"

namespace lockstep::verify {
namespace {

// Of attention_forward, for its masks and payload. Names and their order are
// written into campaigns: append only, behind the last.

constexpr const char* kPlanFeatures[] = {
    // Of attention_forward, for its masks and payload.
    "heads_many", "one_query", "one_key", "more_queries", "more_keys", "square",
    "mask_full", "causal", "window", "window_zero", "window_unlimited",
    "window_wide", "chunked", "prefix", "sink_tokens", "dense_random",
    "dense_blocks", "dense_empty", "dense_full", "dense_columns", "dense_rows",
    "mask_and", "mask_or", "mask_nested", "head_masks", "align_top_left",
    "align_bottom_right", "align_offset", "align_negative", "segments",
    "segments_one", "segment_length_one", "segments_repeat",
    "segments_wide_ids", "segments_negative_ids", "segments_differ",
    "segments_disjoint", "valid_q", "valid_kv", "valid_zero",
    // Own: shape, tables, bounds, pairs.
    "tile_one", "tile_oblong", "tile_large", "tile_longer", "one_tile",
    "whole_tiles", "ragged_queries", "ragged_keys", "ragged_by_one",
    "tiles_above_128", "tiles_above_32768", "blocks_above_128",
    "dialect_shrunk", "dialect_splash", "dialect_flat_list",
    "dialect_block_mask", "blocks_computed", "padded", "segments_ignored",
    "capacity", "capacity_of_the_grid", "capacity_transposed", "q_shards",
    "kv_shards", "slack", "bound_beyond_int32", "offset_beyond_int32",
    "segments_unsorted", "heads_differ_in_one", "all_empty", "all_full",
    "empty_tile_row", "empty_tile_column", "empty_query", "every_class"};

// Bits of attention_forward's set, in the order of kPlanFeatures.
const std::vector<size_t>& SharedBits() {
  static const std::vector<size_t> bits = [] {
    std::vector<size_t> found;
    const auto names = AttentionForwardFeatures();
    for (size_t n = 0; n < FeatureOf<kPlanFeatures>("tile_one").bit; ++n) {
      found.push_back(
          static_cast<size_t>(std::find(names.begin(), names.end(),
                                        std::string_view(kPlanFeatures[n])) -
                              names.begin()));
    }
    return found;
  }();
  return bits;
}

class PlanFinder : FeatureFinder<kPlanFeatures> {
 public:
  explicit PlanFinder(const Case& c) : c_(c), p_(c.Get<BlockPlanCase>()) {}

  FeatureSet Find() {
    const FeatureSet attention = AttentionForwardFeaturesOf(c_);
    for (size_t n = 0; n < SharedBits().size(); ++n) {
      found().has[n] = attention.has[SharedBits()[n]];
    }
    Shape();
    Tables();
    Bounds(p_.mask);
    Set("offset_beyond_int32", p_.align.kind == Alignment::Kind::kOffset &&
                                   std::abs(p_.align.offset) > INT32_MAX);
    for (const Segments* side : {&p_.q_seg, &p_.kv_seg}) {
      for (const auto& row : side->rows) Ids(row);
    }
    Pairs();
    return found();
  }

 private:
  int64_t Rows() const { return (p_.q_len + p_.tile_q - 1) / p_.tile_q; }
  int64_t Cols() const { return (p_.kv_len + p_.tile_k - 1) / p_.tile_k; }

  void Shape() {
    const int64_t over_q = p_.q_len % p_.tile_q;
    const int64_t over_k = p_.kv_len % p_.tile_k;
    Set("tile_one", p_.tile_q == 1 || p_.tile_k == 1);
    Set("tile_oblong", p_.tile_q != p_.tile_k);
    Set("tile_large", p_.tile_q * p_.tile_k > 1000);
    Set("tile_longer", p_.tile_q > p_.q_len || p_.tile_k > p_.kv_len);
    Set("one_tile", Rows() * Cols() == 1);
    Set("whole_tiles", over_q + over_k == 0);
    Set("ragged_queries", over_q != 0);
    Set("ragged_keys", over_k != 0);
    Set("ragged_by_one", (over_q == 1 && p_.q_len > p_.tile_q) ||
                             (over_k == 1 && p_.kv_len > p_.tile_k));
    Set("tiles_above_128", std::max(Rows(), Cols()) > 128);
    Set("tiles_above_32768", std::max(Rows(), Cols()) > 32768);
  }

  void Tables() {
    using enum PlanDialect;
    Set("dialect_shrunk", p_.dialect == kShrunk);
    Set("dialect_splash", p_.dialect == kSplash);
    Set("dialect_flat_list", p_.dialect == kFlatList);
    Set("dialect_block_mask", p_.dialect == kBlockMask);
    Set("blocks_computed", !p_.blocks && p_.dialect != kBlockMask);
    Set("padded", p_.padded && p_.dialect == kShrunk);
    Set("segments_ignored", !p_.segments);
    Set("capacity", p_.width > 0);
    Set("capacity_of_the_grid", p_.width == Cols());
    Set("capacity_transposed", p_.width_t > 0);
    Set("q_shards", p_.q_shards > 1);
    Set("kv_shards", p_.kv_shards > 1);
    Set("slack", p_.slack > 0);
  }

  void Bounds(const MaskExpr& mask) {
    for (const int64_t bound :
         {mask.left == kUnlimited ? 0 : mask.left,
          mask.right == kUnlimited ? 0 : mask.right, mask.chunk, mask.tokens,
          mask.prefix.empty() ? 0 : mask.prefix[0]}) {
      Set("bound_beyond_int32", bound > INT32_MAX);
    }
    for (const MaskExpr& child : mask.children) Bounds(child);
  }

  void Ids(const std::vector<SegmentRun>& runs) {
    Set("segments_unsorted", !std::is_sorted(runs.begin(), runs.end(),
                                             [](const auto& a, const auto& b) {
                                               return a.id < b.id;
                                             }));
  }

  // What the mask is, whatever expression says it.
  void Pairs() {
    const auto data = Materialise(c_, {});
    if (!data.ok()) return;
    const IntendedMask mask =
        IntendedMask::Of(data->problem, data->inputs, 0, p_.segments);
    for (int64_t h = 0; h < mask.heads(); ++h) Head(mask, h);
    for (int64_t h = 1; h < mask.heads(); ++h) {
      Set("heads_differ_in_one", mask.Differences(0, h) == 1);
    }
  }

  std::vector<bool> Block(const IntendedMask& mask, int64_t head, int64_t row,
                          int64_t col) const {
    std::vector<bool> bits;
    for (int64_t i = row * p_.tile_q; i < (row + 1) * p_.tile_q; ++i) {
      for (int64_t j = col * p_.tile_k; j < (col + 1) * p_.tile_k; ++j) {
        bits.push_back(mask.At(head, i, j));
      }
    }
    return bits;
  }

  void Head(const IntendedMask& mask, int64_t head) {
    std::vector<int64_t> visible(static_cast<size_t>(Rows() * Cols()));
    bool empty_query = false;
    for (int64_t i = 0; i < p_.q_len; ++i) {
      for (int64_t col = 0; col < Cols(); ++col) {
        const auto tile = static_cast<size_t>(i / p_.tile_q * Cols() + col);
        visible[tile] +=
            mask.Count(head, i, col * p_.tile_k, (col + 1) * p_.tile_k);
      }
      empty_query = empty_query || mask.Keys(head, i).empty();
    }
    const int64_t tiles = Rows() * Cols();
    int64_t empty = 0, full = 0;
    std::set<int64_t> rows, cols;
    std::set<std::vector<bool>> blocks;
    for (int64_t row = 0; row < Rows(); ++row) {
      for (int64_t col = 0; col < Cols(); ++col) {
        const int64_t n = visible[static_cast<size_t>(row * Cols() + col)];
        const int64_t pairs = std::min(p_.tile_q, p_.q_len - row * p_.tile_q) *
                              std::min(p_.tile_k, p_.kv_len - col * p_.tile_k);
        empty += n == 0;
        full += n == pairs;
        if (n == 0) continue;
        if (n != pairs && tiles > 128) {
          blocks.insert(Block(mask, head, row, col));
        }
        rows.insert(row);
        cols.insert(col);
      }
    }
    Set("blocks_above_128", p_.blocks && blocks.size() > 128);
    Set("all_empty", empty == tiles);
    Set("all_full", full == tiles);
    if (empty == tiles) return;
    Set("empty_tile_row", static_cast<int64_t>(rows.size()) < Rows());
    Set("empty_tile_column", static_cast<int64_t>(cols.size()) < Cols());
    Set("empty_query", empty_query);
    Set("every_class", empty > 0 && full > 0 && empty + full < tiles);
  }

  const Case& c_;
  const BlockPlanCase& p_;
};

}  // namespace

std::span<const char* const> BlockPlanFeatures() { return kPlanFeatures; }

FeatureSet BlockPlanFeaturesOf(const Case& c) { return PlanFinder(c).Find(); }

}  // namespace lockstep::verify
