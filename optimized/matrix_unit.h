// The matrix unit of x86 servers (AMX-BF16): what order=amx (N20) is the order
// of. In a translation unit of its own, by intrinsics; without the extension,
// or on another system than Linux, it is there and not usable.
#ifndef LOCKSTEP_OPTIMIZED_MATRIX_UNIT_H_
#define LOCKSTEP_OPTIMIZED_MATRIX_UNIT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace lockstep::optimized {

// Rows and columns of a product of 2 x 2 tiles; pairs of bf16 in a block.
inline constexpr size_t kMatrixRows = 32;
inline constexpr size_t kMatrixColumns = 32;
inline constexpr size_t kMatrixPairs = 16;

// c [32][32] = or += a [32][blocks * 16] . b [blocks * 16][32] (N20): a and b
// hold pairs of bf16 with an even and an odd index. Both have each of the two
// in the same half of a u32; which half is free, because the sum of the two
// chains commutes. Strides in elements; rows of b and c at 64 bytes are
// fastest.
struct MatrixProduct {
  const uint32_t* a = nullptr;
  size_t a_stride = 0;
  const uint32_t* b = nullptr;
  size_t b_stride = 0;
  size_t blocks = 0;
  float* c = nullptr;
  size_t c_stride = 0;
  bool clear = false;       // c is not read
  bool rows_16 = false;     // rows 16 to 31 are left alone
  bool columns_16 = false;  // likewise
};

// Sets the calling thread's tiles up, and empties them in the end: tiles in use
// cost every switch between threads 8 KiB.
//   Requires: TheMatrixUnit().usable.
class MatrixScope {
 public:
  MatrixScope();
  ~MatrixScope();
  MatrixScope(const MatrixScope&) = delete;
  MatrixScope& operator=(const MatrixScope&) = delete;
};

// Requires: a MatrixScope of this thread.
void Multiply(const MatrixProduct& product);

struct MatrixUnit {
  bool usable = false;
  std::string why_not;  // one line, empty if usable
};

// What there is to ask; a test asks something else.
struct MatrixPlatform {
  bool has_instruction = false;         // by CPUID
  std::function<int()> ask_permission;  // 0, or why the kernel refuses: errno
  std::function<void(const MatrixProduct&)> multiply;  // sets itself up
};

// Asks in this order, and holds products of random, subnormal, cancelling and
// special numbers against N20's arithmetic.
MatrixUnit CheckMatrixUnit(const MatrixPlatform& platform);

// This machine's, asked once. The permission is the process's; asking for it
// changes nothing but the size of its signal frames.
const MatrixUnit& TheMatrixUnit();

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_MATRIX_UNIT_H_
