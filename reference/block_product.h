// Sums of products in blocks of 32: what the matrix units of the x86 AMX
// extension compute (clause N20).
#ifndef LOCKSTEP_REFERENCE_BLOCK_PRODUCT_H_
#define LOCKSTEP_REFERENCE_BLOCK_PRODUCT_H_

#include <cstdint>

namespace lockstep::reference {

// x * y + z and x + y, one rounding each. A subnormal operand counts as the
// zero of its sign. A result that is subnormal after rounding becomes the zero
// of its sign. The products of x and y must be exact in binary64.
float FlushedMulAdd(float x, float y, float z);
float FlushedAdd(float x, float y);

// The sum of a[i] * b[i], bf16 values in f32. A block has the indices from one
// multiple of 32 to the next. Its even indices are one chain, its odd indices
// another. Indices that are not added take no part.
class BlockSum {
 public:
  // Requires: index is larger than in the call before.
  void Add(int64_t index, float a, float b);
  float Total() const;

 private:
  int64_t block_ = 0;      // of the last index added
  float chains_[2] = {};   // of that block: even indices, odd ones
  float complete_ = 0.0f;  // blocks before it
};

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_BLOCK_PRODUCT_H_
