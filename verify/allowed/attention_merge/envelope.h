// How far a merge that keeps its profile can be from the truth. Derivation:
// docs/envelopes.md, "Merges".
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_MERGE_ENVELOPE_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_MERGE_ENVELOPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_merge.h"
#include "verify/allowed/result.h"
#include "verify/oracle/attention_merge/truth.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// One row: its truth, and what its elements may be.
class MergedRowBounds {
 public:
  // All that is referred to has to live on.
  MergedRowBounds(const NumericProfile& profile,
                  const AttentionMergeProblem& problem,
                  const AttentionMergeInputs& inputs, int64_t head,
                  int64_t row);

  const oracle::MergeTruth& truth() const { return truth_; }
  Bounds Output(int64_t channel) const;
  // In the base of the case and the type of the profile.
  Bounds Lse() const;

 private:
  // Of one part's weight, relative to the others': |ln| of the factor.
  double WeightError(const oracle::MergePart& part) const;
  double Value(int64_t part, int64_t channel) const;
  // The whole sum of weights: relative error of what divides, or, of weights
  // that were divided before, of each of them.
  void SumWeights();
  double LseError() const;
  // Over the parts that saw a key, of one channel.
  struct ChannelSums {
    double largest = 0;
    double apart = 0;  // of |o_s - o|, by how far each share may move
    double moved = 0;  // of |o_s|, the same
    double size = 0;   // of |o_s|, by the shares
    bool finite = true;
    bool surely = false;  // what is not finite has a share that shows it
  };
  ChannelSums SumsOf(int64_t channel) const;
  double Raise() const;
  double OutputError(const ChannelSums& of, double o) const;
  Bounds OfEmptyRow(double value) const;

  const NumericProfile& profile_;
  const AttentionMergeProblem& problem_;
  const AttentionMergeInputs& inputs_;
  int64_t head_;
  int64_t row_;
  oracle::MergeTruth truth_;
  double merges_ = 0;           // of parts, or steps of an online sum
  double largest_lse_ = 0;      // |lse|, of parts and of partial merges
  std::vector<double> factor_;  // per part: how far its share may move
  double moved_ = 0;            // sum of these
  double growth_ = 0;           // of the sum of weights beyond its terms
};

// Why the profile claims nothing about the op on these inputs; empty if it
// does.
std::string WhyUndeclaredMerge(const AttentionMergeProblem& problem,
                               const AttentionMergeInputs& inputs,
                               const NumericProfile& profile);

// Whether an lse of +inf marks a part that saw no key.
bool PosInfIsEmpty(const NumericProfile& profile);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_MERGE_ENVELOPE_H_
