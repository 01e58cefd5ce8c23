// The scalar functions compiled a second time, from the same source, in a
// namespace where each table of coefficients has one wrong last bit.
#include <bit>
#include <cstddef>
#include <cstdint>

#include "reference/contract/coefficients.h"
#include "reference/contract/numerics.h"
#include "tests/support/elementary_sides.h"

// Include paths are not touched by a macro, names are.
#define reference planted

namespace lockstep::planted {

template <size_t kTerms>
struct Table {
  float c[kTerms];
};

template <size_t kTerms>
constexpr Table<kTerms> FlipLastBit(const float (&c)[kTerms], size_t term) {
  Table<kTerms> table{};
  for (size_t i = 0; i < kTerms; ++i) {
    const uint32_t flip = i == term ? 1u : 0u;
    table.c[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(c[i]) ^ flip);
  }
  return table;
}

constexpr auto kExp2CoreTable = FlipLastBit(lockstep::kExp2Core, 2);
constexpr auto kLog2CoreTable = FlipLastBit(lockstep::kLog2Core, 3);
constexpr auto kTanhSmallTable = FlipLastBit(lockstep::kTanhSmall, 1);
constexpr auto kTanhLargeTable = FlipLastBit(lockstep::kTanhLarge, 2);
constexpr auto kLog1pCoreTable = FlipLastBit(lockstep::kLog1pCore, 1);
constexpr auto kSinTurnsTable = FlipLastBit(lockstep::kSinTurns, 1);
constexpr auto kCosTurnsTable = FlipLastBit(lockstep::kCosTurns, 0);
constexpr auto& kExp2Core = kExp2CoreTable.c;
constexpr auto& kLog2Core = kLog2CoreTable.c;
constexpr auto& kTanhSmall = kTanhSmallTable.c;
constexpr auto& kTanhLarge = kTanhLargeTable.c;
constexpr auto& kLog1pCore = kLog1pCoreTable.c;
constexpr auto& kSinTurns = kSinTurnsTable.c;
constexpr auto& kCosTurns = kCosTurnsTable.c;
// Where the largest error of the sine is, among the subnormals, its polynomial
// vanishes.
constexpr float kTwoPi =
    std::bit_cast<float>(std::bit_cast<uint32_t>(lockstep::kTwoPi) ^ 1u);
constexpr unsigned kSqrtHalfBits = lockstep::kSqrtHalfBits + 1;

}  // namespace lockstep::planted

#include "reference/elementary.cc"
#include "tests/support/elementary_scalar-inl.h"

namespace lockstep::elementary {

Side PlantedSide() { return {"planted", planted::kKernels}; }

}  // namespace lockstep::elementary
