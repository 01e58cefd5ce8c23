#include "verify/oracle/attention_forward/packed_head.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/oracle/kernels.h"

namespace lockstep::oracle {

void LoadRow(const LaneView& x, int64_t b, int64_t h, int64_t position,
             double* to, int64_t step) {
  const auto load = [&](const auto& view) {
    const auto* const from = &view(b, h, position, 0);
    for (int64_t c = 0; c < x.shape[3]; ++c) {
      to[c * step] = static_cast<double>(ToFloat(from[c * x.strides[3]]));
    }
  };
  WithAnyInputLane(x.lane,
                   [&](auto element) { load(x.As<decltype(element)>()); });
}

namespace {

// Finite numbers of a row of v to their channel panels of 8, which are
// `between` doubles apart, others as 0. Returns the largest magnitude.
double PackValues(const std::vector<double>& row, double* to, size_t between,
                  bool* finite) {
  double largest = 0;
  for (size_t begin = 0; begin < row.size(); begin += kPanel) {
    double* const panel = to + begin / kPanel * between;
    const size_t count = std::min(kPanel, row.size() - begin);
    for (size_t c = 0; c < count; ++c) {
      const double size = std::fabs(row[begin + c]);
      const bool is_finite = size < std::numeric_limits<double>::infinity();
      panel[c] = is_finite ? row[begin + c] : 0.0;
      largest = is_finite && largest < size ? size : largest;
      *finite = *finite && is_finite;
    }
  }
  return largest;
}

}  // namespace

PackedHead Pack(const AttentionForwardProblem& p,
                const AttentionForwardInputs& in, int64_t b, int64_t h) {
  constexpr auto kStep = static_cast<int64_t>(kPanel);
  const int64_t panels = (p.kv_len + kStep - 1) / kStep;
  const int64_t channel_panels = (p.value_dim + kStep - 1) / kStep;
  PackedHead head;
  head.k.resize(Size(panels * kStep * p.head_dim));
  head.v.resize(Size(channel_panels * panels * kStep * kStep));
  std::vector<double> row(Size(p.value_dim));
  for (int64_t j = 0; j < p.kv_len; ++j) {
    LoadRow(in.k, b, h, j,
            &head.k[Size(j / kStep * p.head_dim * kStep + j % kStep)], kStep);
    LoadRow(in.v, b, h, j, row.data(), 1);
    bool finite = true;
    head.largest.push_back(PackValues(row, &head.v[Size(j * kStep)],
                                      Size(panels * kStep * kStep), &finite));
    head.largest_value = std::max(head.largest_value, head.largest.back());
    if (!finite) head.special.push_back(j);
  }
  return head;
}

}  // namespace lockstep::oracle
