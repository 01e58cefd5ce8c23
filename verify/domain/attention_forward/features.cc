// What a case of attention_forward has that another may lack.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "reference/contract/numerics.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/pages.h"
#include "verify/case/attention_forward/views.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/features.h"

namespace lockstep::verify {
namespace {

// Names and their order are written into campaigns: append only.
constexpr const char* kAttentionFeatures[] = {
    // Shape.
    "batch_many", "heads_many", "grouped_heads", "one_query", "one_key",
    "more_queries", "more_keys", "square", "one_channel", "odd_channels",
    "value_dim_other", "tile_edge", "tile_edge_below", "tile_edge_above",
    "many_tiles",
    // Numbers.
    "lane_bf16", "lane_f32", "p_bf16", "cap_none", "cap", "cap_below_one",
    "scale_other", "scale_negative", "scale_zero", "sink_logit",
    // Mask.
    "mask_full", "causal", "window", "window_zero", "window_unlimited",
    "window_wide", "chunked", "prefix", "prefix_per_row", "sink_tokens",
    "dense_random", "dense_blocks", "dense_empty", "dense_full",
    "dense_columns", "dense_rows", "mask_and", "mask_or", "mask_nested",
    "head_masks", "align_top_left", "align_bottom_right", "align_offset",
    "align_negative",
    // Documents and counts.
    "segments", "segments_one", "segment_length_one", "segments_repeat",
    "segments_wide_ids", "segments_negative_ids", "segments_differ",
    "segments_disjoint", "segments_per_row", "valid_q", "valid_kv",
    "valid_zero", "valid_per_row",
    // Memory.
    "layout_bshd", "layout_thd", "strides", "stride_zero", "stride_channel",
    // Fill.
    "fill_normal", "fill_spread", "fill_ramp", "fill_const", "fill_int",
    "fill_onehot", "fill_signature", "fill_uniform", "fill_subnormal",
    "fill_tiny", "fill_huge", "fill_zero", "fill_special", "fill_poison",
    "fill_probe", "fill_caps", "fill_drift", "fill_low",
    // Order of the products: several blocks of channels, of keys.
    "order_amx", "order_amx_channel_blocks", "order_amx_key_blocks",
    // Sizes of real models, and axes past several tiles.
    "size_d_64", "size_d_80", "size_d_96", "size_d_112", "size_d_128",
    "size_d_192", "size_d_256", "size_d_576", "size_dv_above_64",
    "size_keys_above_256", "size_keys_above_512", "size_keys_above_1024",
    "size_queries_above_256",
    // More than 2^31 elements from the first to the last one.
    "stride_far",
    // Parts of the keys, and fewer parts than were asked for.
    "split", "split_fewer_parts",
    // Keys in pages: rows whose last page is not full, rows of fewer pages.
    "pages", "pages_nhd", "pages_shared", "pages_ragged", "pages_fewer",
    // Ragged batches: rows of several lengths, rows without queries or keys.
    "varlen", "varlen_ragged", "varlen_no_queries", "varlen_no_keys",
    // V in k: some of its channels, or all of them.
    "v_in_k", "v_in_k_all",
    // Keys and values in fp8: formats, what shares a scale, and a last block
    // that is not full.
    "fp8_e4m3", "fp8_e5m2", "fp8_unscaled", "fp8_scale_tensor",
    "fp8_scale_head", "fp8_scale_token", "fp8_scale_block", "fp8_block_ragged",
    // Index lists: of each kind, and beside other terms.
    "index", "index_ascending", "index_recent", "index_beside",
    // Queries in fp8: not k's format, and what shares a scale.
    "fp8_q", "fp8_q_other", "fp8_q_head", "fp8_q_token",
    // f16, and decoding with a window.
    "lane_f16", "p_f16", "decode_window",
    // Pages with memory between them, over 2^31 elements, or many; lists of a
    // ragged batch.
    "pages_apart", "pages_far", "pages_above_256", "index_varlen"};

// Tiles of the emulated kernels; those of ours are multiples of it.
constexpr int64_t kEdge = 4;

// Elements before the last one. Requires: there is one.
int64_t LastOf(const std::array<int64_t, 4>& shape,
               const std::array<int64_t, 4>& strides) {
  int64_t last = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    last += (shape[axis] - 1) * strides[axis];
  }
  return last;
}

class AttentionFinder : FeatureFinder<kAttentionFeatures> {
 public:
  explicit AttentionFinder(const AttentionForwardCase& c) : c_(c) {}

  FeatureSet Find() {
    Shape();
    Numbers();
    // Where every head has its own, no head has that of all.
    const auto own = static_cast<int64_t>(c_.head_mask.size());
    if (own < c_.q_heads) Mask(c_.mask, 0);
    for (const auto& [head, mask] : c_.head_mask) Mask(mask, 0);
    Set("head_masks", own > 0 && c_.q_heads > 1);
    using Align = Alignment::Kind;
    Set("align_top_left", c_.align.kind == Align::kTopLeft);
    Set("align_bottom_right", c_.align.kind == Align::kBottomRight);
    Set("align_offset", c_.align.kind == Align::kOffset);
    Set("align_negative",
        c_.align.kind == Align::kOffset && c_.align.offset < 0);
    Documents();
    Counts();
    Memory();
    for (const FillTerm& term : c_.fill) SetFill(term.kind);
    return found();
  }

 private:
  void Shape() {
    Set("batch_many", c_.batch > 1);
    Set("heads_many", c_.q_heads > 1);
    Set("grouped_heads", c_.q_heads > c_.kv_heads);
    Set("one_query", c_.q_len == 1);
    Set("one_key", c_.kv_len == 1);
    Set("more_queries", c_.q_len > c_.kv_len);
    Set("more_keys", c_.q_len < c_.kv_len);
    Set("square", c_.q_len == c_.kv_len);
    Set("one_channel", c_.head_dim == 1);
    Set("odd_channels", c_.head_dim > 1 && c_.head_dim % 2 != 0);
    Set("value_dim_other", c_.value_dim != c_.head_dim);
    Sizes();
    for (const int64_t n : {c_.q_len, c_.kv_len}) {
      Set("tile_edge", n % kEdge == 0);
      Set("tile_edge_below", n % kEdge == kEdge - 1);
      Set("tile_edge_above", n > kEdge && n % kEdge == 1);
      Set("many_tiles", n > 4 * kEdge);
    }
  }

  void Sizes() {
    Set("size_d_64", c_.head_dim == 64);
    Set("size_d_80", c_.head_dim == 80);
    Set("size_d_96", c_.head_dim == 96);
    Set("size_d_112", c_.head_dim == 112);
    Set("size_d_128", c_.head_dim == 128);
    Set("size_d_192", c_.head_dim == 192);
    Set("size_d_256", c_.head_dim == 256);
    Set("size_d_576", c_.head_dim == 576);
    Set("size_dv_above_64", c_.value_dim > 64);
    Set("size_keys_above_256", c_.kv_len > 256);
    Set("size_keys_above_512", c_.kv_len > 512);
    Set("size_keys_above_1024", c_.kv_len > 1024);
    Set("size_queries_above_256", c_.q_len > 256);
  }

  void Numbers() {
    Set("lane_bf16", c_.lane == Lane::kBf16);
    Set("lane_f32", c_.lane == Lane::kF32);
    Set("p_bf16", c_.p_lane == Lane::kBf16);
    Set("lane_f16", c_.lane == Lane::kF16);
    Set("p_f16", c_.p_lane == Lane::kF16);
    Set("cap_none", !c_.softcap);
    Set("cap", c_.softcap.has_value());
    Set("cap_below_one", c_.softcap && c_.softcap->value < 1);
    const double scale = c_.scale.value;
    Set("scale_other",
        scale != 1.0 / std::sqrt(static_cast<double>(c_.head_dim)));
    Set("scale_negative", scale < 0);
    Set("scale_zero", scale == 0);
    Set("sink_logit", c_.sinklogit.has_value());
    const AttentionForwardProblem problem = ToProblem(c_);
    Set("split", problem.parts() > 1);
    Set("split_fewer_parts", problem.parts() < problem.split);
    const bool amx = c_.order == ProductOrder::kAmx;
    Set("order_amx", amx);
    Set("order_amx_channel_blocks", amx && c_.head_dim > kProductBlock);
    Set("order_amx_key_blocks", amx && c_.kv_len > kProductBlock);
  }

  void Mask(const MaskExpr& mask, int depth) {
    using Kind = MaskExpr::Kind;
    Set("mask_full", mask.kind == Kind::kFull);
    Set("causal", mask.kind == Kind::kCausal);
    Set("chunked", mask.kind == Kind::kChunked);
    Set("prefix", mask.kind == Kind::kPrefix);
    Set("prefix_per_row", mask.prefix.size() > 1);
    Set("sink_tokens", mask.kind == Kind::kSink);
    Set("mask_and", mask.kind == Kind::kAnd);
    Set("mask_or", mask.kind == Kind::kOr);
    Set("mask_nested", depth > 0 && !mask.children.empty());
    if (mask.kind == Kind::kAnd) {
      const auto has = [&](Kind kind) {
        return std::any_of(
            mask.children.begin(), mask.children.end(),
            [kind](const MaskExpr& child) { return child.kind == kind; });
      };
      Set("decode_window",
          c_.q_len == 1 && has(Kind::kCausal) && has(Kind::kWindow));
    }
    if (mask.kind == Kind::kWindow) {
      Set("window", true);
      Set("window_zero", mask.left == 0 || mask.right == 0);
      Set("window_unlimited",
          mask.left == kUnlimited || mask.right == kUnlimited);
      Set("window_wide", std::max(mask.left, mask.right) >= c_.kv_len);
    }
    if (mask.kind == Kind::kDense) Dense(c_.dense[mask.dense]);
    for (const MaskExpr& child : mask.children) Mask(child, depth + 1);
  }

  void Dense(const DenseSource& source) {
    if (source.from_file()) return;  // what it holds, the line does not say
    if (source.listed()) {
      Set("index", true);
      Set("index_ascending", source.draw == DenseSource::ListDraw::kAscending);
      Set("index_recent", source.draw == DenseSource::ListDraw::kRecent);
      Set("index_beside", !c_.mask.children.empty());
      Set("index_varlen", c_.layout == Layout::kVarlen);
      return;
    }
    Set("dense_random", source.kind == DenseSource::Kind::kRandom);
    Set("dense_empty", source.density.value == 0);
    Set("dense_full", source.density.value == 1);
    if (source.kind != DenseSource::Kind::kBlocks) return;
    Set("dense_blocks", true);
    Set("dense_columns", source.block_q >= c_.q_len);
    Set("dense_rows", source.block_k >= c_.kv_len);
  }

  void Documents() {
    Set("segments_per_row", c_.q_seg.rows.size() > 1);
    Set("segments_differ", c_.q_seg.kind == Segments::Kind::kRuns &&
                               c_.q_seg.rows != c_.kv_seg.rows);
    std::set<int32_t> q_ids, all;
    for (const Segments* side : {&c_.q_seg, &c_.kv_seg}) {
      for (const auto& row : side->rows) {
        Set("segments", true);
        Set("segments_one", row.size() == 1);
        std::set<int32_t> ids;
        for (const SegmentRun& run : row) {
          Set("segment_length_one", run.length == 1);
          Set("segments_wide_ids", run.id > 255);
          Set("segments_negative_ids", run.id < 0);
          Set("segments_repeat", !ids.insert(run.id).second);
        }
        all.insert(ids.begin(), ids.end());
        if (side == &c_.q_seg) q_ids.insert(ids.begin(), ids.end());
        Set("segments_disjoint",
            side == &c_.kv_seg &&
                std::none_of(ids.begin(), ids.end(),
                             [&](int32_t id) { return q_ids.contains(id); }));
      }
    }
  }

  void Counts() {
    const auto below = [](const std::vector<int64_t>& counts, int64_t n) {
      return std::any_of(counts.begin(), counts.end(),
                         [n](int64_t count) { return count < n; });
    };
    Set("valid_q", below(c_.valid_q, c_.q_len));
    Set("valid_kv", below(c_.valid_kv, c_.kv_len));
    Set("valid_zero", below(c_.valid_q, 1) || below(c_.valid_kv, 1));
    Set("valid_per_row", c_.valid_q.size() > 1 || c_.valid_kv.size() > 1);
  }

  void Memory() {
    Set("layout_bshd", c_.layout == Layout::kBshd);
    Set("layout_thd", c_.layout == Layout::kThd);
    for (const auto& strides :
         {c_.strides.q, c_.strides.k, c_.strides.v, c_.strides.o}) {
      if (!strides) continue;
      Set("strides", true);
      Set("stride_zero", std::count(strides->begin(), strides->end(), 0) > 0);
      Set("stride_channel", (*strides)[3] > 1);
    }
    const AttentionForwardInputs in = InputShapes(c_);
    const AttentionForwardOutputs out = OutputShapes(c_);
    for (const LaneView& view : {in.q, in.k, in.v}) {
      Set("stride_far", LastOf(view.shape, view.strides) > INT32_MAX);
    }
    Set("stride_far", LastOf(out.o.shape, out.o.strides) > INT32_MAX);
    Pages();
    Varlen();
    Set("v_in_k", c_.v_in_k > 0);
    Set("v_in_k_all", c_.v_in_k == c_.head_dim);
    Fp8();
  }

  void Fp8() {
    if (!c_.kv_lane) return;
    Set("fp8_e4m3", c_.kv_lane == Lane::kE4m3);
    Set("fp8_e5m2", c_.kv_lane == Lane::kE5m2);
    Set("fp8_unscaled", !c_.k_scale.any() && !c_.v_scale.any());
    Set("fp8_q", c_.q_lane.has_value());
    Set("fp8_q_other", c_.q_lane && c_.q_lane != c_.kv_lane);
    Set("fp8_q_head", c_.q_scale.layout.shared());
    Set("fp8_q_token", c_.q_scale.layout.by_key());
    for (const ScaleSpec* scale : {&c_.k_scale, &c_.v_scale}) {
      const KeyScales& of = scale->layout;
      Set("fp8_scale_tensor", of.layout == ScaleLayout::kTensor);
      Set("fp8_scale_head", of.layout == ScaleLayout::kHead);
      Set("fp8_scale_token", of.layout == ScaleLayout::kToken);
      Set("fp8_scale_block", of.layout == ScaleLayout::kBlock);
      Set("fp8_block_ragged", of.block > 0 && c_.kv_len % of.block != 0);
    }
  }

  void Pages() {
    const PagedKeys& page = c_.page;
    if (!page.any()) return;
    Set("pages", true);
    const AttentionForwardProblem problem = ToProblem(c_);
    const int64_t pages = PoolPages(problem, InputShapes(c_), page);
    Set("pages_above_256", TableWidth(problem, page) > 256);
    for (const auto& [given, width] :
         {std::pair{&c_.strides.k, c_.head_dim},
          std::pair{&c_.strides.v, c_.value_dim}}) {
      if (!*given) continue;
      Set("pages_apart", (**given)[0] != page.size * c_.kv_heads * width);
      Set("pages_far", (pages - 1) * (**given)[0] > INT32_MAX);
    }
    Set("pages_nhd", page.nhd);
    Set("pages_shared", page.shared > 0);
    for (const int64_t keys : c_.valid_kv) {
      Set("pages_ragged", keys % page.size != 0);
      Set("pages_fewer", (c_.kv_len - 1) / page.size > (keys - 1) / page.size);
    }
  }

  void Varlen() {
    if (c_.layout != Layout::kVarlen) return;
    Set("varlen", true);
    for (const int64_t n : c_.valid_q) {
      Set("varlen_ragged", n != c_.valid_q.front());
      Set("varlen_no_queries", n == 0);
    }
    for (const int64_t n : c_.valid_kv) {
      Set("varlen_ragged", n != c_.valid_kv.front());
      Set("varlen_no_keys", n == 0);
    }
  }

  const AttentionForwardCase& c_;
};

}  // namespace

std::span<const char* const> AttentionForwardFeatures() {
  return kAttentionFeatures;
}

FeatureSet AttentionForwardFeaturesOf(const Case& c) {
  return AttentionFinder(c.Get<AttentionForwardCase>()).Find();
}

}  // namespace lockstep::verify
