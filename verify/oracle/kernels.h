// The oracle's inner loops as a table of functions, one table per instruction
// set. Keys come in panels of eight; lane r of a panel is its key r, and sums
// over keys are eight chains whatever the vector width.
#ifndef LOCKSTEP_VERIFY_ORACLE_KERNELS_H_
#define LOCKSTEP_VERIFY_ORACLE_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "verify/oracle/attention_forward/truth.h"
#include "verify/oracle/lane_primitives.h"

namespace lockstep::oracle {

inline constexpr size_t kPanel = 8;     // keys, or channels, side by side
inline constexpr size_t kTileRows = 8;  // query rows that share a walk

// Raw scores of a tile of rows against `panels` of keys.
//   q [kTileRows][head_dim]; k [panel][head_dim][kPanel]
//   -> dot, product [kTileRows][stride]: sum q k and sum |q k|.
struct ScoreTile {
  const double* q = nullptr;
  const double* k = nullptr;
  size_t head_dim = 0;
  const int64_t* panels = nullptr;
  size_t panel_count = 0;
  double* dot = nullptr;
  double* product = nullptr;
  size_t stride = 0;  // kPanel * panel_count
};

// One row of `keys` (a multiple of kPanel) lanes, in place.
struct LogitRow {
  size_t keys = 0;
  const double* visible = nullptr;  // 1 or 0
  double* score = nullptr;     // in: sum q k.    out: s, -inf where not visible
  double* product = nullptr;   // in: sum |q k|.  out: L |scale| sum |q k|
  double* argument = nullptr;  //                out: L |z|
  double scale = 1;
  double cap = 0;  // 0: none
  WeightModel bound;
  // Out:
  double max = 0;              // of s; -inf if nothing is visible
  double largest_product = 0;  // sum |q k| of a visible key
  double largest_score = 0;    // finite |s| of a visible key
  bool bad = false;            // a visible s is NaN or +inf
};

// The same row's weights.
struct WeightRow {
  size_t keys = 0;
  double max = 0;
  double* score = nullptr;     // in: s.      out: p
  double* product = nullptr;   // in: L ...   out: p phi
  double* argument = nullptr;  // in: L |z|   out: (p psi)^2
  ErrorModel model;
  // Out, sums over the keys that count:
  double weight = 0, square = 0, eta = 0, phi = 0, unsure = 0, floor = 0;
  double spread = 0;
  double parts[5] = {};
  double least = 0;  // smallest p, +inf if there is none
};

// Channel sums of a tile of rows over some keys and one panel of channels,
// added to what the outputs hold, in the order of the keys.
//   p, phi, spread [kTileRows][stride], from the first of the keys on; v
//   [skv][kPanel] of this channel panel; outputs [kTileRows][kPanel].
// Each kernel of Kernels adds some of the outputs, and reads those that it is
// said to need: they must be final and normalised.
struct ValueTile {
  const double* p = nullptr;
  const double* phi = nullptr;
  const double* spread = nullptr;
  const double* v = nullptr;
  const int64_t* panels = nullptr;
  size_t panel_count = 0;
  size_t stride = 0;
  double* o = nullptr;
  double* abs_sum = nullptr;
  double* square_sum = nullptr;
  double* phi_sum = nullptr;
  double* spread_sum = nullptr;
  double* size_phi_sum = nullptr;  // sum p phi ||v| - abs_sum|
};

struct Kernels {
  void (*score_tile)(const ScoreTile&);
  void (*logit_row)(LogitRow*);
  void (*weight_row)(WeightRow*);
  void (*value_means)(const ValueTile&);   // o, abs_sum
  void (*value_sums)(const ValueTile&);    // o, abs_sum, square_sum
  void (*value_bounds)(const ValueTile&);  // phi_sum, from o
  void (*value_spread)(const ValueTile&);  // phi_sum, spread_sum, from o
  void (*size_bounds)(const ValueTile&);   // size_phi_sum, from abs_sum
  LaneLoops lanes;                         // the primitives they are made of
};

const Kernels& KernelsOf(Target target);

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_KERNELS_H_
