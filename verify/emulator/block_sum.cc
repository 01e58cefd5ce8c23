#include "verify/emulator/block_sum.h"

#include <cfloat>
#include <cmath>

namespace lockstep::verify {
namespace {

// From here on a result rounds up to the smallest normal number if its exponent
// has no lower end, and it is after that rounding that tiny ones are flushed.
constexpr double kStays = 0x1p-126 - 0x1p-151;

}  // namespace

float BlockSum::Flush(float x) const {
  if (!rules_.flushed) return x;
  return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x;
}

// Of bf16 factors the product is exact in a double, and so is the sum wherever
// it lies near the smallest normal number.
float BlockSum::MulAdd(float a, float b, float c) const {
  a = Flush(a);
  b = Flush(b);
  c = Flush(c);
  const float rounded = std::fma(a, b, c);
  if (!rules_.flushed) return rounded;
  const double exact = double{a} * double{b} + double{c};
  return std::fabs(exact) < kStays ? std::copysign(0.0f, rounded) : rounded;
}

void BlockSum::Chain(int64_t index, float a, float b) {
  float& chain = chains_[rules_.odd_first ? 0 : index % 2];
  chain = MulAdd(a, b, chain);
}

void BlockSum::Add(int64_t index, float a, float b) {
  const int64_t block = index / rules_.length;
  if (block != block_) {
    Close();
    block_ = block;
  }
  if (!rules_.odd_first) return Chain(index, a, b);
  if (waits_ && waiting_pair_ != index / 2) {
    Chain(0, waiting_a_, waiting_b_);
    waits_ = false;
  }
  if (index % 2 == 0) {
    waits_ = true;
    waiting_pair_ = index / 2;
    waiting_a_ = a;
    waiting_b_ = b;
    return;
  }
  Chain(index, a, b);
  if (waits_) Chain(0, waiting_a_, waiting_b_);
  waits_ = false;
}

void BlockSum::Close() {
  if (waits_) Chain(0, waiting_a_, waiting_b_);
  waits_ = false;
  if (rules_.from_sum) {
    // The sum so far is where the even chain went on from.
    sum_ = MulAdd(1, chains_[0], chains_[1]);
    chains_[0] = sum_;
  } else {
    sum_ = MulAdd(1, sum_, MulAdd(1, chains_[0], chains_[1]));
    chains_[0] = 0;
  }
  chains_[1] = 0;
}

float BlockSum::Result() {
  Close();
  return sum_;
}

}  // namespace lockstep::verify
