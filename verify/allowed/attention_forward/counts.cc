// Candidates against envelopes: counts and witnesses.
#include <algorithm>
#include <cmath>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/attention_forward/probes.h"
#include "verify/allowed/counts.h"

namespace lockstep::verify {
namespace {

double Produced(const LaneView& x, int64_t b, int64_t h, int64_t i, int64_t c) {
  return static_cast<double>(x.Float(b, h, i, c));
}

// Calls visit(r, b, h, i) for the judged rows in order.
template <typename Visit>
void ForEachRow(const std::array<int64_t, 4>& shape,
                const std::vector<int64_t>* rows, size_t count, Visit&& visit) {
  for (size_t r = 0; r < count; ++r) {
    const auto row = rows != nullptr ? (*rows)[r] : static_cast<int64_t>(r);
    visit(r, row / (shape[1] * shape[2]), row / shape[2] % shape[1],
          row % shape[2]);
  }
}

}  // namespace

EnvelopeResult JudgeOutput(const AttentionEnvelope& envelope,
                           const oracle::AttentionTruth& truth,
                           const std::vector<int64_t>* rows,
                           const LaneView& produced, const ElementSink& each) {
  const size_t count = truth.rows.size();
  const int64_t channels = truth.value_dim;
  EnvelopeJudge judge("o", static_cast<int64_t>(count) * channels,
                      produced.lane, &each);
  CauseAmounts shares{};
  ForEachRow(produced.shape, rows, count,
             [&](size_t r, int64_t b, int64_t h, int64_t i) {
               const RowSlack slack = envelope.ForRow(truth.rows[r]);
               for (int64_t c = 0; c < channels; ++c) {
                 const double x = Produced(produced, b, h, i, c);
                 // One channel speaks for its row's shares.
                 CauseAmounts* const causes = c == 0 ? &shares : nullptr;
                 judge.Add({b, h, i, c}, x,
                           envelope.Output(truth, r, static_cast<size_t>(c),
                                           slack, causes));
               }
             });
  return judge.Finish(shares);
}

EnvelopeResult JudgeLse(const AttentionEnvelope& envelope,
                        const oracle::AttentionTruth& truth,
                        const std::vector<int64_t>* rows,
                        const TensorView<const float, 3>& produced,
                        const ElementSink& each) {
  const size_t count = truth.rows.size();
  EnvelopeJudge judge("lse", static_cast<int64_t>(count), Lane::kF32, &each);
  CauseAmounts shares{};
  const std::array<int64_t, 4> shape = {produced.shape[0], produced.shape[1],
                                        produced.shape[2], 1};
  ForEachRow(shape, rows, count,
             [&](size_t r, int64_t b, int64_t h, int64_t i) {
               judge.Add({b, h, i, 0}, static_cast<double>(produced(b, h, i)),
                         envelope.Lse(truth, r, &shares));
             });
  return judge.Finish(shares);
}

EnvelopeResult JudgeProbe(const std::vector<ValueSet>& expected,
                          const std::vector<int64_t>* rows,
                          const LaneView& produced, const ElementSink& each) {
  const auto channels = static_cast<size_t>(produced.shape[3]);
  EnvelopeJudge judge("o", static_cast<int64_t>(expected.size()), produced.lane,
                      &each);
  ForEachRow(produced.shape, rows, expected.size() / channels,
             [&](size_t r, int64_t b, int64_t h, int64_t i) {
               for (size_t c = 0; c < channels; ++c) {
                 const auto at = static_cast<int64_t>(c);
                 const ValueSet set = expected[r * channels + c];
                 // Only sets are known: a value outside has no distance that
                 // could be counted, and one inside needs none.
                 const double middle = set.lo / 2 + set.hi / 2;
                 judge.Add({b, h, i, at}, Produced(produced, b, h, i, at),
                           {set, set, middle, HUGE_VAL, HUGE_VAL});
               }
             });
  return judge.Finish({});
}

EnvelopeResult JudgeProbeLse(const std::vector<ValueSet>& expected,
                             const std::vector<int64_t>* rows,
                             const TensorView<const float, 3>& produced,
                             const ElementSink& each) {
  EnvelopeJudge judge("lse", static_cast<int64_t>(expected.size()), Lane::kF32,
                      &each);
  const std::array<int64_t, 4> shape = {produced.shape[0], produced.shape[1],
                                        produced.shape[2], 1};
  ForEachRow(shape, rows, expected.size(),
             [&](size_t r, int64_t b, int64_t h, int64_t i) {
               const ValueSet set = expected[r];
               const double middle = set.lo / 2 + set.hi / 2;
               judge.Add({b, h, i, 0}, static_cast<double>(produced(b, h, i)),
                         {set, set, middle, HUGE_VAL, HUGE_VAL});
             });
  return judge.Finish({});
}

}  // namespace lockstep::verify
