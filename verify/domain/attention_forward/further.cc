// Further draws of attention and of its gradients
// (verify/domain/draws/further.h).
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "verify/case/attention_backward.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/case/segments/segment_ids.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/draws/further.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

using enum FillKind;

// What a draw makes of the scores.
enum class Scores : uint8_t {
  kMany,   // a key with about half of the weight, the rest on all others
  kCaps,   // from far below the cap to far beyond it
  kLone,   // a key with nearly all of the weight
  kBelow,  // all of them far below zero
  kWideK,  // as they are, of keys beyond f16's range and q below it
  kWideQ,  // the other way round
};

// Outside f16 (2^-24 to 2^16), where every product of two is ordinary.
constexpr double kWide = 0x1p30, kNarrow = 0x1p-30;
constexpr double kLargeValue = 0x1p20;
// A sink that leaves the keys of its head no weight, or takes none from them.
constexpr double kHighSink = 200;
// Scores of kBelow: exp of them is 0.
constexpr double kFarBelow = -300;
// Logarithm by which a key outweighs each of the others: these are below f16's
// smallest number, or below half of fp8's.
constexpr double kFaint = 17, kBelowFp8 = 8;
// Mean of the keys there.
constexpr double kMeanKey = 1.5;

FillTerm Of(FillKind kind, uint8_t tensors, double a, double b = 0) {
  return {.kind = kind, .tensors = tensors, .a = {a}, .b = {b}};
}

std::vector<Scores> KindsFor(const AttentionForwardCase& a) {
  std::vector<Scores> kinds = {Scores::kMany};
  if (a.softcap) kinds.push_back(Scores::kCaps);
  kinds.push_back(Scores::kLone);
  if (a.scale.value != 0) kinds.push_back(Scores::kBelow);
  kinds.push_back(Scores::kWideK);
  kinds.push_back(Scores::kWideQ);
  return kinds;
}

std::vector<FillTerm> FillOf(Scores scores, const AttentionForwardCase& a,
                             double value, bool faint) {
  const FillTerm v = Of(kNormal, kFillV, value);
  const auto keys = static_cast<double>(a.kv_len);
  const double period = std::min(keys, 0x1p24);
  // The logarithm, or up to 0.7 more.
  const double log_keys =
      0x1.62e42fefa39efp-1 *
      static_cast<double>(std::bit_width(static_cast<uint64_t>(a.kv_len)));
  switch (scores) {
    case Scores::kMany: {
      // Of one sign, so that what small weights bring adds up.
      const FillTerm one_sign = Of(kUniform, kFillV, value, 3 * value);
      const double above = faint ? kFaint : std::ceil(log_keys) + 1;
      return {Of(kNormal, kFillAll, 1), one_sign,
              Of(kPeak, kFillAll, above, period)};
    }
    case Scores::kCaps:
      return {Of(kNormal, kFillAll, 1), v, Of(kCaps, kFillAll, 0x1p-9, 40)};
    case Scores::kLone:
      return {Of(kNormal, kFillAll, 1), v,
              Of(kPeak, kFillAll, std::ceil(log_keys) + 8, period)};
    case Scores::kBelow: {
      const double channels =
          kMeanKey * static_cast<double>(a.head_dim) * a.scale.value;
      return {Of(kConst, kFillQ, kFarBelow / channels),
              Of(kUniform, kFillK, kMeanKey - 0.5, kMeanKey + 0.5), v};
    }
    case Scores::kWideK:
      return {Of(kNormal, kFillQ, kNarrow), Of(kNormal, kFillK, kWide), v};
    case Scores::kWideQ:
      break;
  }
  return {Of(kNormal, kFillQ, kWide), Of(kNormal, kFillK, kNarrow), v};
}

bool FromFile(const FillTerm& term) { return term.kind == kFile; }

bool TakesFiles(const AttentionForwardCase& a) {
  return std::any_of(a.fill.begin(), a.fill.end(), FromFile) ||
         std::any_of(a.dense.begin(), a.dense.end(),
                     [](const DenseSource& s) { return s.from_file(); }) ||
         a.page.from_file() || a.q_seg.kind == Segments::Kind::kFile ||
         a.kv_seg.kind == Segments::Kind::kFile;
}

// Of gradients: cotangents below f16's range, or beyond it.
void ScaleCotangent(bool large, Case* c) {
  if (!c->Has<AttentionBackwardCase>()) return;
  auto& a = c->Get<AttentionBackwardCase>();
  if (std::any_of(a.d_o.begin(), a.d_o.end(), FromFile)) return;
  a.d_o = {Of(kNormal, kFillAll, large ? kLargeValue : kNarrow)};
}

bool HasDraws(const AttentionForwardCase& a) {
  return !ProbeOf(a) && std::none_of(a.fill.begin(), a.fill.end(), FromFile);
}

void SetFill(std::vector<FillTerm> fill, AttentionForwardCase* a) {
  for (const FillTerm& term : a->fill) {
    if (term.kind == kPoison) fill.push_back(term);
  }
  a->fill = std::move(fill);
  if (a->v_in_k > 0) DropValueTerms(a);
}

// What only many keys show: a key with half of the weight, or with nearly all.
std::optional<Case> ManyKeys(const Case& from, bool faint) {
  Case c = from;
  auto& a = c.Get<AttentionForwardCase>();
  if (a.kv_len < kLongAxis) return std::nullopt;
  std::vector<FillTerm> fill = FillOf(Scores::kMany, a, 1, faint);
  // The values behind the first are so large that small weights are seen.
  const double ramp = a.kv_lane == Lane::kE4m3 ? 0x1p6 : 0x1p13;
  if (faint) fill.push_back(Of(kRamp, kFillV, ramp));
  SetFill(std::move(fill), &a);
  KeepInRange(&c);
  return c;
}

// The same of any length, where each of the other keys vanishes in fp8.
std::optional<Case> SmallWeights(const Case& from) {
  Case c = from;
  auto& a = c.Get<AttentionForwardCase>();
  std::vector<FillTerm> fill = FillOf(Scores::kMany, a, 1, false);
  fill.back().a.value = std::max(fill.back().a.value, kBelowFp8);
  SetFill(std::move(fill), &a);
  KeepInRange(&c);
  return c;
}

}  // namespace

std::optional<Case> FurtherAttention(const Case& from, uint64_t number,
                                     int64_t n) {
  Case c = from;
  auto& a = c.Get<AttentionForwardCase>();
  if (!HasDraws(a)) return std::nullopt;
  if (n == kSmallWeights) return SmallWeights(c);
  if (n < 0) return ManyKeys(c, n < -1);
  const auto turn = static_cast<uint64_t>(n);
  const std::vector<Scores> kinds = KindsFor(a);
  // From round to round every kind meets the other sizes, sinks and ids.
  const uint64_t round = turn / kinds.size(), at = turn % kinds.size();
  const Scores scores = kinds[(number + turn) % kinds.size()];
  const bool large = (number / 64 + at + round / 2) % 2 == 0;
  SetFill(FillOf(scores, a, large ? kLargeValue : kNarrow,
                 (number / 128 + round) % 2 != 0),
          &a);
  if (a.sinklogit) {
    const bool high = (number / 256 + at / 2 + round) % 2 == 0;
    a.sinklogit = high ? Of(kSigns, kFillAll, kHighSink)
                       : Of(kConst, kFillAll, -HUGE_VAL);
  }
  constexpr IdRange kRanges[] = {IdRange::kLargest, IdRange::kSmallest,
                                 IdRange::kMirrored, IdRange::kSteps24};
  RenameIds(kRanges[(number / 512 + at + round) % std::size(kRanges)],
            {&a.q_seg, &a.kv_seg});
  // Not with the values: their product is ordinary half of the time.
  ScaleCotangent((number / 2048 + turn / 2) % 2 == 0, &c);
  KeepInRange(&c);
  return c;
}

std::optional<Case> ShortAttention(const Case& from, uint64_t number) {
  Case c = from;
  auto& a = c.Get<AttentionForwardCase>();
  if (std::max(a.q_len, a.kv_len) < kLongAxis) return std::nullopt;
  if (ProbeOf(a) || TakesFiles(a)) return std::nullopt;
  constexpr int64_t kQueries[] = {8, 2, 1};
  constexpr int64_t kKeys[] = {8, 2};
  SetLength(true, std::min(a.q_len, kQueries[number % 3]), &a);
  SetLength(false, std::min(a.kv_len, kKeys[number / 4 % 2]), &a);
  a.strides = {};  // of the shape that it had
  if (a.align.kind == Alignment::Kind::kOffset) {
    a.align.offset = std::clamp(a.align.offset, 1 - a.q_len, a.kv_len - 1);
  }
  return c;
}

}  // namespace lockstep::verify
