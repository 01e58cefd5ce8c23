// What a scan has that another may lack.
#include <set>
#include <string_view>

#include "verify/case/mamba3_scan/case.h"
#include "verify/domain/features.h"
#include "verify/domain/mamba3_scan.h"
#include "verify/inputs/mamba3_scan.h"

namespace lockstep::verify {
namespace {

// Names and their order are written into campaigns: append only.
constexpr const char* kScanFeatures[] = {
    // Shape.
    "batch_many", "heads_many", "grouped_heads", "one_token", "chunk_edge",
    "chunk_below", "chunk_above", "many_tokens", "odd_state", "angles_none",
    "angles_all", "one_channel", "odd_channels",
    // Parts.
    "siso", "mimo", "mimo_one_rank", "lane_f32", "lane_bf16", "rotated_bf16",
    "bias_none", "skip_none", "gate", "reduce", "norm", "carry",
    // Sources.
    "typical", "short", "long", "strong", "decay_own", "decay_none", "step_own",
    "mix_own", "rate_own", "layout_head_major", "padded", "poison",
    // Fill.
    "fill_normal", "fill_int", "fill_uniform", "fill_zero", "fill_subnormal",
    "fill_tiny", "fill_huge", "fill_special", "fill_probe",
    // Runs.
    "segments", "segments_repeat", "segments_per_row", "cu_seqlens",
    "run_empty", "run_one_token", "run_at_edge", "run_off_edge",
    // Sizes of real models, and many tokens.
    "size_n_64", "size_n_128", "size_n_256", "size_p_64", "size_p_80",
    "size_p_128", "size_tokens_above_256", "lane_f16"};

// A step has no runs, and few tokens.
constexpr std::string_view kNotOfSteps[] = {
    "segments",    "segments_repeat", "segments_per_row",
    "cu_seqlens",  "run_empty",       "run_one_token",
    "run_at_edge", "run_off_edge",    "size_tokens_above_256"};

const InheritedFeatures& StepFeatures() {
  static const InheritedFeatures kFeatures(kScanFeatures, kNotOfSteps);
  return kFeatures;
}

// Chunks of the emulated kernels.
constexpr int64_t kEdge = 4;

class ScanFinder : FeatureFinder<kScanFeatures> {
 public:
  explicit ScanFinder(const Case& c)
      : c_(c.Get<Mamba3ScanCase>()), p_(c_.problem) {}

  FeatureSet Find() {
    Shape();
    Parts();
    Sources();
    for (const FillTerm& term : c_.fill) SetFill(term.kind);
    Runs();
    return found();
  }

 private:
  void Shape() {
    Set("batch_many", p_.batch > 1);
    Set("heads_many", p_.heads > 1);
    Set("grouped_heads", p_.heads > p_.groups);
    Set("one_token", p_.length == 1);
    Set("chunk_edge", p_.length % kEdge == 0);
    Set("chunk_below", p_.length % kEdge == kEdge - 1);
    Set("chunk_above", p_.length > kEdge && p_.length % kEdge == 1);
    Set("many_tokens", p_.length > kEdge);
    Set("odd_state", p_.state_dim % 2 != 0);
    Set("angles_none", p_.angles == 0);
    Set("angles_all", p_.angles > 0 && p_.angles == p_.state_dim / 2);
    Set("one_channel", p_.head_dim == 1);
    Set("odd_channels", p_.head_dim > 1 && p_.head_dim % 2 != 0);
    Set("size_n_64", p_.state_dim == 64);
    Set("size_n_128", p_.state_dim == 128);
    Set("size_n_256", p_.state_dim == 256);
    Set("size_p_64", p_.head_dim == 64);
    Set("size_p_80", p_.head_dim == 80);
    Set("size_p_128", p_.head_dim == 128);
    Set("size_tokens_above_256", p_.length > 256);
  }

  void Parts() {
    Set("siso", !p_.mimo());
    Set("mimo", p_.mimo() && p_.ranks > 1);
    Set("mimo_one_rank", p_.mimo() && p_.ranks == 1);
    Set("lane_f32", p_.lane == Lane::kF32);
    Set("lane_bf16", p_.lane == Lane::kBf16);
    Set("lane_f16", p_.lane == Lane::kF16);
    Set("rotated_bf16", p_.rotated_lane == Lane::kBf16);
    Set("bias_none", !p_.bias);
    Set("skip_none", !p_.skip);
    Set("gate", p_.gate);
    Set("reduce", p_.reduce);
    Set("norm", c_.norm.has_value());
    Set("carry", !c_.carry.empty());
    Set("layout_head_major", c_.layout == ScanLayout::kBhtp);
    Set("padded", c_.pad > 0);
    Set("poison", c_.poison.has_value());
  }

  void Sources() {
    // Resets are a long regime that the domain does not draw.
    const ScanRegime regime =
        c_.regime == ScanRegime::kResets ? ScanRegime::kLong : c_.regime;
    static constexpr Feature kRegimes[] = {"typical", "short", "long",
                                           "strong"};
    Set(kRegimes[static_cast<size_t>(regime)], true);
    Set("decay_own", c_.a.has_value());
    Set("decay_none",
        c_.a && c_.a->kind == FillKind::kConst && c_.a->a.value == 0);
    Set("step_own", c_.dt.has_value());
    Set("mix_own", c_.tau.has_value());
    Set("rate_own", c_.rate.has_value());
  }

  void Run(int64_t first, int64_t length) {
    Set("run_empty", length == 0);
    Set("run_one_token", length == 1);
    Set("run_at_edge", first > 0 && first % kEdge == 0);
    Set("run_off_edge", first % kEdge != 0);
  }

  void Runs() {
    Set("segments_per_row", c_.seg.rows.size() > 1);
    for (const auto& row : c_.seg.rows) {
      Set("segments", true);
      std::set<int32_t> ids;
      int64_t at = 0;
      for (const SegmentRun& run : row) {
        Set("segments_repeat", !ids.insert(run.id).second);
        Run(at, run.length);
        at += run.length;
      }
    }
    Set("cu_seqlens", !c_.cu.empty());
    for (size_t i = 1; i < c_.cu.size(); ++i) {
      Run(c_.cu[i - 1], c_.cu[i] - c_.cu[i - 1]);
    }
  }

  const Mamba3ScanCase& c_;
  const Mamba3ScanProblem& p_;
};

}  // namespace

std::span<const char* const> Mamba3ScanFeatures() { return kScanFeatures; }

std::span<const char* const> Mamba3StepFeatures() {
  return StepFeatures().names();
}

FeatureSet Mamba3ScanFeaturesOf(const Case& c) { return ScanFinder(c).Find(); }

FeatureSet Mamba3StepFeaturesOf(const Case& c) {
  return StepFeatures().Of(Mamba3ScanFeaturesOf(c));
}

}  // namespace lockstep::verify
