// Holds both models of matrix units in C++ against sums that it is given, and
// says whether wrong neighbours of each unit differ. tests/units/twins_test.py
// writes what it reads:
//   lockstep_unit_twins < SUMS
// A group is "CHIP OPERAND ACCUMULATOR INSTRUCTION k TILES\n"; then for each
// tile u32 K and, as u32, a [64][K], b [8][K], c [64][8] and d [64][8]. Answers
// one line a group: the sums, and per model the name and the number of sums
// that differ; of a neighbour 1 if any does.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/matrix_units.h"
#include "reference/matrix_unit.h"
#include "verify/emulator/matrix_unit.h"

namespace lockstep {
namespace {

constexpr size_t kRows = 64, kColumns = 8;

struct Tile {
  size_t length = 0;
  std::vector<uint32_t> a, b, c, d;
};

struct Sums {
  const MatrixUnit* unit = nullptr;
  int k = 0;
  std::vector<Tile> tiles;
};

// Bits of the sum of row r, column j.
using Model = std::function<uint32_t(const Tile& tile, size_t r, size_t j)>;

NumberFormat FormatOf(const std::string& name) {
  if (name == "bf16") return kFormatBf16;
  if (name == "f16") return kFormatF16;
  if (name == "tf32") return kFormatTf32;
  if (name == "e4m3") return kFormatE4m3;
  return name == "e5m2" ? kFormatE5m2 : kFormatF32;
}

// The number that the bits are, in f32, which has all of them.
float NumberOf(const NumberFormat& format, uint32_t bits) {
  bits >>= format.unused;
  const int places = format.exponent_bits + format.fraction_bits;
  const uint32_t ones = (1u << format.fraction_bits) - 1;
  const uint32_t last = (1u << format.exponent_bits) - 1;
  const uint32_t field = bits >> format.fraction_bits & last;
  const uint32_t rest = bits & ones;
  float size = std::ldexp(static_cast<float>(rest | (field > 0 ? ones + 1 : 0)),
                          format.least() + static_cast<int>(field) -
                              (field > 0 ? 1 : 0) - format.fraction_bits);
  if (field == last && format.infinity) {
    size = rest == 0 ? verify::kFloatInf : verify::kFloatNaN;
  }
  if (field == last && !format.infinity && rest == ones) {
    size = verify::kFloatNaN;
  }
  return bits >> places & 1u ? -size : size;
}

// The accumulator's bits of a number that it has.
uint32_t BitsOf(const NumberFormat& format, float x) {
  if (format.fraction_bits == kFormatF32.fraction_bits) {
    return x != x ? 0x7fffffffu : std::bit_cast<uint32_t>(x);
  }
  if (x != x) return 0x7fffu;
  const uint32_t sign = std::signbit(x) ? 0x8000u : 0u;
  const float size = std::fabs(x);
  if (size == 0) return sign;
  if (std::isinf(size)) return sign | 0x7c00u;
  const int exponent = std::max(std::ilogb(size), format.least());
  const auto kept =
      static_cast<uint32_t>(std::ldexp(size, format.fraction_bits - exponent));
  return sign | ((static_cast<uint32_t>(exponent - format.least())
                  << format.fraction_bits) +
                 kept);
}

Model Reference(const Sums& sums, const UnitStep& step) {
  MatrixUnit unit = *sums.unit;
  unit.step = step;
  return [unit, k = sums.k](const Tile& tile, size_t r, size_t j) {
    return reference::AddInstructions(
        unit, k, {&tile.a[r * tile.length], tile.length},
        {&tile.b[j * tile.length], tile.length}, tile.c[r * kColumns + j]);
  };
}

Model Emulator(const Sums& sums, const verify::UnitRules& given) {
  const MatrixUnit& unit = *sums.unit;
  verify::UnitRules rules = given;
  const NumberFormat operand = FormatOf(unit.operand);
  const NumberFormat accumulator = FormatOf(unit.accumulator);
  rules.operand_least = unit.by_f16 ? kFormatF16.least() : operand.least();
  rules.sum_least = accumulator.least();
  const int k = sums.k;
  const bool by_f16 = unit.by_f16;
  const int steps = by_f16 ? k / 2 : k;
  rules.step.products = std::min(rules.step.products, steps);
  return [=](const Tile& tile, size_t r, size_t j) {
    std::vector<float> a, b;
    for (size_t i = 0; i < tile.length; ++i) {
      a.push_back(NumberOf(operand, tile.a[r * tile.length + i]));
      b.push_back(NumberOf(operand, tile.b[j * tile.length + i]));
    }
    const verify::Chain chain{a.data(), 1, b.data(), 1,
                              static_cast<int64_t>(tile.length)};
    const float c = NumberOf(accumulator, tile.c[r * kColumns + j]);
    return BitsOf(accumulator, by_f16 ? verify::AddByF16(rules, k, chain, c)
                                      : verify::AddSteps(rules, chain, c));
  };
}

int64_t Differing(const Sums& sums, const Model& model, bool first_only) {
  int64_t count = 0;
  for (const Tile& tile : sums.tiles) {
    for (size_t at = 0; at < kRows * kColumns; ++at) {
      if (model(tile, at / kColumns, at % kColumns) == tile.d[at]) continue;
      if (first_only) return 1;
      ++count;
    }
  }
  return count;
}

// Units that are wrong by one number.
std::vector<std::pair<std::string, UnitStep>> Neighbours(const Sums& sums) {
  UnitStep more = sums.unit->step, less = more, half = more, round = more;
  ++more.fraction;
  --less.fraction;
  const int most = sums.unit->by_f16 ? sums.k / 2 : sums.k;
  half.products = std::min(half.products, most) / 2;
  round.nearest = !round.nearest;
  return {{"F+1", more}, {"F-1", less}, {"L/2", half}, {"result", round}};
}

void Answer(const Sums& sums) {
  std::printf("%zu", sums.tiles.size() * kRows * kColumns);
  const auto say = [&](const std::string& name, const Model& model,
                       bool first_only) {
    std::printf(" %s=%lld", name.c_str(),
                static_cast<long long>(Differing(sums, model, first_only)));
  };
  const UnitStep& step = sums.unit->step;
  say("reference", Reference(sums, step), false);
  say("emulator", Emulator(sums, {.step = step}), false);
  for (const auto& [name, wrong] : Neighbours(sums)) {
    say("reference:" + name, Reference(sums, wrong), true);
    say("emulator:" + name, Emulator(sums, {.step = wrong}), true);
  }
  say("emulator:nearest", Emulator(sums, {.step = step, .terms_nearest = true}),
      true);
  std::puts("");
  std::fflush(stdout);
}

bool Read(std::vector<uint32_t>* x, size_t n) {
  x->resize(n);
  return std::fread(x->data(), sizeof(uint32_t), n, stdin) == n;
}

const MatrixUnit* Find(const char* chip, const char* operand,
                       const char* accumulator, const char* instruction) {
  const auto is = [](const char* x, const char* y) {
    return std::strcmp(x, y) == 0;
  };
  for (const MatrixUnit& unit : kMatrixUnits) {
    if (is(unit.chip, chip) && is(unit.operand, operand) &&
        is(unit.accumulator, accumulator) &&
        is(unit.instruction, instruction)) {
      return &unit;
    }
  }
  return nullptr;
}

int Main() {
  char line[128];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    char chip[16], operand[16], accumulator[16], instruction[16];
    int k = 0, tiles = 0;
    if (std::sscanf(line, "%15s %15s %15s %15s %d %d", chip, operand,
                    accumulator, instruction, &k, &tiles) != 6) {
      std::puts("a line is no group");
      return 2;
    }
    Sums sums{Find(chip, operand, accumulator, instruction), k, {}};
    if (sums.unit == nullptr) {
      std::printf("no unit %s", line);
      return 2;
    }
    for (int t = 0; t < tiles; ++t) {
      Tile tile;
      std::vector<uint32_t> length;
      bool good = Read(&length, 1);
      tile.length = good ? length[0] : 0;
      good = good && Read(&tile.a, kRows * tile.length) &&
             Read(&tile.b, kColumns * tile.length) &&
             Read(&tile.c, kRows * kColumns) && Read(&tile.d, kRows * kColumns);
      if (!good) {
        std::puts("a tile ends early");
        return 2;
      }
      sums.tiles.push_back(std::move(tile));
    }
    Answer(sums);
  }
  return 0;
}

}  // namespace
}  // namespace lockstep

int main() { return lockstep::Main(); }
