#include "verify/oracle/attention_backward/lines.h"

#include <cmath>
#include <cstddef>

#include "reference/contract/numerics.h"
#include "reference/contract/with_fma.h"

namespace lockstep::oracle {
namespace {

double At(const LaneView& x, int64_t b, int64_t h, int64_t s, int64_t c) {
  return double{x.Float(b, h, s, c)};
}

}  // namespace

void LoadLine(const LaneView& x, int64_t b, int64_t h, int64_t s, Line* line) {
  line->resize(static_cast<size_t>(x.shape[3]));
  for (size_t c = 0; c < line->size(); ++c) {
    (*line)[c] = At(x, b, h, s, static_cast<int64_t>(c));
  }
}

Dot DotOf(const Line& a, const Line& b) {
  return WithFma([&]() LOCKSTEP_IN_BOTH {
    Dot dot;
    for (size_t c = 0; c < a.size(); ++c) {
      dot.value = std::fma(a[c], b[c], dot.value);
      dot.size += std::fabs(a[c] * b[c]);
      dot.factors += std::fabs(a[c]) + std::fabs(b[c]);
    }
    return dot;
  });
}

void Add(const GradientFactor& f, const Line& x, double operand, double flush,
         GradientLine* line) {
  ++line->terms;
  const double all = std::fabs(f.value) + f.wrong;
  const size_t channels = x.size();
  const double* const from = x.data();
  double* const value = line->value.data();
  double* const wrong = line->wrong.data();
  double* const sizes = line->size.data();
  double* const span = line->span.data();
  WithFma([=]() LOCKSTEP_IN_BOTH {
    for (size_t c = 0; c < channels; ++c) {
      const double size = std::fabs(from[c]);
      value[c] = std::fma(f.value, from[c], value[c]);
      wrong[c] += f.wrong * size + all * (operand * size + flush);
      sizes[c] += all * (size * (1 + operand) + flush);
      span[c] += f.span * size;
    }
  });
  for (size_t c = 0; c < line->present.size(); ++c) {
    line->present[c] += all > 0 && x[c] != 0 ? 1 : 0;
  }
}

void Close(double largest, GradientLine* line) {
  for (size_t c = 0; c < line->value.size(); ++c) {
    const double size = line->size[c];
    if (std::isnan(line->value[c])) continue;
    if (!(size < largest) || std::isinf(line->span[c])) line->open = true;
  }
}

}  // namespace lockstep::oracle
