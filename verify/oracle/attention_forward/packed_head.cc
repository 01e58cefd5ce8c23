#include "verify/oracle/attention_forward/packed_head.h"

#include <algorithm>
#include <cmath>

#include "verify/oracle/kernels.h"

namespace lockstep::oracle {

void LoadRow(const LaneView& x, int64_t b, int64_t h, int64_t position,
             double* to, int64_t step) {
  const auto load = [&](const auto& view) {
    for (int64_t c = 0; c < x.shape[3]; ++c) {
      to[c * step] = static_cast<double>(ToFloat(view(b, h, position, c)));
    }
  };
  x.lane == Lane::kF32 ? load(x.As<float>()) : load(x.As<Bf16>());
}

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
    head.largest.push_back(0);
    for (int64_t c = 0; c < p.value_dim; ++c) {
      const double x = row[Size(c)];
      finite = finite && std::isfinite(x);
      head.v[Size(((c / kStep) * panels * kStep + j) * kStep + c % kStep)] =
          std::isfinite(x) ? x : 0.0;
      if (std::isfinite(x)) {
        head.largest.back() = std::max(head.largest.back(), std::fabs(x));
      }
    }
    head.largest_value = std::max(head.largest_value, head.largest.back());
    if (!finite) head.special.push_back(j);
  }
  return head;
}

}  // namespace lockstep::oracle
