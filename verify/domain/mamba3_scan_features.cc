// What a scan has that another may lack.
#include <algorithm>
#include <set>
#include <variant>

#include "verify/case/mamba3_scan/case.h"
#include "verify/domain/mamba3_scan.h"
#include "verify/inputs/mamba3_scan.h"

namespace lockstep::verify {
namespace {

// Names and their order are written into campaigns: append only. Those of runs
// last: a step has none.
enum Feature : uint8_t {
  kBatchMany,
  kHeadsMany,
  kGrouped,
  kOneToken,
  kChunkEdge,
  kChunkBelow,
  kChunkAbove,
  kManyTokens,
  kOddState,
  kNoAngles,
  kAllAngles,
  kOneChannel,
  kOddChannels,
  kSiso,
  kMimo,
  kMimoOneRank,
  kLaneF32,
  kLaneBf16,
  kRotatedBf16,
  kNoBias,
  kNoSkip,
  kGate,
  kReduce,
  kNorm,
  kCarry,
  kTypical,
  kShort,
  kLong,
  kStrong,
  kOwnDecay,
  kNoDecay,
  kOwnStep,
  kOwnMix,
  kOwnRate,
  kHeadMajor,
  kPadded,
  kPoison,
  kFillNormal,
  kFillInt,
  kFillUniform,
  kFillZero,
  kFillSubnormal,
  kFillTiny,
  kFillHuge,
  kFillSpecial,
  kFillProbe,
  kSegments,
  kSegmentsRepeat,
  kSegmentsPerRow,
  kCuSeqlens,
  kRunEmpty,
  kRunOneToken,
  kRunAtEdge,
  kRunOffEdge,
  kFeatures
};

constexpr const char* kNames[] = {"batch_many",
                                  "heads_many",
                                  "grouped_heads",
                                  "one_token",
                                  "chunk_edge",
                                  "chunk_below",
                                  "chunk_above",
                                  "many_tokens",
                                  "odd_state",
                                  "angles_none",
                                  "angles_all",
                                  "one_channel",
                                  "odd_channels",
                                  "siso",
                                  "mimo",
                                  "mimo_one_rank",
                                  "lane_f32",
                                  "lane_bf16",
                                  "rotated_bf16",
                                  "bias_none",
                                  "skip_none",
                                  "gate",
                                  "reduce",
                                  "norm",
                                  "carry",
                                  "typical",
                                  "short",
                                  "long",
                                  "strong",
                                  "decay_own",
                                  "decay_none",
                                  "step_own",
                                  "mix_own",
                                  "rate_own",
                                  "layout_head_major",
                                  "padded",
                                  "poison",
                                  "fill_normal",
                                  "fill_int",
                                  "fill_uniform",
                                  "fill_zero",
                                  "fill_subnormal",
                                  "fill_tiny",
                                  "fill_huge",
                                  "fill_special",
                                  "fill_probe",
                                  "segments",
                                  "segments_repeat",
                                  "segments_per_row",
                                  "cu_seqlens",
                                  "run_empty",
                                  "run_one_token",
                                  "run_at_edge",
                                  "run_off_edge"};
static_assert(std::size(kNames) == kFeatures);

// Chunks of the emulated kernels.
constexpr int64_t kEdge = 4;

class Finder {
 public:
  explicit Finder(const Case& c)
      : c_(c.Get<Mamba3ScanCase>()),
        p_(c_.problem),
        features_(c.Has<Mamba3StepCase>() ? kSegments : kFeatures) {
    set_.has.resize(features_);
  }

  FeatureSet Find() {
    Shape();
    Parts();
    Sources();
    for (const FillTerm& term : c_.fill) Fill(term.kind);
    Runs();
    return set_;
  }

 private:
  void Set(Feature feature, bool has) {
    if (has && feature < features_) set_.has[feature] = true;
  }

  void Shape() {
    Set(kBatchMany, p_.batch > 1);
    Set(kHeadsMany, p_.heads > 1);
    Set(kGrouped, p_.heads > p_.groups);
    Set(kOneToken, p_.length == 1);
    Set(kChunkEdge, p_.length % kEdge == 0);
    Set(kChunkBelow, p_.length % kEdge == kEdge - 1);
    Set(kChunkAbove, p_.length > kEdge && p_.length % kEdge == 1);
    Set(kManyTokens, p_.length > kEdge);
    Set(kOddState, p_.state_dim % 2 != 0);
    Set(kNoAngles, p_.angles == 0);
    Set(kAllAngles, p_.angles > 0 && p_.angles == p_.state_dim / 2);
    Set(kOneChannel, p_.head_dim == 1);
    Set(kOddChannels, p_.head_dim > 1 && p_.head_dim % 2 != 0);
  }

  void Parts() {
    Set(kSiso, !p_.mimo());
    Set(kMimo, p_.mimo() && p_.ranks > 1);
    Set(kMimoOneRank, p_.mimo() && p_.ranks == 1);
    Set(kLaneF32, p_.lane == Lane::kF32);
    Set(kLaneBf16, p_.lane == Lane::kBf16);
    Set(kRotatedBf16, p_.rotated_lane == Lane::kBf16);
    Set(kNoBias, !p_.bias);
    Set(kNoSkip, !p_.skip);
    Set(kGate, p_.gate);
    Set(kReduce, p_.reduce);
    Set(kNorm, c_.norm.has_value());
    Set(kCarry, !c_.carry.empty());
    Set(kHeadMajor, c_.layout == ScanLayout::kBhtp);
    Set(kPadded, c_.pad > 0);
    Set(kPoison, c_.poison.has_value());
  }

  void Sources() {
    // Resets are a long regime that version 1 of the domain does not draw.
    const ScanRegime regime =
        c_.regime == ScanRegime::kResets ? ScanRegime::kLong : c_.regime;
    Set(static_cast<Feature>(kTypical + static_cast<int>(regime)), true);
    Set(kOwnDecay, c_.a.has_value());
    Set(kNoDecay, c_.a && c_.a->kind == FillKind::kConst && c_.a->a.value == 0);
    Set(kOwnStep, c_.dt.has_value());
    Set(kOwnMix, c_.tau.has_value());
    Set(kOwnRate, c_.rate.has_value());
  }

  void Fill(FillKind kind) {
    Set(kFillNormal, kind == FillKind::kNormal);
    Set(kFillInt, kind == FillKind::kInt);
    Set(kFillUniform, kind == FillKind::kUniform);
    Set(kFillZero, kind == FillKind::kZero);
    Set(kFillSubnormal, kind == FillKind::kSubnormal);
    Set(kFillTiny, kind == FillKind::kTiny);
    Set(kFillHuge, kind == FillKind::kHuge);
    Set(kFillSpecial, kind == FillKind::kSpecial);
    Set(kFillProbe, kind == FillKind::kProbe);
  }

  void Run(int64_t first, int64_t length) {
    Set(kRunEmpty, length == 0);
    Set(kRunOneToken, length == 1);
    Set(kRunAtEdge, first > 0 && first % kEdge == 0);
    Set(kRunOffEdge, first % kEdge != 0);
  }

  void Runs() {
    Set(kSegmentsPerRow, c_.seg.rows.size() > 1);
    for (const auto& row : c_.seg.rows) {
      Set(kSegments, true);
      std::set<int32_t> ids;
      int64_t at = 0;
      for (const SegmentRun& run : row) {
        Set(kSegmentsRepeat, !ids.insert(run.id).second);
        Run(at, run.length);
        at += run.length;
      }
    }
    Set(kCuSeqlens, !c_.cu.empty());
    for (size_t i = 1; i < c_.cu.size(); ++i) {
      Run(c_.cu[i - 1], c_.cu[i] - c_.cu[i - 1]);
    }
  }

  const Mamba3ScanCase& c_;
  const Mamba3ScanProblem& p_;
  const size_t features_;
  FeatureSet set_;
};

}  // namespace

std::span<const char* const> Mamba3ScanFeatures() { return kNames; }

std::span<const char* const> Mamba3StepFeatures() {
  return std::span(kNames).first(kSegments);
}

FeatureSet Mamba3ScanFeaturesOf(const Case& c) { return Finder(c).Find(); }

}  // namespace lockstep::verify
