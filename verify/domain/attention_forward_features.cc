// What a case of attention_forward has that another may lack.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "verify/case/attention_forward/case.h"
#include "verify/domain/attention_forward.h"

namespace lockstep::verify {
namespace {

// Names and their order are written into campaigns: append only.
enum Feature : uint8_t {
  kBatchMany,
  kHeadsMany,
  kGrouped,
  kOneQuery,
  kOneKey,
  kMoreQueries,
  kMoreKeys,
  kSquare,
  kOneChannel,
  kOddChannels,
  kValueDimOther,
  kTileEdge,
  kTileBelow,
  kTileAbove,
  kManyTiles,
  kLaneBf16,
  kLaneF32,
  kPBf16,
  kNoCap,
  kCap,
  kCapBelowOne,
  kScaleOther,
  kScaleNegative,
  kScaleZero,
  kSinkLogit,
  kMaskFull,
  kCausal,
  kWindow,
  kWindowZero,
  kWindowUnlimited,
  kWindowWide,
  kChunked,
  kPrefix,
  kPrefixPerRow,
  kSinkTokens,
  kDenseRandom,
  kDenseBlocks,
  kDenseEmpty,
  kDenseFull,
  kDenseColumns,
  kDenseRows,
  kAnd,
  kOr,
  kNested,
  kHeadMasks,
  kTopLeft,
  kBottomRight,
  kOffset,
  kOffsetNegative,
  kSegments,
  kSegmentsOne,
  kSegmentLengthOne,
  kSegmentsRepeat,
  kSegmentsWide,
  kSegmentsNegative,
  kSegmentsDiffer,
  kSegmentsDisjoint,
  kSegmentsPerRow,
  kValidQ,
  kValidKv,
  kValidZero,
  kValidPerRow,
  kBshd,
  kThd,
  kStrided,
  kStrideZero,
  kChannelStride,
  kFillNormal,
  kFillSpread,
  kFillRamp,
  kFillConst,
  kFillInt,
  kFillOneHot,
  kFillSignature,
  kFillUniform,
  kFillSubnormal,
  kFillTiny,
  kFillHuge,
  kFillZero,
  kFillSpecial,
  kFillPoison,
  kFillProbe,
  kFillCaps,
  kFillDrift,
  kFillLow,
  kFeatures
};

constexpr const char* kNames[] = {"batch_many",
                                  "heads_many",
                                  "grouped_heads",
                                  "one_query",
                                  "one_key",
                                  "more_queries",
                                  "more_keys",
                                  "square",
                                  "one_channel",
                                  "odd_channels",
                                  "value_dim_other",
                                  "tile_edge",
                                  "tile_edge_below",
                                  "tile_edge_above",
                                  "many_tiles",
                                  "lane_bf16",
                                  "lane_f32",
                                  "p_bf16",
                                  "cap_none",
                                  "cap",
                                  "cap_below_one",
                                  "scale_other",
                                  "scale_negative",
                                  "scale_zero",
                                  "sink_logit",
                                  "mask_full",
                                  "causal",
                                  "window",
                                  "window_zero",
                                  "window_unlimited",
                                  "window_wide",
                                  "chunked",
                                  "prefix",
                                  "prefix_per_row",
                                  "sink_tokens",
                                  "dense_random",
                                  "dense_blocks",
                                  "dense_empty",
                                  "dense_full",
                                  "dense_columns",
                                  "dense_rows",
                                  "mask_and",
                                  "mask_or",
                                  "mask_nested",
                                  "head_masks",
                                  "align_top_left",
                                  "align_bottom_right",
                                  "align_offset",
                                  "align_negative",
                                  "segments",
                                  "segments_one",
                                  "segment_length_one",
                                  "segments_repeat",
                                  "segments_wide_ids",
                                  "segments_negative_ids",
                                  "segments_differ",
                                  "segments_disjoint",
                                  "segments_per_row",
                                  "valid_q",
                                  "valid_kv",
                                  "valid_zero",
                                  "valid_per_row",
                                  "layout_bshd",
                                  "layout_thd",
                                  "strides",
                                  "stride_zero",
                                  "stride_channel",
                                  "fill_normal",
                                  "fill_spread",
                                  "fill_ramp",
                                  "fill_const",
                                  "fill_int",
                                  "fill_onehot",
                                  "fill_signature",
                                  "fill_uniform",
                                  "fill_subnormal",
                                  "fill_tiny",
                                  "fill_huge",
                                  "fill_zero",
                                  "fill_special",
                                  "fill_poison",
                                  "fill_probe",
                                  "fill_caps",
                                  "fill_drift",
                                  "fill_low"};
static_assert(std::size(kNames) == kFeatures);

// Tiles of the emulated kernels; those of ours are multiples of it.
constexpr int64_t kEdge = 4;

class Finder {
 public:
  explicit Finder(const AttentionForwardCase& c) : c_(c) {
    set_.has.resize(kFeatures);
  }

  FeatureSet Find() {
    Shape();
    Numbers();
    Mask(c_.mask, 0);
    for (const auto& [head, mask] : c_.head_mask) Mask(mask, 0);
    Set(kHeadMasks, !c_.head_mask.empty());
    using Align = Alignment::Kind;
    Set(kTopLeft, c_.align.kind == Align::kTopLeft);
    Set(kBottomRight, c_.align.kind == Align::kBottomRight);
    Set(kOffset, c_.align.kind == Align::kOffset);
    Set(kOffsetNegative,
        c_.align.kind == Align::kOffset && c_.align.offset < 0);
    Documents();
    Counts();
    Memory();
    for (const FillTerm& term : c_.fill) Fill(term.kind);
    return set_;
  }

 private:
  void Set(Feature feature, bool has) {
    if (has) set_.has[feature] = true;
  }

  void Shape() {
    Set(kBatchMany, c_.batch > 1);
    Set(kHeadsMany, c_.q_heads > 1);
    Set(kGrouped, c_.q_heads > c_.kv_heads);
    Set(kOneQuery, c_.q_len == 1);
    Set(kOneKey, c_.kv_len == 1);
    Set(kMoreQueries, c_.q_len > c_.kv_len);
    Set(kMoreKeys, c_.q_len < c_.kv_len);
    Set(kSquare, c_.q_len == c_.kv_len);
    Set(kOneChannel, c_.head_dim == 1);
    Set(kOddChannels, c_.head_dim > 1 && c_.head_dim % 2 != 0);
    Set(kValueDimOther, c_.value_dim != c_.head_dim);
    for (const int64_t n : {c_.q_len, c_.kv_len}) {
      Set(kTileEdge, n % kEdge == 0);
      Set(kTileBelow, n % kEdge == kEdge - 1);
      Set(kTileAbove, n > kEdge && n % kEdge == 1);
      Set(kManyTiles, n > 4 * kEdge);
    }
  }

  void Numbers() {
    Set(kLaneBf16, c_.lane == Lane::kBf16);
    Set(kLaneF32, c_.lane == Lane::kF32);
    Set(kPBf16, c_.p_lane == Lane::kBf16);
    Set(kNoCap, !c_.softcap);
    Set(kCap, c_.softcap.has_value());
    Set(kCapBelowOne, c_.softcap && c_.softcap->value < 1);
    const double scale = c_.scale.value;
    Set(kScaleOther,
        scale != 1.0 / std::sqrt(static_cast<double>(c_.head_dim)));
    Set(kScaleNegative, scale < 0);
    Set(kScaleZero, scale == 0);
    Set(kSinkLogit, c_.sinklogit.has_value());
  }

  void Mask(const MaskExpr& mask, int depth) {
    using Kind = MaskExpr::Kind;
    Set(kMaskFull, mask.kind == Kind::kFull);
    Set(kCausal, mask.kind == Kind::kCausal);
    Set(kChunked, mask.kind == Kind::kChunked);
    Set(kPrefix, mask.kind == Kind::kPrefix);
    Set(kPrefixPerRow, mask.prefix.size() > 1);
    Set(kSinkTokens, mask.kind == Kind::kSink);
    Set(kAnd, mask.kind == Kind::kAnd);
    Set(kOr, mask.kind == Kind::kOr);
    Set(kNested, depth > 0 && !mask.children.empty());
    if (mask.kind == Kind::kWindow) {
      Set(kWindow, true);
      Set(kWindowZero, mask.left == 0 || mask.right == 0);
      Set(kWindowUnlimited,
          mask.left == kUnlimited || mask.right == kUnlimited);
      Set(kWindowWide, std::max(mask.left, mask.right) >= c_.kv_len);
    }
    if (mask.kind == Kind::kDense) Dense(c_.dense[mask.dense]);
    for (const MaskExpr& child : mask.children) Mask(child, depth + 1);
  }

  void Dense(const DenseSource& source) {
    if (source.from_file()) return;  // what it holds, the line does not say
    Set(kDenseRandom, source.kind == DenseSource::Kind::kRandom);
    Set(kDenseEmpty, source.density.value == 0);
    Set(kDenseFull, source.density.value == 1);
    if (source.kind != DenseSource::Kind::kBlocks) return;
    Set(kDenseBlocks, true);
    Set(kDenseColumns, source.block_q >= c_.q_len);
    Set(kDenseRows, source.block_k >= c_.kv_len);
  }

  void Documents() {
    Set(kSegmentsPerRow, c_.q_seg.rows.size() > 1);
    Set(kSegmentsDiffer, c_.q_seg.kind == Segments::Kind::kRuns &&
                             c_.q_seg.rows != c_.kv_seg.rows);
    std::set<int32_t> q_ids, all;
    for (const Segments* side : {&c_.q_seg, &c_.kv_seg}) {
      for (const auto& row : side->rows) {
        Set(kSegments, true);
        Set(kSegmentsOne, row.size() == 1);
        std::set<int32_t> ids;
        for (const SegmentRun& run : row) {
          Set(kSegmentLengthOne, run.length == 1);
          Set(kSegmentsWide, run.id > 255);
          Set(kSegmentsNegative, run.id < 0);
          Set(kSegmentsRepeat, !ids.insert(run.id).second);
        }
        all.insert(ids.begin(), ids.end());
        if (side == &c_.q_seg) q_ids.insert(ids.begin(), ids.end());
        Set(kSegmentsDisjoint,
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
    Set(kValidQ, below(c_.valid_q, c_.q_len));
    Set(kValidKv, below(c_.valid_kv, c_.kv_len));
    Set(kValidZero, below(c_.valid_q, 1) || below(c_.valid_kv, 1));
    Set(kValidPerRow, c_.valid_q.size() > 1 || c_.valid_kv.size() > 1);
  }

  void Memory() {
    Set(kBshd, c_.layout == Layout::kBshd);
    Set(kThd, c_.layout == Layout::kThd);
    for (const auto& strides :
         {c_.strides.q, c_.strides.k, c_.strides.v, c_.strides.o}) {
      if (!strides) continue;
      Set(kStrided, true);
      Set(kStrideZero, std::count(strides->begin(), strides->end(), 0) > 0);
      Set(kChannelStride, (*strides)[3] > 1);
    }
  }

  void Fill(FillKind kind) {
    switch (kind) {
      case FillKind::kNormal:
        return Set(kFillNormal, true);
      case FillKind::kUniform:
        return Set(kFillUniform, true);
      case FillKind::kConst:
        return Set(kFillConst, true);
      case FillKind::kInt:
        return Set(kFillInt, true);
      case FillKind::kOneHot:
        return Set(kFillOneHot, true);
      case FillKind::kSignature:
        return Set(kFillSignature, true);
      case FillKind::kSpread:
        return Set(kFillSpread, true);
      case FillKind::kRamp:
        return Set(kFillRamp, true);
      case FillKind::kSubnormal:
        return Set(kFillSubnormal, true);
      case FillKind::kTiny:
        return Set(kFillTiny, true);
      case FillKind::kHuge:
        return Set(kFillHuge, true);
      case FillKind::kZero:
        return Set(kFillZero, true);
      case FillKind::kSpecial:
        return Set(kFillSpecial, true);
      case FillKind::kPoison:
        return Set(kFillPoison, true);
      case FillKind::kProbe:
        return Set(kFillProbe, true);
      case FillKind::kCaps:
        return Set(kFillCaps, true);
      case FillKind::kDrift:
        return Set(kFillDrift, true);
      case FillKind::kLow:
        return Set(kFillLow, true);
      case FillKind::kSigns:  // of scans
      case FillKind::kFile:
        return;  // no campaign draws files
    }
  }

  const AttentionForwardCase& c_;
  FeatureSet set_;
};

}  // namespace

std::span<const char* const> AttentionForwardFeatures() { return kNames; }

FeatureSet AttentionForwardFeaturesOf(const Case& c) {
  return Finder(c.Get<AttentionForwardCase>()).Find();
}

}  // namespace lockstep::verify
