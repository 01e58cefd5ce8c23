// Whether the matrix unit may be used: what CheckMatrixUnit asks.
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "optimized/flushed_math.h"
#include "optimized/matrix_unit.h"

namespace lockstep::optimized {
namespace {

constexpr size_t kBlocks = 2;
constexpr size_t kPairs = kBlocks * kMatrixPairs;

// A stream of numbers: SplitMix64.
struct Stream {
  uint64_t state;
  uint64_t Next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

// What a product is made of. Exponent fields: first and how many from there on;
// products of two in kUnderflow are around 2^-126.
enum Kind { kNearOne, kUnderflow, kSubnormal, kOverflow, kAnyBits, kKinds };
constexpr struct {
  uint32_t field, count;
} kFields[kKinds] = {{120, 14}, {60, 8}, {0, 3}, {188, 6}, {0, 256}};

uint32_t DrawBf16(Stream& draw, Kind kind) {
  const uint64_t r = draw.Next();
  const auto field = static_cast<uint32_t>(kFields[kind].field +
                                           (r >> 16) % kFields[kind].count);
  return static_cast<uint32_t>(r & 0x8000) | field << 7 |
         static_cast<uint32_t>(r >> 32 & 0x7f);
}

uint32_t DrawPair(Stream& draw, Kind kind) {
  return DrawBf16(draw, kind) << 16 | DrawBf16(draw, kind);
}

float Upper(uint32_t pair) { return std::bit_cast<float>(pair & 0xffff0000u); }
float Lower(uint32_t pair) { return std::bit_cast<float>(pair << 16); }

// One element of c, by N20; its pairs of b are kMatrixColumns apart.
float ByTheClause(const uint32_t* a, const uint32_t* b, float c) {
  for (size_t begin = 0; begin < kPairs; begin += kMatrixPairs) {
    float even = 0.0f, odd = 0.0f;
    for (size_t i = begin; i < begin + kMatrixPairs; ++i) {
      const uint32_t y = b[i * kMatrixColumns];
      even = FlushedMulAdd(Upper(a[i]), Upper(y), even);
      odd = FlushedMulAdd(Lower(a[i]), Lower(y), odd);
    }
    c = FlushedAddBlock(even, odd, c);
  }
  return c;
}

bool Same(float x, float y) {  // NaN as a class
  return std::isnan(x)
             ? std::isnan(y)
             : std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
}

// One product of numbers of that kind. Sums to add to: half of them nearly
// cancel what is added, so that its last bits show.
bool Agrees(const MatrixPlatform& platform, Kind kind, uint64_t seed) {
  Stream draw{seed};
  alignas(64) std::array<uint32_t, kMatrixRows * kPairs> a;
  alignas(64) std::array<uint32_t, kPairs * kMatrixColumns> b;
  alignas(64) std::array<float, kMatrixRows * kMatrixColumns> c;
  for (uint32_t& pair : a) pair = DrawPair(draw, kind);
  for (uint32_t& pair : b) pair = DrawPair(draw, kind);
  std::array<float, kMatrixRows * kMatrixColumns> wanted;
  for (size_t n = 0; n < c.size(); ++n) {
    const uint32_t* row = &a[n / kMatrixColumns * kPairs];
    const uint32_t* column = &b[n % kMatrixColumns];
    const uint64_t r = draw.Next();
    c[n] = std::bit_cast<float>(DrawBf16(draw, kind) << 16 |
                                static_cast<uint32_t>(r & 0xffff));
    if (r >> 63 != 0) {
      const float sum = ByTheClause(row, column, 0.0f);
      c[n] = std::bit_cast<float>(std::bit_cast<uint32_t>(-sum) ^
                                  static_cast<uint32_t>(r >> 32 & 3));
    }
    wanted[n] = ByTheClause(row, column, c[n]);
  }
  MatrixProduct product{.a = a.data(),
                        .a_stride = kPairs,
                        .b = b.data(),
                        .b_stride = kMatrixColumns,
                        .blocks = kBlocks,
                        .c = c.data(),
                        .c_stride = kMatrixColumns};
  platform.multiply(product);
  for (size_t n = 0; n < c.size(); ++n) {
    if (!Same(c[n], wanted[n])) return false;
  }
  return true;
}

}  // namespace

MatrixUnit CheckMatrixUnit(const MatrixPlatform& platform) {
  if (!platform.has_instruction) {
    return {false, "this CPU or system has no AMX-BF16"};
  }
  const int refused = platform.ask_permission();
  if (refused != 0) {
    return {false, "the kernel gives no permission for AMX tile data (errno " +
                       std::to_string(refused) + ")"};
  }
  for (uint64_t n = 0; n < 2 * kKinds; ++n) {
    if (!Agrees(platform, static_cast<Kind>(n % kKinds), n)) {
      return {false, "TDPBF16PS failed its start-up self-test"};
    }
  }
  return {true, ""};
}

}  // namespace lockstep::optimized
