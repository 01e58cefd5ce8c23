#include "verify/inputs/fill.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/random/deviates.h"
#include "verify/case/attention_forward/case.h"
#include "verify/inputs/attention_forward_probe.h"

namespace lockstep::verify {
namespace {

uint32_t FamilyStream(uint32_t stream, FillKind kind) {
  return stream | (static_cast<uint32_t>(kind) + 1) << 8;
}

// Where an element stands.
struct Place {
  int64_t element = 0;  // row-major index
  int64_t batch = 0;
  int64_t head = 0;
  int64_t position = 0;  // third axis
  int64_t channel = 0;
};

class TensorFiller {
 public:
  TensorFiller(const CounterGenerator& generator, const FillPlan& plan,
               const MutableLaneView& view)
      : generator_(generator),
        plan_(plan),
        lane_(view.lane),
        positions_(view.shape[2]),
        channels_(view.shape[3]),
        elements_(view.shape[0] * view.shape[1] * view.shape[2] *
                  view.shape[3]),
        words_(generator, plan.stream, elements_) {
    base_.kind = FillKind::kNormal;
    base_.a.value = 1;
    for (const FillTerm& term : plan.terms) {
      if ((term.tensors & plan.tensor) == 0) continue;
      if (FamilyOf(term.kind).modifier) {
        modifiers_.push_back(
            {term,
             {generator, FamilyStream(plan.stream, term.kind), elements_}});
        if (term.kind == FillKind::kCaps) SetLevels(term);
      } else {
        base_ = term;  // the last one named stands
      }
    }
    factor_ = NormalFactor(base_.a.value, plan.normal_scale);
  }

  uint32_t At(const Place& place) {
    uint32_t bits = Base(place);
    for (Modifier& modifier : modifiers_) {
      bits = Modify(&modifier, place, bits);
    }
    return bits;
  }

 private:
  struct Modifier {
    FillTerm term;
    WordStream words;
  };

  uint32_t Base(const Place& place) {
    const double a = base_.a.value;
    const double b = base_.b.value;
    const auto draw = [&] { return words_.At(place.element); };
    const bool hit = place.position % channels_ == place.channel;
    switch (base_.kind) {
      case FillKind::kUniform:
        return UniformBits(draw()[0], a, b);
      case FillKind::kConst:
        return Bits(a);
      case FillKind::kInt:
        return IntBits(draw()[0], a, b);
      case FillKind::kSigns:
        return Bits((draw()[0] & 1) != 0 ? -a : a);
      case FillKind::kOneHot:
        return Bits(hit ? 1 : 0);
      case FillKind::kSignature:
        return Bits(hit ? static_cast<double>(place.position + 1) : 0);
      case FillKind::kFile:
        return FromFile(place.element);
      case FillKind::kProbe:
        return Bits(static_cast<double>(FromProbe(place)));
      default:
        return NormalBits(draw(), factor_);
    }
  }

  // Channels of a row follow each other.
  float FromProbe(const Place& place) {
    if (place.channel == 0) {
      probe_.emplace(base_.probe, *plan_.problem, generator_.seed(),
                     static_cast<int>(plan_.stream),
                     std::array{place.batch, place.head, place.position});
    }
    return (*probe_)(place.channel);
  }

  uint32_t FromFile(int64_t index) const {
    const uint8_t* source =
        plan_.file.data() +
        index * static_cast<int64_t>(LaneBytes(plan_.file_lane));
    return WithAnyInputLane(plan_.file_lane, [&](auto element) {
      std::memcpy(&element, source, sizeof(element));
      return std::bit_cast<uint32_t>(ToFloat(element));
    });
  }

  uint32_t Modify(Modifier* modifier, const Place& place, uint32_t bits) {
    const FillTerm& term = modifier->term;
    if (term.kind == FillKind::kRamp) {
      const double step =
          static_cast<double>(place.position) / static_cast<double>(positions_);
      const auto factor = static_cast<float>(std::fma(term.a.value, step, 1.0));
      return Bits(static_cast<double>(std::bit_cast<float>(bits)) *
                  static_cast<double>(factor));
    }
    switch (term.kind) {
      case FillKind::kSpread:
      case FillKind::kPoison:
        return bits;
      case FillKind::kCaps:
        return Scaled(place, bits);
      case FillKind::kDrift:
        return Moved(Drift(term, place), place, bits);
      case FillKind::kLow:
        return Lowered(term, place, bits);
      case FillKind::kBurst:
        return Burst(term, place, bits);
      case FillKind::kPeak:
        return Moved(Peak(term, place), place, bits);
      default:
        break;
    }
    const auto draw = modifier->words.At(place.element);
    if (draw[0] >= Threshold(term.a.value)) return bits;
    const uint32_t sign = draw[1] & kSign;
    // Rounding to the lane must not carry a huge number into infinity.
    const uint32_t kept = ~0u << (24 - LaneRowOf(lane_).digits);
    switch (term.kind) {
      case FillKind::kSubnormal:
        return SubnormalBits(draw, lane_);
      case FillKind::kTiny:
        return TinyBits(draw, lane_) & kept;
      case FillKind::kHuge:
        return HugeBits(draw, lane_) & kept;
      case FillKind::kSpecial:
        return SpecialBits(draw);
      default:
        return sign;  // kZero
    }
  }

  // One draw for all channels of a row.
  uint32_t Burst(const FillTerm& term, const Place& place,
                 uint32_t bits) const {
    const auto draw = generator_.Draw(FamilyStream(plan_.stream, term.kind),
                                      place.element - place.channel);
    if (draw[0] >= Threshold(term.a.value)) return bits;
    // Of f32, too: bf16's, as cases have always had it.
    const double largest =
        LaneRowOf(HasShortRange(lane_) ? lane_ : Lane::kBf16).largest;
    const double x = std::ldexp(static_cast<double>(std::bit_cast<float>(bits)),
                                static_cast<int>(term.b.value));
    return Bits(std::isfinite(x) ? std::clamp(x, -largest, largest) : x);
  }

  // LO, 2 LO, 4 LO, ... below HI, and HI.
  void SetLevels(const FillTerm& caps) {
    levels_.clear();
    for (double x = caps.a.value; x < caps.b.value; x *= 2) {
      levels_.push_back(x);
    }
    levels_.push_back(caps.b.value);
  }

  // Rows, heads and batch rows take turns: decoding, too, meets several levels.
  static int64_t Turn(const Place& place) {
    return place.position + place.head + place.batch;
  }

  uint32_t Scaled(const Place& place, uint32_t bits) const {
    if (plan_.tensor != kFillQ) return bits;
    const auto count = static_cast<int64_t>(levels_.size());
    const double level = levels_[static_cast<size_t>(Turn(place) % count)];
    return Bits(static_cast<double>(std::bit_cast<float>(bits)) * level);
  }

  // The element of k whose product with 1 moves the scaled score by `score`.
  uint32_t KeyFor(double score) const {
    if (plan_.score_scale == 0) return 0;
    const double key = score / plan_.score_scale;
    const double most =
        HasShortRange(lane_) ? LaneRowOf(lane_).largest : 0x1p100;
    return Bits(std::clamp(key, -most, most));
  }

  // q and k meet in channel 0.
  uint32_t Moved(double score, const Place& place, uint32_t bits) const {
    if (plan_.tensor == kFillV || place.channel != 0) return bits;
    return plan_.tensor == kFillQ ? Bits(1) : KeyFor(score);
  }

  static double Drift(const FillTerm& term, const Place& place) {
    const auto half = static_cast<int64_t>(term.b.value);
    const int64_t at = place.position % (2 * half);
    const auto steps = static_cast<double>(std::min(at, 2 * half - at));
    return term.a.value * steps / term.b.value;
  }

  static double Peak(const FillTerm& term, const Place& place) {
    const bool hit = place.position % static_cast<int64_t>(term.b.value) == 0;
    return hit ? term.a.value : 0;
  }

  uint32_t Lowered(const FillTerm& term, const Place& place,
                   uint32_t bits) const {
    if (plan_.tensor == kFillV || place.channel != channels_ - 1) return bits;
    if (plan_.tensor == kFillK) return KeyFor(1);
    const bool low = Turn(place) % static_cast<int64_t>(term.b.value) == 0;
    return low ? Bits(-term.a.value) : 0;
  }

  const CounterGenerator& generator_;
  const FillPlan& plan_;
  Lane lane_;
  int64_t positions_;
  int64_t channels_;
  int64_t elements_;
  WordStream words_;
  FillTerm base_;
  std::optional<ProbeElements> probe_;  // of the row that is being filled
  std::vector<Modifier> modifiers_;
  std::vector<double> levels_;  // of a caps term
  float factor_;
};

void Store(const MutableLaneView& view, int64_t offset, uint32_t bits) {
  auto* base = static_cast<uint8_t*>(view.data);
  if (view.lane == Lane::kF32) {
    std::memcpy(base + offset * 4, &bits, 4);
    return;
  }
  if (IsFp8(view.lane)) {
    base[offset] = RoundBitsToFp8(view.lane, bits);
    return;
  }
  const uint16_t half = RoundBitsToHalf(view.lane, bits);
  std::memcpy(base + offset * 2, &half, 2);
}

}  // namespace

float QueryScale(const AttentionForwardCase& c) {
  const double of_scores =
      c.scale.value * TypicalScale(c.k_scale) * TypicalScale(c.q_scale);
  const double natural =
      std::fabs(of_scores) * std::sqrt(static_cast<double>(c.head_dim));
  double target = natural;
  if (c.softcap) target = c.softcap->value / 2;
  for (const FillTerm& term : c.fill) {
    if (term.kind == FillKind::kSpread && (term.tensors & kFillQ) != 0) {
      target = term.a.value;
    }
    if (term.kind == FillKind::kCaps && c.softcap) target = c.softcap->value;
  }
  const double scale = natural > 0 ? target / natural : 1.0;
  return static_cast<float>(std::min(scale, 0x1p100));
}

void FillTensor(const CounterGenerator& generator, const FillPlan& plan,
                const MutableLaneView& view) {
  TensorFiller filler(generator, plan, view);
  const auto& strides = view.strides;
  Place place;
  for (int64_t b = 0; b < view.shape[0]; ++b) {
    for (int64_t h = 0; h < view.shape[1]; ++h) {
      for (int64_t s = 0; s < view.shape[2]; ++s) {
        const int64_t row = b * strides[0] + h * strides[1] + s * strides[2];
        place.batch = b;
        place.head = h;
        place.position = s;
        for (int64_t d = 0; d < view.shape[3]; ++d, ++place.element) {
          place.channel = d;
          Store(view, row + d * strides[3], filler.At(place));
        }
      }
    }
  }
}

void FillScales(const CounterGenerator& generator, const ScaleSpec& spec,
                uint32_t stream, std::span<float> scales) {
  const std::array<FillTerm, 1> terms = {spec.values};
  const auto count = static_cast<int64_t>(scales.size());
  FillPlan plan;
  plan.stream = stream;
  plan.terms = terms;
  FillTensor(generator, plan,
             {scales.data(), Lane::kF32, {1, 1, count, 1}, {0, 0, 1, 1}});
}

void FillSink(const CounterGenerator& generator, const FillTerm& term,
              std::span<float> sink) {
  const std::array<FillTerm, 1> terms = {term};
  const auto heads = static_cast<int64_t>(sink.size());
  FillPlan plan;
  plan.stream = kStreamSink;
  plan.terms = terms;
  FillTensor(generator, plan,
             {sink.data(), Lane::kF32, {1, 1, heads, 1}, {0, 0, 1, 1}});
}

void FillDense(const CounterGenerator& generator, const DenseSource& source,
               uint32_t index, const TensorView<uint8_t, 4>& view) {
  const uint64_t threshold = Threshold(source.density.value);
  const uint32_t stream = kStreamDense + index;
  const bool blocks = source.kind == DenseSource::Kind::kBlocks;
  const int64_t columns =
      blocks ? (view.shape[3] + source.block_k - 1) / source.block_k : 0;
  WordStream words(
      generator, stream,
      view.shape[0] * view.shape[1] * view.shape[2] * view.shape[3]);
  int64_t element = 0;
  for (int64_t b = 0; b < view.shape[0]; ++b) {
    for (int64_t h = 0; h < view.shape[1]; ++h) {
      for (int64_t i = 0; i < view.shape[2]; ++i) {
        for (int64_t j = 0; j < view.shape[3]; ++j, ++element) {
          const int64_t drawn =
              blocks ? i / source.block_q * columns + j / source.block_k
                     : element;
          const bool visible = words.At(drawn)[0] < threshold;
          view(b, h, i, j) = visible ? 1 : 0;
        }
      }
    }
  }
}

void PoisonRow(const CounterGenerator& generator, uint32_t stream,
               const MutableLaneView& view, const std::array<int64_t, 3>& row) {
  const auto& shape = view.shape;
  const int64_t first =
      ((row[0] * shape[1] + row[1]) * shape[2] + row[2]) * shape[3];
  const int64_t offset = row[0] * view.strides[0] + row[1] * view.strides[1] +
                         row[2] * view.strides[2];
  WordStream words(generator, FamilyStream(stream, FillKind::kPoison),
                   first + shape[3]);
  for (int64_t d = 0; d < shape[3]; ++d) {
    Store(view, offset + d * view.strides[3], SpecialBits(words.At(first + d)));
  }
}

}  // namespace lockstep::verify
