#include "verify/base/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "verify/base/format.h"

namespace lockstep::verify {
namespace {

// One set of masks serves all lanes: an element is looked at as the binary32
// that it is, exactly.
uint32_t Widen(Lane lane, uint32_t bits) {
  return std::bit_cast<uint32_t>(FloatOf(lane, bits));
}

constexpr uint32_t kSign = 0x80000000u;
constexpr uint32_t kMagnitude = 0x7fffffffu;
constexpr uint32_t kInfinity = 0x7f800000u;

bool IsNaN(uint32_t f32) { return (f32 & kMagnitude) > kInfinity; }
bool IsInf(uint32_t f32) { return (f32 & kMagnitude) == kInfinity; }
bool IsZero(uint32_t f32) { return (f32 & kMagnitude) == 0; }

// Place on the number line of the lane, the zeros at 0.
int64_t Place(Lane lane, uint32_t bits) {
  const uint32_t sign = LaneBytes(lane) == 4 ? kSign : 0x8000u;
  const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

bool Worse(const ElementWitness &a, const ElementWitness &b) {
  if (a.unwritten != b.unwritten) return a.unwritten;
  if (a.pair != b.pair) return a.pair > b.pair;
  return a.ulp > b.ulp;
}

std::string FormatShape(const std::array<int64_t, 4> &shape) {
  std::string text = "[";
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

int64_t Elements(const std::array<int64_t, 4> &shape) {
  return shape[0] * shape[1] * shape[2] * shape[3];
}

}  // namespace

double ElementValue(Lane lane, uint32_t bits) {
  return static_cast<double>(FloatOf(lane, bits));
}

const char *PairClassName(PairClass pair) {
  switch (pair) {
    case PairClass::kEqual:
      return "equal";
    case PairClass::kSameNaN:
      return "same_nan";
    case PairClass::kZeroSign:
      return "zero_sign";
    case PairClass::kFinite:
      return "finite";
    case PairClass::kInfExpected:
      return "inf_expected";
    case PairClass::kInfProduced:
      return "inf_produced";
    case PairClass::kInfSign:
      return "inf_sign";
    case PairClass::kNaNExpected:
      return "nan_expected";
    case PairClass::kNaNProduced:
      return "nan_produced";
  }
  return "unknown";
}

PairClass Classify(Lane lane, uint32_t expected, uint32_t produced) {
  if (expected == produced) return PairClass::kEqual;
  const uint32_t e = Widen(lane, expected);
  const uint32_t p = Widen(lane, produced);
  if (IsNaN(e) && IsNaN(p)) return PairClass::kSameNaN;
  if (IsNaN(e)) return PairClass::kNaNExpected;
  if (IsNaN(p)) return PairClass::kNaNProduced;
  if (IsInf(e) && IsInf(p)) return PairClass::kInfSign;
  if (IsInf(e)) return PairClass::kInfExpected;
  if (IsInf(p)) return PairClass::kInfProduced;
  if (IsZero(e) && IsZero(p)) return PairClass::kZeroSign;
  return PairClass::kFinite;
}

uint64_t UlpDistance(Lane lane, uint32_t a, uint32_t b) {
  const int64_t difference = Place(lane, a) - Place(lane, b);
  return static_cast<uint64_t>(difference < 0 ? -difference : difference);
}

std::string FormatElement(Lane lane, uint32_t bits) {
  const float value = FloatOf(lane, bits);
  return (std::isnan(value) ? "nan"
                            : Format("%+a", static_cast<double>(value))) +
         Format(" (0x%0*x)", static_cast<int>(2 * LaneBytes(lane)), bits);
}

int64_t Comparison::Compared() const {
  int64_t sum = 0;
  for (const int64_t count : counts) sum += count;
  return sum;
}

int64_t Comparison::Over() const {
  return Compared() - count(PairClass::kEqual) - count(PairClass::kSameNaN);
}

Comparer::Comparer(std::string tensor, Lane lane,
                   const std::array<int64_t, 4> &shape,
                   int64_t expected_elements) {
  comparison_.tensor = std::move(tensor);
  comparison_.lane = lane;
  comparison_.shape = shape;
  comparison_.expected_elements = expected_elements;
}

void Comparer::AddOther(const std::array<int64_t, 4> &index, uint32_t expected,
                        uint32_t produced, bool unwritten) {
  const Lane lane = comparison_.lane;
  const PairClass pair = Classify(lane, expected, produced);
  ++comparison_.counts[static_cast<size_t>(pair)];
  if (unwritten) ++comparison_.unwritten;
  const bool same = pair == PairClass::kEqual || pair == PairClass::kSameNaN;
  if (same && !unwritten) return;

  ElementWitness witness{.index = index,
                         .expected = expected,
                         .produced = produced,
                         .pair = pair,
                         .unwritten = unwritten};
  if (pair == PairClass::kFinite) {
    witness.ulp = UlpDistance(lane, expected, produced);
    comparison_.max_ulp = std::max(comparison_.max_ulp, witness.ulp);
    const auto e = ElementValue(lane, expected);
    const auto p = ElementValue(lane, produced);
    comparison_.max_abs = std::max(comparison_.max_abs, std::fabs(e - p));
  }
  if (!comparison_.first) comparison_.first = witness;
  if (!comparison_.worst || Worse(witness, *comparison_.worst)) {
    comparison_.worst = witness;
  }
}

std::string ShapeMismatch(const LaneView &expected, const LaneView &produced) {
  if (expected.lane != produced.lane) {
    return std::string("expected lane ") + LaneName(expected.lane) +
           ", produced " + LaneName(produced.lane);
  }
  if (expected.shape != produced.shape) {
    return "expected shape " + FormatShape(expected.shape) + ", produced " +
           FormatShape(produced.shape);
  }
  return "";
}

Comparison CompareTensors(std::string tensor, const LaneView &expected,
                          const LaneView &produced) {
  Comparer comparer(std::move(tensor), expected.lane, expected.shape,
                    Elements(expected.shape));
  std::string mismatch = ShapeMismatch(expected, produced);
  if (!mismatch.empty()) {
    Comparison comparison = comparer.comparison();
    comparison.mismatch = std::move(mismatch);
    return comparison;
  }
  std::array<int64_t, 4> at{};
  const auto &shape = expected.shape;
  for (at[0] = 0; at[0] < shape[0]; ++at[0]) {
    for (at[1] = 0; at[1] < shape[1]; ++at[1]) {
      for (at[2] = 0; at[2] < shape[2]; ++at[2]) {
        for (at[3] = 0; at[3] < shape[3]; ++at[3]) {
          comparer.Add(at, ElementBits(expected, at),
                       ElementBits(produced, at));
        }
      }
    }
  }
  return comparer.comparison();
}

}  // namespace lockstep::verify
