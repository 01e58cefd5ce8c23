// Numbers of a question in tensors, and of an answer out of them.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_ROWS_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_ROWS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/tensor_view.h"
#include "verify/case/attention_forward/case.h"

namespace lockstep::verify {

using Rows = std::vector<std::vector<float>>;

// [columns][rows].
Rows Transposed(const Rows& rows);
// n rows; row i has x[i] in channel i.
Rows Diagonal(const std::vector<float>& x);

// Row i of head h, and 0 where the view is wider.
void FillRows(const Rows& rows, int64_t h, const MutableLaneView& view);
float ElementAt(const LaneView& view, int64_t h, int64_t i, int64_t c);
// `rows` of `width` of the first head's.
Rows RowsAt(const LaneView& view, int64_t h, int64_t rows, int64_t width);

// One batch row and head of such lengths. Kernels may want values as wide as
// keys, so that both have the larger width.
struct AttentionQuestion;
void SetShape(const AttentionQuestion& question, Lane lane,
              AttentionForwardCase* values);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_ROWS_H_
