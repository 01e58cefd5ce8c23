// What values of case lines are made of, whatever the op: numbers, segments,
// fill terms.
#ifndef LOCKSTEP_VERIFY_CASE_VALUES_H_
#define LOCKSTEP_VERIFY_CASE_VALUES_H_

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/case/probe_kind.h"

namespace lockstep::verify {

// A real number of a case line; compared by bits, so that NaN equals NaN and
// a case equals itself.
struct Number {
  double value = 0;
  friend bool operator==(Number a, Number b) {
    return std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value);
  }
};

// Consecutive positions with one segment id.
struct SegmentRun {
  int32_t id = 0;
  int64_t length = 0;
  friend bool operator==(const SegmentRun&, const SegmentRun&) = default;
};

// Segment ids of one side.
struct Segments {
  enum class Kind : uint8_t { kNone, kRuns, kFile };
  Kind kind = Kind::kNone;
  // kRuns: one list for every batch row, or one per batch row. Neighbouring
  // runs of one list have different ids.
  std::vector<std::vector<SegmentRun>> rows;
  // kFile: the file with the ids; empty: the one of the fill.
  std::string path{};
  std::string digest{};
  friend bool operator==(const Segments&, const Segments&) = default;
};

// The families of input values: distributions first, then modifiers, which
// change part of what a distribution (or a file) gave. FillFamilies() says
// what each does.
enum class FillKind : uint8_t {
  kNormal,
  kUniform,
  kConst,
  kInt,
  kOneHot,
  kSignature,
  kFile,
  kSpread,
  kRamp,
  kSubnormal,
  kTiny,
  kHuge,
  kZero,
  kSpecial,
  kPoison,
  kProbe,  // a distribution
  kSigns,  // appended, as those below: streams count the families before
  kCaps,
  kDrift,
  kLow,
  kBurst,
  kPeak,
};

// Tensors that a fill term applies to: bits, may be combined.
inline constexpr uint8_t kFillQ = 1;
inline constexpr uint8_t kFillK = 2;
inline constexpr uint8_t kFillV = 4;
inline constexpr uint8_t kFillAll = 7;

struct FillTerm {
  FillKind kind = FillKind::kNormal;
  uint8_t tensors = kFillAll;
  Number a{};  // first and second argument, where the family has them
  Number b{};
  std::string path{};    // kFile
  std::string digest{};  // kFile
  ProbeKind probe{};     // kProbe
  friend bool operator==(const FillTerm&, const FillTerm&) = default;
};

// One row of `lockstep list families`.
struct FillFamily {
  FillKind kind;
  const char* name;
  const char* arguments;  // as written after the colon; "" if there are none
  int numbers;            // how many numbers the arguments hold
  bool modifier;
  const char* description;
};
std::span<const FillFamily> FillFamilies();
const FillFamily& FamilyOf(FillKind kind);

// The probe among the terms, if any; the terms without it.
std::optional<ProbeKind> ProbeIn(std::span<const FillTerm> fill);
void DropProbe(std::vector<FillTerm>* fill);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_VALUES_H_
