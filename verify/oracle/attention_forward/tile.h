// Up to kTileRows rows of one head, walked together: how the truths of a
// problem are computed.
#ifndef LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_TILE_H_
#define LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_TILE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/oracle/attention_forward/equal_weights.h"
#include "verify/oracle/attention_forward/packed_head.h"
#include "verify/oracle/attention_forward/truth.h"
#include "verify/oracle/attention_forward/visibility.h"
#include "verify/oracle/kernels.h"

namespace lockstep::oracle {

// Keeps references to all of its arguments.
class Tile {
 public:
  // The models of `requests` hold the oracle's own errors.
  Tile(const AttentionForwardProblem& problem,
       const AttentionForwardInputs& inputs,
       std::span<const TruthRequest> requests, const Kernels& kernels,
       const Visibility& visibility)
      : p_(problem),
        in_(inputs),
        requests_(requests),
        kernels_(kernels),
        visibility_(visibility) {}

  // rows: flat numbers of the same (b, h); `first`: their place in the truths,
  // of which there is one a request.
  void Run(const PackedHead& head, std::span<const int64_t> rows, size_t first,
           std::span<AttentionTruth> truths);

 private:
  // What is summed over the keys, per channel.
  enum Sum : size_t { kO, kAbs, kSquare, kPhi, kSpread, kSizePhi, kSums };

  const TruthRequest& request() const { return requests_[current_]; }
  double* Row(std::vector<double>& x, size_t r) { return &x[r * stride_]; }

  void ListPanels();
  void Scores(const PackedHead& head);
  // Where the current request's weights begin: at the scores.
  void TakeScores();
  void MarkVisible(const KeySet& keys);
  RowTruth Weights(size_t r);
  WeightModel ForRow(WeightModel m, const RowTruth& row) const;
  void AddSink(double sink, double max, size_t r, WeightRow* sums);
  void ForValues(const PackedHead& head, void (*kernel)(const ValueTile&));
  double* Sums(size_t kind, size_t channel_panel);
  void Normalise(Sum kind, int times);
  void Write(Sum kind, size_t channel, size_t first, int64_t channels,
             std::vector<double>* to);
  void Values(const PackedHead& head, size_t first, AttentionTruth* truth);
  void Finish(const PackedHead& head, size_t r, size_t place,
              AttentionTruth* truth);
  void AddSpecial(size_t r, int64_t key, double* o);

  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& in_;
  std::span<const TruthRequest> requests_;
  size_t current_ = 0;
  ErrorModel row_model_;
  const Kernels& kernels_;
  const Visibility& visibility_;
  int64_t b_ = 0, h_ = 0;
  size_t count_ = 0, stride_ = 0;
  std::array<int64_t, kTileRows> query_{};
  std::array<KeySet, kTileRows> keys_;
  std::array<double, kTileRows> visible_value_{};
  std::array<double, kTileRows> inverse_{}, sink_weight_{}, sink_phi_{},
      sink_spread_{};
  EqualWeights equal_;
  std::vector<int64_t> panels_;
  std::vector<double> q_, visible_, score_, product_, argument_, sums_;
  std::vector<double> raw_score_, raw_product_;  // of all but the last request
};

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_TILE_H_
