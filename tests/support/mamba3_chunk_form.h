// The chunked form of the scan, twice: in f32, element by element, in the order
// that docs/ops/mamba3_scan.md lays down; in double, from all pairs of tokens,
// with an a-priori bound on the error of either order.
#ifndef LOCKSTEP_TESTS_SUPPORT_MAMBA3_CHUNK_FORM_H_
#define LOCKSTEP_TESTS_SUPPORT_MAMBA3_CHUNK_FORM_H_

#include <cstdint>
#include <vector>

#include "tests/support/mamba3_problem.h"

namespace lockstep::test {

// y and carry in f32.
//   Requires: no norm, no gate, no sum of ranks.
Mamba3Result ChunkTwin(Mamba3Instance& t, int64_t chunk);

struct Bounded {
  std::vector<double> value;
  std::vector<double> bound;
};

struct ChunkForm {
  Bounded y;  // [b, t, r, h, p]
  Bounded h;  // [run, h, p, n]
};

// Real values from the f32 weights and rotated vectors. An error's bound is
// gamma(k) times the sum of the terms' magnitudes, k the roundings a term can
// meet: (2 + r) for each token of the run, n + 2 r chunk + 16.
//   Requires: as ChunkTwin.
ChunkForm EvaluateForm(Mamba3Instance& t, int64_t chunk);

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_MAMBA3_CHUNK_FORM_H_
