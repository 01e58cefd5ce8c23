#include "optimized/matrix_unit.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#define LOCKSTEP_HAS_AMX_INTRINSICS 1
#endif

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace lockstep::optimized {

#ifdef LOCKSTEP_HAS_AMX_INTRINSICS

// Compiled for the extension whatever the rest is compiled for; called after
// CheckMatrixUnit found it only.
#define LOCKSTEP_AMX __attribute__((target("amx-tile,amx-bf16")))

namespace {

// As the instruction LDTILECFG reads it.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

constexpr int kTiles = 8;

// g++ 12's intrinsics do not say that they read memory: what they read has to
// be there before.
inline void StoresAreDone() { asm volatile("" ::: "memory"); }

LOCKSTEP_AMX void Configure() {
  TileConfig config;
  for (int tile = 0; tile < kTiles; ++tile) {
    config.row_bytes[tile] = 64;
    config.rows[tile] = 16;
  }
  asm volatile("" ::"r"(&config) : "memory");
  _tile_loadconfig(&config);
}

LOCKSTEP_AMX void Release() { _tile_release(); }

// Tiles 0 to 3 are the quarters of c, 4 and 5 the halves of a, 6 and 7 of b.
template <bool kTall, bool kWide>
LOCKSTEP_AMX void MultiplyTiles(const MatrixProduct& x) {
  float* below = x.c + 16 * x.c_stride;
  const size_t c_bytes = x.c_stride * 4;
  StoresAreDone();
  if (x.clear) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, x.c, c_bytes);
    if (kWide) _tile_loadd(1, x.c + 16, c_bytes);
    if (kTall) _tile_loadd(2, below, c_bytes);
    if (kTall && kWide) _tile_loadd(3, below + 16, c_bytes);
  }
  const uint32_t* a = x.a;
  const uint32_t* b = x.b;
  for (size_t block = 0; block < x.blocks; ++block) {
    _tile_loadd(4, a, x.a_stride * 4);
    _tile_loadd(6, b, x.b_stride * 4);
    _tile_dpbf16ps(0, 4, 6);
    if (kWide) {
      _tile_loadd(7, b + 16, x.b_stride * 4);
      _tile_dpbf16ps(1, 4, 7);
    }
    if (kTall) {
      _tile_loadd(5, a + 16 * x.a_stride, x.a_stride * 4);
      _tile_dpbf16ps(2, 5, 6);
      if (kWide) _tile_dpbf16ps(3, 5, 7);
    }
    a += kMatrixPairs;
    b += kMatrixPairs * x.b_stride;
  }
  _tile_stored(0, x.c, c_bytes);
  if (kWide) _tile_stored(1, x.c + 16, c_bytes);
  if (kTall) _tile_stored(2, below, c_bytes);
  if (kTall && kWide) _tile_stored(3, below + 16, c_bytes);
}

// CPUID leaf 7: AMX-BF16 and AMX-TILE.
bool HasInstruction() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (d >> 22 & 1) != 0 && (d >> 24 & 1) != 0;
}

// arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), numbers of the kernel's
// interface that its older headers do not name.
int AskPermission() {
  constexpr long kRequest = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0 ? 0 : errno;
}

}  // namespace

MatrixScope::MatrixScope() { Configure(); }
MatrixScope::~MatrixScope() { Release(); }

void Multiply(const MatrixProduct& product) {
  if (product.rows_16) {
    product.columns_16 ? MultiplyTiles<false, false>(product)
                       : MultiplyTiles<false, true>(product);
  } else {
    product.columns_16 ? MultiplyTiles<true, false>(product)
                       : MultiplyTiles<true, true>(product);
  }
}

#else

namespace {
bool HasInstruction() { return false; }
int AskPermission() { return ENOSYS; }
}  // namespace

MatrixScope::MatrixScope() = default;
MatrixScope::~MatrixScope() = default;
void Multiply(const MatrixProduct&) {}

#endif

const MatrixUnit& TheMatrixUnit() {
  static const MatrixUnit kUnit = CheckMatrixUnit(
      {HasInstruction(), AskPermission, [](const MatrixProduct& product) {
         const MatrixScope scope;
         Multiply(product);
       }});
  return kUnit;
}

}  // namespace lockstep::optimized
