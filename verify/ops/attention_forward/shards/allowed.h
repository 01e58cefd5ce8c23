// How far merged answers to shards of the keys may be from the whole's truth:
// each shard's own envelope, carried through the merge. Derivation:
// docs/envelopes.md, "Shards that are merged".
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_ALLOWED_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_ALLOWED_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "verify/ops/allowed.h"
#include "verify/ops/attention_forward/shards/merge.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

class MergedAttention final : public AllowedResults {
 public:
  // `rows`: of the whole, ascending. Errors: the parts' truths do not add up to
  // the whole's.  Requires: HasLse(profile).
  static Result<std::unique_ptr<AllowedResults>> Make(
      const AttentionForwardTrial& whole, const std::vector<ShardAnswer>& parts,
      const NumericProfile& profile, std::vector<int64_t> rows, int threads);

  const std::vector<int64_t>& rows() const override { return rows_; }
  std::span<const double> truth() const override { return truth_; }
  std::vector<EnvelopeResult> JudgeEach(const OutputSet& produced,
                                        const ElementSink& each) const override;
  bool Allows(size_t n, const RowBits& bits) const override;
  bool Bounds(size_t n) const override;

 private:
  explicit MergedAttention(const AttentionForwardTrial& whole)
      : whole_(whole) {}

  const AttentionForwardTrial& whole_;
  std::vector<int64_t> rows_;
  std::vector<double> truth_;                  // [row][channel]
  std::vector<lockstep::verify::Bounds> o_;    // likewise
  std::vector<lockstep::verify::Bounds> lse_;  // [row]
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_SHARDS_ALLOWED_H_
