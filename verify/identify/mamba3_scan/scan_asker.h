// What the probes of a scan and of its gradients have in common: numbers that
// designed inputs hold, and how they arrive.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_SCAN_ASKER_H_
#define LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_SCAN_ASKER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "verify/identify/asker.h"
#include "verify/identify/functions.h"
#include "verify/identify/models.h"
#include "verify/identify/near_pairs.h"
#include "verify/inputs/mamba3_scan.h"

namespace lockstep::verify {

inline constexpr int64_t kScanState = 64;   // coordinates
inline constexpr int64_t kScanValues = 64;  // channels
inline constexpr int64_t kScanAngles = 16;
inline constexpr int64_t kScanHeads = 32;  // each with a number of its own
inline constexpr double kTwoPi = 6.283185307179586;
// No type of tensors rounds it, and a product of two such numbers has 16 bits.
inline constexpr double kEightBits = 1.3828125;

using Numbers = std::vector<double>;

// An element of a question's tensor.
using ScanElement = std::function<double(int64_t head, int64_t t, int64_t c)>;
ScanElement Always(double x);
// 1 in the first coordinate, and 0 elsewhere.
ScanElement FirstCoordinate();
// x of each head at that token; all other tokens have 0.
ScanElement OfHead(const std::vector<double>& x, int64_t token);
std::vector<double> Doubles(const std::vector<float>& x);

// Tensor [run, head, position, channel] of the values of `of`, `light` tokens
// late; before them, and where it is not set, `other`.
void FillScan(const Mamba3ScanData& data, ScanTensor tensor,
              const ScanElement& of, int64_t light, double other);

// The built-in profile that a kernel of this lane starts from.
const char* ScanBase(Lane lane);

// Chunks begin at multiples of their lengths. So many tokens in front split no
// chunk of a usual length: 16, or 64 and more.
int64_t LightTokens(int64_t wanted);

class ScanAsker : public Asker {
 public:
  ScanAsker(Candidate& candidate, Lane lane)
      : Asker(candidate, lane, ScanBase(lane)) {}

  // Tokens that stand before those of a question and change nothing.
  int64_t light_tokens = 0;
  // A tau whose sigmoid is 1, where a question has none: finite, or +infinity
  // where the kernel has no look-ahead.
  double sure = 64;

  ScanNumeric& scan() { return *profile.scan; }
  // Learns a type, or reports it. Of f32 tensors it learns tf32 alone: no unit
  // has another type for them.
  void TakeType(const char* key, const RoundingModel& model, NumberType* field,
                const std::string& evidence);
  // No legal type explains the answers, so the field is f32.
  void CannotTell(const char* key, NumberType* field,
                  const std::string& evidence);
  // The calibrated line is that of the base's operands alone.
  void SettleCompanion();

  // The factor of one term of a difference, so that f16 can hold the result.
  double gain() const { return lane() == Lane::kF16 ? 0x1p14 : 1; }

  // What the first probes find out.
  bool halves = false;                   // angles turn i and i + n/2
  const RoundingModel* angle = nullptr;  // null: unknown

  // Coordinates that angle i turns: the first, and the other.
  int64_t First(int64_t i) const { return halves ? i : 2 * i; }
  int64_t Second(int64_t i) const {
    return halves ? i + kScanState / 2 : 2 * i + 1;
  }
  // 1 in the first coordinate of every angle.
  ScanElement FirstOfEach() const;
};

// The strictest type of that lane's operands to which the numbers may have been
// rounded; null: none explains them. `margin`: their largest relative error
// before that rounding; `out`: after it.
const RoundingModel* Arrived(const std::vector<double>& x,
                             const std::vector<double>& came, Lane lane,
                             double margin, double out);
// The 16-bit type of intermediate numbers, if tensors have that lane.
const RoundingModel& NarrowToNearest(Lane lane);
// The coarsest type that has all of these numbers, to 2^-20.
const RoundingModel* GridOf(const std::vector<double>& numbers);

// Both signs, or minus alone, from 1/8 to 8, of 8 bits; one for each head.
std::vector<double> Arguments(uint64_t seed, bool both);

// Learns the error of a function from the answers to `ask`, which takes an
// argument for each head.
void LearnFunction(Asker* kernel, const char* key, const std::vector<double>& x,
                   double (*function)(double), std::span<const double> legal,
                   double* field,
                   const std::function<Result<std::vector<double>>(
                       const std::vector<double>&)>& ask);
double Sigmoid(double x);
// Whether mixing weights are the sigmoids of tau, rounded to the type.
bool AreSigmoidsIn(const RoundingModel& type, const Numbers& tau,
                   const Numbers& lambda);

// Pairs of near numbers of 24 bits, every other pair so small that f16 lacks
// bits.
std::vector<NearPair> NearNumbers(size_t n, uint64_t seed);
// Says what the differences show of that field. `what`: "states".
void SayPairs(ScanAsker* kernel, const char* key, const char* what,
              const std::vector<NearPair>& pairs, double margin, double out,
              NumberType* field);

// Says which coordinates an angle turned, and keeps it: what the first one of
// `turned` was, the others not, before the angle.
void SayPairing(ScanAsker* kernel, const std::vector<float>& turned);

// The angle as that type has it, in turns.
double TurnsIn(const RoundingModel& type, double turns);

// Tokens that show whether an angle is reduced. Steps have 23 bits, so that
// sums of reduced turns are exact.
inline constexpr int64_t kAngleTokens = 128;
// What so many tokens of 32 to 64 turns each leave of an angle, by how far it
// is off in turns; NaN is said, too.
void SayAngleForm(ScanAsker* kernel, double largest);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_MAMBA3_SCAN_SCAN_ASKER_H_
