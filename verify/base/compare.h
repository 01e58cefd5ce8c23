// Bitwise comparison of tensors: every pair of elements falls into exactly one
// class, and the condition for passing is stated once, positively.
//
// The comparator is the first defendant: a wrong kernel makes a test red, a
// wrong comparator makes everything green. tests/verify/compare_test.cc holds
// its table of planted defects.
#ifndef LOCKSTEP_VERIFY_BASE_COMPARE_H_
#define LOCKSTEP_VERIFY_BASE_COMPARE_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "reference/contract/tensor_view.h"

namespace lockstep::verify {

// What a pair (expected, produced) is. The order is the severity: of two
// witnesses the one with the later class is the worse.
enum class PairClass : uint8_t {
  kEqual,        // the same bits
  kSameNaN,      // both NaN, payload or sign differ: equal once canonicalised
  kZeroSign,     // +0 and -0
  kFinite,       // two different finite numbers
  kInfExpected,  // expected +-inf, produced finite
  kInfProduced,  // expected finite, produced +-inf
  kInfSign,      // infinities of different sign
  kNaNExpected,  // expected NaN, produced a number
  kNaNProduced,  // expected a number, produced NaN
};
inline constexpr size_t kPairClasses = 9;

// Stable words for reports: "equal", "same_nan", "zero_sign", ...
const char *PairClassName(PairClass pair);

PairClass Classify(Lane lane, uint32_t expected, uint32_t produced);

// Steps between two finite numbers on the lane's number line, +0 and -0 being
// one place. Requires: both finite.
uint64_t UlpDistance(Lane lane, uint32_t a, uint32_t b);

// One differing element, index in the tensor's logical axes.
struct ElementWitness {
  std::array<int64_t, 4> index{};
  uint32_t expected = 0;  // bits; 16 of them in the lower half
  uint32_t produced = 0;
  PairClass pair = PairClass::kEqual;
  uint64_t ulp = 0;        // kFinite only
  bool unwritten = false;  // the candidate never stored to this element
};

// The number an element's bits stand for; 16 or 8 bits in the lowest ones.
inline float FloatOf(Lane lane, uint32_t bits) {
  return WithAnyInputLane(lane, [bits](auto element) {
    if constexpr (sizeof(element) == 4) {
      return std::bit_cast<float>(bits);
    } else {
      return ToFloat(
          decltype(element){static_cast<decltype(element.bits)>(bits)});
    }
  });
}
double ElementValue(Lane lane, uint32_t bits);

// "+0x1.8p-3 (0x3e400000)": the value as a hex float, and its bits.
std::string FormatElement(Lane lane, uint32_t bits);

// What comparing one output tensor found.
struct Comparison {
  std::string tensor;
  Lane lane = Lane::kF32;
  std::array<int64_t, 4> shape{};
  // Why the tensors could not be compared element by element; empty if they
  // could.
  std::string mismatch;
  int64_t expected_elements = 0;  // that had to be compared
  std::array<int64_t, kPairClasses> counts{};
  int64_t unwritten = 0;  // elements the candidate never stored to
  uint64_t max_ulp = 0;   // over kFinite pairs
  double max_abs = 0;     // over kFinite pairs
  std::optional<ElementWitness> first;  // in logical order
  std::optional<ElementWitness> worst;  // by class, then ulp, then order

  int64_t count(PairClass pair) const {
    return counts[static_cast<size_t>(pair)];
  }
  // All pairs seen; equals expected_elements unless the comparison ended early.
  int64_t Compared() const;
  // Compared pairs that do not pass.
  int64_t Over() const;

  // The one condition for passing. The tensors were comparable, there was
  // something to compare, and every element was compared and written. Each has
  // the expected bits, where all NaNs count as one.
  bool Passed() const {
    return mismatch.empty() && expected_elements > 0 && unwritten == 0 &&
           count(PairClass::kEqual) + count(PairClass::kSameNaN) ==
               expected_elements &&
           Compared() == expected_elements;
  }
};

// Feeds pairs to a Comparison one by one, in logical order.
class Comparer {
 public:
  // `expected_elements`: how many pairs will be added.
  Comparer(std::string tensor, Lane lane, const std::array<int64_t, 4> &shape,
           int64_t expected_elements);

  void Add(const std::array<int64_t, 4> &index, uint32_t expected,
           uint32_t produced, bool unwritten = false) {
    if (expected == produced && !unwritten) {
      ++comparison_.counts[static_cast<size_t>(PairClass::kEqual)];
    } else {
      AddOther(index, expected, produced, unwritten);
    }
  }

  const Comparison &comparison() const { return comparison_; }

 private:
  // A pair that differs, or was not written.
  void AddOther(const std::array<int64_t, 4> &index, uint32_t expected,
                uint32_t produced, bool unwritten);

  Comparison comparison_;
};

// The bits of one element, 16 or 8 of them in the lowest ones.
inline uint32_t ElementBits(const LaneView &view,
                            const std::array<int64_t, 4> &index) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < 4; ++axis) {
    offset += index[axis] * view.strides[axis];
  }
  // memcpy: the bits of a float, not its value, and views may be misaligned.
  const auto *bytes = static_cast<const unsigned char *>(view.data);
  if (LaneBytes(view.lane) == 4) {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes + offset * 4, 4);
    return bits;
  }
  if (LaneBytes(view.lane) == 1) return bytes[offset];
  uint16_t bits = 0;
  std::memcpy(&bits, bytes + offset * 2, 2);
  return bits;
}

// Whole tensors. A difference of lane or shape is a mismatch, not an error.
Comparison CompareTensors(std::string tensor, const LaneView &expected,
                          const LaneView &produced);

// Why the two views cannot be compared element by element, in one line; empty
// if they can.
std::string ShapeMismatch(const LaneView &expected, const LaneView &produced);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_COMPARE_H_
