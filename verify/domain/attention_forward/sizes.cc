// The sizes of a case of attention: how they are changed, and those of
// real models.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/probe.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

struct HeadSizes {
  int64_t d, dv;
};

// Multiply-adds of a case with wide heads, and of one with a long axis.
constexpr int64_t kMostWideWork = 1 << 19;
constexpr int64_t kMostLongWork = 1 << 21;

void Extend(bool q, int64_t length, AttentionForwardCase* a) {
  SetLength(q, length, a);
  ExtendRuns(q ? &a->q_seg : &a->kv_seg, length);
}

// Whether scale is that of the channels: it then follows them.
bool NaturalScale(const AttentionForwardCase& a) {
  return a.scale.value == 1.0 / std::sqrt(static_cast<double>(a.head_dim));
}

// Halves what is largest of the rest until the case is cheap enough.
void Afford(bool long_q, bool long_kv, AttentionForwardCase* a) {
  const int64_t most = long_q || long_kv ? kMostLongWork : kMostWideWork;
  while (WorkOf(*a) > most) {
    const int64_t q = long_q ? 1 : a->q_len;
    const int64_t kv = long_kv ? 1 : a->kv_len;
    const int64_t largest = std::max({q, kv, a->batch, a->q_heads});
    if (largest == 1) return;
    const int64_t half = (largest + 1) / 2;
    if (largest == q) {
      Extend(true, half, a);
    } else if (largest == kv) {
      Extend(false, half, a);
    } else if (largest == a->batch) {
      SetBatch(half, a);
    } else {
      SetHeads(half, 1, a);
    }
  }
}

}  // namespace

int64_t WorkOf(const AttentionForwardCase& c) {
  return c.batch * c.q_heads * c.q_len * c.kv_len *
         (c.head_dim + c.value_dim + 4);
}

void SetLength(bool q, int64_t length, AttentionForwardCase* a) {
  int64_t& extent = q ? a->q_len : a->kv_len;
  const int64_t before = std::exchange(extent, length);
  ResizeRuns(q ? &a->q_seg : &a->kv_seg, length);
  auto& valid = q ? a->valid_q : a->valid_kv;
  for (int64_t& count : valid) {
    count = count >= before ? length : std::min(count, length);
  }
}

void SetBatch(int64_t batch, AttentionForwardCase* a) {
  a->batch = batch;
  const auto n = static_cast<size_t>(batch);
  for (auto* counts : {&a->valid_q, &a->valid_kv}) {
    if (counts->size() > n) counts->resize(n);
  }
  for (Segments* side : {&a->q_seg, &a->kv_seg}) {
    if (side->rows.size() > n) side->rows.resize(n);
  }
  const std::function<void(MaskExpr*)> cut = [&](MaskExpr* mask) {
    if (mask->prefix.size() > n) mask->prefix.resize(n);
    for (MaskExpr& child : mask->children) cut(&child);
  };
  cut(&a->mask);
  for (auto& [head, mask] : a->head_mask) cut(&mask);
}

void SetHeads(int64_t q_heads, int64_t kv_heads, AttentionForwardCase* a) {
  a->q_heads = q_heads;
  a->kv_heads = kv_heads;
  a->head_mask.erase(a->head_mask.lower_bound(q_heads), a->head_mask.end());
}

void SetChannels(int64_t d, int64_t dv, AttentionForwardCase* a) {
  const bool natural = NaturalScale(*a);
  a->head_dim = d;
  a->value_dim = dv;
  if (a->v_in_k > 0) a->v_in_k = dv;
  if (natural) a->scale.value = 1.0 / std::sqrt(static_cast<double>(d));
}

std::vector<Case> WithSizes(Draw* draw, std::vector<Case> sequence) {
  const bool wide = draw->OneIn(8);
  const bool lengthy = draw->OneIn(40);
  const bool probe =
      ProbeOf(sequence[0].Get<AttentionForwardCase>()).has_value();
  if ((!wide && !lengthy) || probe) return sequence;
  const auto heads = draw->Of<HeadSizes>({{64, 64},
                                          {80, 80},
                                          {96, 96},
                                          {112, 112},
                                          {128, 128},
                                          {192, 128},
                                          {256, 256},
                                          {576, 512}});
  const auto length =
      draw->Of<int64_t>({257, 300, 384, 511, 512, 513, 777, 1024, 1025, 2049});
  const bool queries = draw->OneIn(4);
  const std::vector<Case> before = sequence;
  for (Case& c : sequence) {
    auto& a = c.Get<AttentionForwardCase>();
    if (wide) SetChannels(heads.d, heads.dv, &a);
    if (lengthy) Extend(queries, length, &a);
    Afford(lengthy && queries, lengthy && !queries, &a);
    a.strides = {};  // of the shape that it had
    const std::optional<Case> legal = NormalForm(c);
    if (!legal) return before;
    c = *legal;
  }
  return sequence;
}

}  // namespace lockstep::verify
