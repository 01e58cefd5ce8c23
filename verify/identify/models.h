// Legal values as functions: what a number, or a sum, becomes under each. The
// answers of a kernel are compared with these.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_MODELS_H_
#define LOCKSTEP_VERIFY_IDENTIFY_MODELS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/profile/profile.h"

namespace lockstep::verify {

// A type that numbers may be rounded to, and how.
struct RoundingModel {
  NumberType type;
  Rounding how;
  // False: no unit of common hardware does that; it is reported.
  bool adopt;
  const char* name;  // "tf32"
  const char* text;  // "tf32, cut"
};
// Strict values first.
std::span<const RoundingModel> RoundingModels();
// The models of intermediate numbers, if tensors have that lane. For bf16 there
// is no tf32. For f16 tf32 is last, because it differs from f16 only in the
// smallest numbers.
std::vector<const RoundingModel*> ModelsBeside(Lane lane);
// Whether units for tensors of that lane round intermediate numbers to the
// type. Those for f16 tensors have no bf16. The caller decides about f32
// tensors.
bool IsOfLane(NumberType type, Lane lane);
// The 16-bit type that intermediate numbers have, if tensors have that lane.
NumberType NarrowTypeOf(Lane lane);
float RoundedBy(const RoundingModel& model, float x);
// Whether x is too near a border of two rounded values to tell, errors of
// `margin` of it supposed.
bool NearBorder(const RoundingModel& model, double x, double margin);

// How a sum may be formed.
struct SumModel {
  Accumulator acc;
  bool adopt;        // as above
  const char* text;  // "mma:16,2"
};
std::span<const SumModel> SumModels();
// Orders and finer points that a profile leaves open.
inline constexpr int kSumWays = 6;
// Sum of the terms, from +0. Requires: 0 <= way < kSumWays.
double SumBy(const SumModel& model, int way, const std::vector<float>& terms);

// Lists of terms that lose bits in most models. The first is a pair that
// cancels, with one term of 7/8 of its last place. The others are pairs and
// small terms in a drawn order. Only the first `used` of n terms are not 0.
// Numbers of 3 bits.
std::vector<std::vector<float>> LosingSums(size_t lists, size_t n, size_t used,
                                           uint64_t seed);
inline constexpr double kBigTerm = 0x1p13;
inline constexpr double kSmallTerm = 0x1.cp-11;  // 7/8 of its last place

// Drawn numbers of so many significant bits in [1, 2).
std::vector<float> DrawnNumbers(size_t n, int bits, uint64_t seed);

// Whether rounding to nearest alone explains what is left of the lists that
// have three terms: never nothing.
bool LosesNothing(const std::vector<std::vector<float>>& lists,
                  const std::vector<double>& sums);
// Where a kernel adds n terms: the sums as it would see them.
struct SumFit {
  const SumModel* model = nullptr;  // null: none explains the answers
  bool nearest = false;
  std::string evidence;
};
// `explains(i, sum)`: whether answer i is that sum's.
SumFit FitSums(const std::vector<std::vector<float>>& lists,
               const std::vector<double>& sums,
               const std::function<bool(size_t, double)>& explains);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_MODELS_H_
