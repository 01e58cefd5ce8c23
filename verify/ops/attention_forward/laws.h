// The laws of attention: other inputs whose answers follow from the case's own,
// whatever the truth.
//   neighbours  other batch rows and key heads do not matter
//   prefix      keys from an edge on do not matter to rows that see none
//   window      nor do keys before it
//   padding     what lies behind the valid counts does not matter
//   relabel     segment ids are names: only their equality matters
//   scale       v times a power of two is o times it
//   rows        batch rows in another order
//   heads       heads in another order, key heads with their groups
//   encoding    keys in pages have the answer of contiguous keys, a ragged
//               batch that of padded rows, v in k that of a separate v, and fp8
//               that of the same numbers in another type
//   pages       the pages may lie anywhere in the pool
// There is no law of the order of keys: o is one chain over them (N11).
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_LAWS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_LAWS_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/case.h"
#include "verify/case/segments/segment_ids.h"
#include "verify/inputs/attention_forward.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Ids of one of the two tensors, to be written.
inline TensorView<int32_t, 2> Ids(const GuardedBuffer& buffer,
                                  const TensorView<const int32_t, 2>& view) {
  return {reinterpret_cast<int32_t*>(buffer.data()), view.shape, view.strides};
}

// The same inputs in another order: batch row b is row (b + 1) mod batch of
// `from`. Errors: memory.
Result<AttentionForwardData> TurnRows(const AttentionForwardData& from);
// Head h is head TurnedHead(h) of `from`: groups with their key head, and if
// `inside`, heads within their group, too.
int64_t TurnedHead(const AttentionForwardProblem& p, int64_t h, bool inside);
Result<AttentionForwardData> TurnHeads(const AttentionForwardData& from,
                                       bool inside);

// Another number of about the same size; what is not finite stays so.
uint32_t OtherNumber(Lane lane, uint32_t bits);

// The laws of one case. Of each: whether it may hold, and the law itself, with
// inputs of its own; errors: memory. What is drawn follows from `salt`.
class AttentionLaws {
 public:
  // Borrows all.
  AttentionLaws(const Case& request, const AttentionForwardData& data,
                uint64_t salt)
      : case_(request), data_(data), salt_(salt) {}

  bool HasNeighbours() const;
  bool HasEdges() const;
  bool HasPadding() const;
  bool HasSegments() const { return data_.problem.segments; }
  bool OwnsValues() const;
  bool HasRows() const { return data_.problem.batch > 1; }
  bool HasHeads() const { return data_.problem.q_heads > 1; }
  bool HasPages() const { return data_.pages.has_value(); }
  bool HasEncoding() const {
    return HasPages() || data_.varlen.has_value() || data_.problem.v_in_k ||
           data_.lists.has_value() || HasPlainForm();
  }

  Result<Law> Neighbours() const;
  Result<Law> Prefix() const { return HiddenKeys("prefix", true); }
  Result<Law> Window() const { return HiddenKeys("window", false); }
  Result<Law> Padding() const;
  // Two calls: ids that agree in 16 bits, and another range, drawn.
  Result<Law> Relabel() const;
  // No call unless every product and sum is far from underflow.
  Result<Law> Scale() const;
  Result<Law> Rows() const;
  Result<Law> Heads() const;
  Result<Law> Encoding() const;
  // Other places, and large numbers in the table behind each row's last page.
  Result<Law> Pages() const;

 private:
  bool ScalesExactly(int exponent) const;
  // The most by which scores, and sinks, may differ; NaN: nothing is known.
  double MostSpread() const;
  // Fp8 that has the bits of the same numbers in the case's lane.
  bool HasPlainForm() const;
  // Keys from a drawn edge on, or those before it, change.
  Result<Law> HiddenKeys(const char* name, bool later) const;
  // The case with its ids in another range.
  Result<LawCall> Renamed(IdRange range) const;
  // One call with these inputs.
  Law Of(const char* name, AttentionForwardData data,
         const std::vector<LinePair>& lines) const;
  std::vector<LinePair> AllLines() const;
  // The rows whose queries kernels answer: in a ragged batch the others do not
  // exist.
  std::vector<LinePair> ThatAreThere(std::vector<LinePair> lines) const;
  int64_t Line(int64_t b, int64_t h, int64_t i) const {
    const AttentionForwardProblem& p = data_.problem;
    return (b * p.q_heads + h) * p.q_len + i;
  }

  const Case& case_;
  const AttentionForwardData& data_;
  uint64_t salt_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_LAWS_H_
