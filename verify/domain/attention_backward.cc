#include "verify/domain/attention_backward.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "verify/case/attention_backward.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/draws/cotangent.h"
#include "verify/domain/draws/further.h"
#include "verify/domain/draws/served.h"
#include "verify/domain/features.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// Names and their order are written into campaigns: append only.
constexpr const char* kOwnFeatures[] = {
    "grad_bf16", "grad_wider",  "dlse",       "do_normal", "do_int",
    "do_onehot", "do_constant", "do_special", "do_tiny",   "do_zero"};

// Features that every case has, or none. attention_forward's probes prove
// nothing about gradients. Its order=amx, its parts of the keys, its pages,
// its v in k and its fp8 do not exist here. Its far tensors are its own.
constexpr std::string_view kMissing[] = {"fill_probe",
                                         "order_amx",
                                         "order_amx_channel_blocks",
                                         "order_amx_key_blocks",
                                         "stride_far",
                                         "split",
                                         "split_fewer_parts",
                                         "pages",
                                         "pages_nhd",
                                         "pages_shared",
                                         "pages_ragged",
                                         "pages_fewer",
                                         "pages_apart",
                                         "pages_far",
                                         "pages_above_256",
                                         "v_in_k",
                                         "v_in_k_all",
                                         "fp8_e4m3",
                                         "fp8_e5m2",
                                         "fp8_unscaled",
                                         "fp8_scale_tensor",
                                         "fp8_scale_head",
                                         "fp8_scale_token",
                                         "fp8_scale_block",
                                         "fp8_block_ragged",
                                         "fp8_q",
                                         "fp8_q_other",
                                         "fp8_q_head",
                                         "fp8_q_token"};

const InheritedFeatures& GradientFeatures() {
  static const InheritedFeatures kFeatures(AttentionForwardFeatures(), kMissing,
                                           kOwnFeatures);
  return kFeatures;
}

AttentionBackwardCase* GradientPart(Case* c) {
  return &c->Get<AttentionBackwardCase>();
}

FillTerm CotangentTerm(FillKind kind, double a) {
  return {.kind = kind, .a = {a}};
}

void DrawOwn(Draw* draw, bool mild, Case* c) {
  AttentionBackwardCase* a = GradientPart(c);
  a->grad_lane = draw->OneIn(2) ? a->lane : Lane::kF32;
  a->d_o = DrawCotangent(draw, mild);
  if (!draw->OneIn(3)) return;
  a->dlse = draw->OneIn(2)
                ? CotangentTerm(FillKind::kNormal, 1)
                : CotangentTerm(FillKind::kConst, draw->Of({0.0, -2.0}));
}

std::vector<Case> WithCotangents(const OpRow& op, Draw* draw,
                                 const DomainOptions& options,
                                 std::vector<Case> sequence) {
  for (Case& c : sequence) {
    DrawOwn(draw, options.plain || options.ordinary, &c);
    c = NormalForm(c).value_or(EmptyCase(op));
  }
  return sequence;
}

class GradientReducer : SequenceReducer<&GradientPart> {
 public:
  using SequenceReducer::SequenceReducer;
  std::vector<std::vector<Case>> All() {
    Try([](Part* a) {
      a->d_o = Part().d_o;
      a->dlse.reset();
      a->lane = a->p_lane = a->grad_lane = Lane::kF32;
    });
    Try([](Part* a) { a->dlse.reset(); });
    Try([](Part* a) { a->d_o = Part().d_o; });
    Try([](Part* a) { a->d_o.resize(1); });
    Try([](Part* a) { a->lane = a->grad_lane = Lane::kF32; });
    // The default: the lane.
    Try([](Part* a) { a->grad_lane = a->lane; });
    return Take();
  }
};

}  // namespace

std::vector<Case> DrawAttentionBackward(const OpRow& op, Draw* draw,
                                        const DomainOptions& options) {
  std::vector<Case> sequence = WithCotangents(
      op, draw, options, DrawAttention(op, draw, options, false));
  if (!options.plain) {
    sequence = WithFurther(draw, WithSizes(draw, std::move(sequence)));
  }
  sequence = WithLists(draw, WithVarlen(draw, std::move(sequence)));
  if (!options.plain) {
    sequence = WithF16(draw, options, std::move(sequence));
    sequence = WithServedBackward(draw, options, std::move(sequence));
  }
  for (Case& c : sequence) KeepInRange(&c);
  return sequence;
}

std::vector<Case> DrawBackwardGuards(const OpRow& op, Draw* draw,
                                     const DomainOptions& options) {
  return WithCotangents(op, draw, options,
                        DrawAttentionGuards(op, draw, options));
}

std::span<const char* const> AttentionBackwardFeatures() {
  return GradientFeatures().names();
}

FeatureSet AttentionBackwardFeaturesOf(const Case& c) {
  const auto& a = c.Get<AttentionBackwardCase>();
  std::vector<bool> own = {a.grad_lane == Lane::kBf16, a.grad_lane != a.lane,
                           a.dlse.has_value()};
  const std::vector<bool> d_o = CotangentFeatures(a.d_o);
  own.insert(own.end(), d_o.begin(), d_o.end());
  return GradientFeatures().Of(AttentionForwardFeaturesOf(c), own);
}

std::vector<std::vector<Case>> ReduceAttentionBackward(
    std::span<const Case> sequence, size_t call) {
  std::vector<std::vector<Case>> smaller =
      ReduceAttentionForward(sequence, call);
  const auto own = GradientReducer(sequence, call).All();
  smaller.insert(smaller.end(), own.begin(), own.end());
  return smaller;
}

}  // namespace lockstep::verify
