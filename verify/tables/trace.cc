#include "verify/tables/trace.h"

#include <cstddef>
#include <cstdint>

namespace lockstep::verify {

TracedPass WholePass(const optimized::TileGrid& grid, bool transposed,
                     int64_t heads) {
  TracedPass pass;
  pass.outer_end = transposed ? grid.cols() : grid.rows();
  pass.inner_end = transposed ? grid.rows() : grid.cols();
  pass.heads.resize(static_cast<size_t>(heads));
  return pass;
}

}  // namespace lockstep::verify
