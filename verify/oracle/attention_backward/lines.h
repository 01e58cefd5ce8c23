// Lines of tensors in binary64, and the sums over them that gradients are made
// of.
#ifndef LOCKSTEP_VERIFY_ORACLE_ATTENTION_BACKWARD_LINES_H_
#define LOCKSTEP_VERIFY_ORACLE_ATTENTION_BACKWARD_LINES_H_

#include <cstdint>
#include <vector>

#include "reference/contract/tensor_view.h"
#include "verify/oracle/attention_backward/truth.h"

namespace lockstep::oracle {

using Line = std::vector<double>;

// x at (b, h, s), into memory that mostly held a line before: there is one a
// pair.
void LoadLine(const LaneView& x, int64_t b, int64_t h, int64_t s, Line* line);

// A sum of products, of their sizes, and of the sizes of the factors.
struct Dot {
  double value = 0;
  double size = 0;
  double factors = 0;
};
Dot DotOf(const Line& a, const Line& b);

// One term in every channel. `operand`, `flush`: of x.
void Add(const GradientFactor& f, const Line& x, double operand, double flush,
         GradientLine* line);

// Infinities leave no bound; NaN stays NaN whatever is done to it.
void Close(double largest, GradientLine* line);

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_ATTENTION_BACKWARD_LINES_H_
