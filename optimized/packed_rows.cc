#include "optimized/packed_rows.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference/contract/tensor_view.h"

namespace lockstep::optimized {

std::vector<IdRun> RunsOf(const TensorView<const int32_t, 2>& ids,
                          int64_t batch) {
  std::vector<IdRun> runs;
  for (int64_t t = 0; t < ids.shape[1]; ++t) {
    const int32_t id = ids(batch, t);
    if (runs.empty() || runs.back().id != id) runs.push_back({id, {t, t}});
    runs.back().tokens.end = t + 1;
  }
  return runs;
}

int64_t JoinSegments(std::vector<IdRun>* runs) {
  std::ranges::stable_sort(*runs, {}, &IdRun::id);
  int64_t segments = 0;
  for (size_t n = 0; n < runs->size(); ++n) {
    segments += n == 0 || (*runs)[n].id != (*runs)[n - 1].id;
  }
  return segments;
}

}  // namespace lockstep::optimized
