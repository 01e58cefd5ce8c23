// Products of the matrix unit alone, tiles loaded once: what order=amx is a
// fraction of.
#include "bench/matrix_peak.h"

#include "bench/measure.h"
#include "optimized/matrix_unit.h"

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>
#define LOCKSTEP_HAS_AMX_INTRINSICS 1
#endif

#include <algorithm>

namespace lockstep::bench {

#ifdef LOCKSTEP_HAS_AMX_INTRINSICS
namespace {

// Tiles of 16 x 16 sums over 32 products each.
constexpr double kFlopOfTile = 2.0 * 16 * 16 * 32;
constexpr int kSteps = 500;

// Four accumulators, so that no product waits for the one before. Tiles of
// zeros cost what others do.
__attribute__((target("amx-tile,amx-bf16"))) double RunProducts() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (int i = 0; i < kSteps; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  return kSteps * 4 * kFlopOfTile;
}

}  // namespace

double MeasureMatrixPeak(double seconds) {
  if (!optimized::TheMatrixUnit().usable) return 0;
  const optimized::MatrixScope scope;
  const double end = Now() + seconds;
  double best = 0;
  for (int go = 0; go < 5 || Now() < end; ++go) {
    const double start = Now();
    const double flop = RunProducts();
    best = std::max(best, flop / (Now() - start));
  }
  return best;
}

#else

double MeasureMatrixPeak(double) { return 0; }

#endif

}  // namespace lockstep::bench
