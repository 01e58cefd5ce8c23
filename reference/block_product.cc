#include "reference/block_product.h"

#include <cmath>
#include <cstdint>

#include "reference/contract/numerics.h"

namespace lockstep::reference {
namespace {

constexpr float kSmallestNormal = 0x1p-126f;

// What rounds to a number below the smallest normal one, to 24 bits whatever
// the exponent: 2^-126 - 2^-151 itself is the tie that rounds up.
constexpr double kTiny = 0x1.ffffffp-127;

float FlushOperand(float x) {
  return std::fabs(x) < kSmallestNormal ? std::copysign(0.0f, x) : x;
}

// `exact` to the 53 bits of binary64, which tell both sides of kTiny apart:
// around it, sums of two f32 and products of two bf16 plus an f32 fit in 41.
float FlushResult(float rounded, double exact) {
  return std::fabs(exact) < kTiny ? std::copysign(0.0f, rounded) : rounded;
}

}  // namespace

float FlushedMulAdd(float x, float y, float z) {
  x = FlushOperand(x);
  y = FlushOperand(y);
  z = FlushOperand(z);
  const double product = static_cast<double>(x) * static_cast<double>(y);
  return FlushResult(std::fma(x, y, z), product + static_cast<double>(z));
}

float FlushedAdd(float x, float y) {
  x = FlushOperand(x);
  y = FlushOperand(y);
  return FlushResult(x + y, static_cast<double>(x) + static_cast<double>(y));
}

void BlockSum::Add(int64_t index, float a, float b) {
  const int64_t block = index / kProductBlock;
  if (block != block_) {
    complete_ = Total();
    chains_[0] = chains_[1] = 0.0f;
    block_ = block;
  }
  float& chain = chains_[index % 2];
  chain = FlushedMulAdd(a, b, chain);
}

float BlockSum::Total() const {
  return FlushedAdd(complete_, FlushedAdd(chains_[0], chains_[1]));
}

}  // namespace lockstep::reference
