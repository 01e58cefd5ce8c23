#include "reference/attention_row.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/numerics.h"
#include "reference/contract/with_fma.h"
#include "reference/elementary.h"

namespace lockstep::reference {

std::vector<float> LoadRow(const LaneView& x, int64_t b, int64_t h,
                           int64_t position) {
  std::vector<float> row;
  LoadRow(x, b, h, position, row);
  return row;
}

void LoadRow(const LaneView& x, int64_t b, int64_t h, int64_t position,
             std::vector<float>& row) {
  row.resize(static_cast<size_t>(x.shape[3]));
  const auto load = [&](const auto& view) {
    const auto* const first = &view(b, h, position, 0);
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] = ToFloat(first[static_cast<int64_t>(c) * x.strides[3]]);
    }
  };
  WithAnyInputLane(x.lane,
                   [&](auto element) { load(x.As<decltype(element)>()); });
}

float Dot(const std::vector<float>& a, const std::vector<float>& b) {
  return WithFma([&]() LOCKSTEP_IN_BOTH {
    float acc = 0.0f;
    for (size_t d = 0; d < a.size(); ++d) acc = std::fma(a[d], b[d], acc);
    return acc;
  });
}

void AddTimes(float x, const std::vector<float>& y, std::vector<float>& sums) {
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (size_t c = 0; c < y.size(); ++c) sums[c] = std::fma(x, y[c], sums[c]);
  });
}

Score ScoreOf(const AttentionForwardProblem& problem, float dot,
              float key_scale, float query_scale) {
  const double scale = problem.scale * static_cast<double>(key_scale) *
                       static_cast<double>(query_scale);
  if (!problem.softcap) {
    return {dot * static_cast<float>(scale * kLog2E), 0.0f};
  }
  const double cap = *problem.softcap;
  const float y = TanhCore(dot * static_cast<float>(scale / cap));
  return {static_cast<float>(cap * kLog2E) * y, y};
}

}  // namespace lockstep::reference
