// One row by the contract's letter: two passes over the visible keys, one key
// at a time, straight from the inputs. For rows whose fast sums are not
// finite: NaN and infinity in places visible or masked, overflow (N8, N9, N13).
#if defined(LOCKSTEP_OPTIMIZED_ATTENTION_EXACT_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_OPTIMIZED_ATTENTION_EXACT_INL_H_
#undef LOCKSTEP_OPTIMIZED_ATTENTION_EXACT_INL_H_
#else
#define LOCKSTEP_OPTIMIZED_ATTENTION_EXACT_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "hwy/highway.h"
#include "optimized/attention_store-inl.h"
#include "optimized/attention_weights-inl.h"
#include "optimized/attention_work.h"
#include "optimized/flushed_math.h"
#include "optimized/row_keys.h"
#include "optimized/simd/elementary-inl.h"
#include "optimized/simd/lanes-inl.h"
#include "reference/contract/numerics.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::optimized::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One element of an input tensor, widened.
HWY_INLINE float Element(const LaneView& x, int64_t b, int64_t h, int64_t i,
                         int64_t c) {
  return x.Float(b, h, i, c);
}

// One channel of a key, and of a value, widened.
HWY_INLINE float KeyElement(const AttentionJob& job, int64_t b, int64_t kv_head,
                            int64_t key, int64_t c) {
  return WithInputLane(job.problem->key_lane(), [&](auto element) {
    return ToFloat(job.Keys<decltype(element)>(
        b, kv_head)(key)[c * job.inputs->k.strides[3]]);
  });
}
HWY_INLINE float ValueElement(const AttentionJob& job, int64_t b,
                              int64_t kv_head, int64_t key, int64_t c) {
  return WithInputLane(job.problem->key_lane(), [&](auto element) {
    return ToFloat(job.Values<decltype(element)>(
        b, kv_head)(key)[c * job.inputs->v.strides[3]]);
  });
}

// Calls f(key) for every visible key of the range, ascending.
template <class F>
HWY_INLINE void ForVisible(const Worker& worker, Range keys, const F& f) {
  for (int64_t w = keys.begin / 64; w * 64 < keys.end; ++w) {
    uint64_t bits[] = {worker.row_bits[static_cast<size_t>(w)]};
    KeepBits({keys.begin - w * 64, keys.end - w * 64}, bits);
    for (; bits[0] != 0; bits[0] &= bits[0] - 1) {
      f(static_cast<size_t>(w * 64 + std::countr_zero(bits[0])));
    }
  }
}

// The keys of a part (N22), and what their weights are relative to.
struct ExactPart {
  Range keys;
  float m = 0.0f;
  float shift = 0.0f;
};

// A dot product of n elements a(i) * b(i): in one chain, or in blocks.
template <class D1, class A, class B>
HWY_INLINE float ExactDot(D1 d1, ProductOrder order, int64_t n, const A& a,
                          const B& b) {
  if (order == ProductOrder::kChain) {
    auto dot = hn::Zero(d1);
    for (int64_t i = 0; i < n; ++i) {
      dot = hn::MulAdd(hn::Set(d1, a(i)), hn::Set(d1, b(i)), dot);
    }
    return hn::GetLane(dot);
  }
  float dot = 0.0f;
  for (int64_t begin = 0; begin < n; begin += kProductBlock) {
    float chains[2] = {};
    for (int64_t i = begin; i < std::min(begin + kProductBlock, n); ++i) {
      float& chain = chains[i % 2];
      chain = FlushedMulAdd(a(i), b(i), chain);
    }
    dot = FlushedAddBlock(chains[0], chains[1], dot);
  }
  return dot;
}

// u of every visible key into worker.row_scores (N3 or N20; N7).
template <class D1>
void ExactScores(D1 d1, const AttentionJob& job, int64_t batch,
                 const RowState& row, Worker& worker) {
  const int64_t kv_head = row.head / job.problem->group();
  const auto scale = InVectors(d1, job.ScaleOf(row.head));
  const Range all{0, job.problem->kv_len};
  ForVisible(worker, all, [&](size_t key) HWY_ATTR {
    const auto q = [&](int64_t d) {
      return Element(job.inputs->q, batch, row.head, row.place, d);
    };
    const auto k = [&](int64_t d) {
      return KeyElement(job, batch, kv_head, static_cast<int64_t>(key), d);
    };
    auto dot = hn::Set(
        d1, ExactDot(d1, job.problem->order, job.problem->head_dim, q, k));
    if (job.problem->k_scales.by_key()) {
      const float own = KeyScaleOf(job.problem->k_scales, job.inputs->k_scale,
                                   batch, kv_head, static_cast<int64_t>(key));
      dot = hn::Mul(dot, hn::Set(d1, own));
    }
    if (job.problem->q_scales.by_key()) {
      dot = hn::Mul(dot, hn::Set(d1, row.scale));
    }
    worker.row_scores[key] =
        hn::GetLane(job.scale.capped ? ScoreInLog2<true>(d1, scale, dot)
                                     : ScoreInLog2<false>(d1, scale, dot));
  });
}

// l of the part (N11).
template <class D1>
float ExactSum(D1 d1, const ExactPart& part, const Worker& worker) {
  float stripes[kStripes] = {};
  ForVisible(worker, part.keys, [&](size_t key) HWY_ATTR {
    stripes[key % kStripes] +=
        ScalarWeight(d1, worker.row_scores[key], part.m, part.shift);
  });
  return FoldStripes(stripes);
}

// Calls f(key, p) for every visible key of the part (N10).
template <class D1, class F>
HWY_INLINE void ForWeightsOfPart(D1 d1, const AttentionJob& job, int64_t batch,
                                 int64_t kv_head, const ExactPart& part,
                                 const Worker& worker, const F& f) {
  ForVisible(worker, part.keys, [&](size_t key) HWY_ATTR {
    auto p = hn::Set(
        d1, ScalarWeight(d1, worker.row_scores[key], part.m, part.shift));
    if (job.problem->v_scales.by_key()) {
      const float own = KeyScaleOf(job.problem->v_scales, job.inputs->v_scale,
                                   batch, kv_head, static_cast<int64_t>(key));
      p = hn::Mul(p, hn::Set(d1, own));
    }
    // Only f16's digits count below f32's normal numbers.
    const auto rounded =
        job.problem->p_lane == Lane::kF16
            ? UnlessNaN(d1, p, RoundScaledWeightCore<Lane::kF16>(d1, p))
            : RoundWeight(d1, job.problem->p_lane, p);
    f(static_cast<int64_t>(key), hn::GetLane(rounded));
  });
}

// acc [value_dim] = sum of p * v over the visible keys of the part, in one
// chain (N11).
template <class D1>
void ExactChains(D1 d1, const AttentionJob& job, int64_t batch,
                 const RowState& row, const ExactPart& part,
                 const Worker& worker, float* acc) {
  const int64_t kv_head = row.head / job.problem->group();
  ForWeightsOfPart(
      d1, job, batch, kv_head, part, worker,
      [&](int64_t key, float p) HWY_ATTR {
        for (int64_t c = 0; c < job.problem->value_dim; ++c) {
          const float v = ValueElement(job, batch, kv_head, key, c);
          acc[c] = hn::GetLane(
              hn::MulAdd(hn::Set(d1, p), hn::Set(d1, v), hn::Set(d1, acc[c])));
        }
      });
}

// The same in blocks of keys (N20).
template <class D1>
void ExactBlocks(D1 d1, const AttentionJob& job, int64_t batch,
                 const RowState& row, const ExactPart& part,
                 const Worker& worker, float* acc) {
  const int64_t kv_head = row.head / job.problem->group();
  const auto dim = static_cast<size_t>(job.problem->value_dim);
  std::vector<float> chains[2] = {std::vector<float>(dim),
                                  std::vector<float>(dim)};
  int64_t block = 0;
  const auto end_block = [&]() HWY_ATTR {
    for (size_t c = 0; c < dim; ++c) {
      acc[c] = FlushedAddBlock(chains[0][c], chains[1][c], acc[c]);
      chains[0][c] = chains[1][c] = 0.0f;
    }
  };
  ForWeightsOfPart(d1, job, batch, kv_head, part, worker,
                   [&](int64_t key, float p) HWY_ATTR {
                     if (key / kProductBlock != block) end_block();
                     block = key / kProductBlock;
                     std::vector<float>& chain = chains[key % 2];
                     for (size_t c = 0; c < dim; ++c) {
                       const float v = ValueElement(job, batch, kv_head, key,
                                                    static_cast<int64_t>(c));
                       chain[c] = FlushedMulAdd(p, v, chain[c]);
                     }
                   });
  end_block();
}

template <class D1>
void ExactValues(D1 d1, const AttentionJob& job, int64_t batch,
                 const RowState& row, const ExactPart& part,
                 const Worker& worker, float* acc) {
  std::fill(acc, acc + job.problem->value_dim, 0.0f);
  if (job.problem->order == ProductOrder::kChain) {
    ExactChains(d1, job, batch, row, part, worker, acc);
  } else {
    ExactBlocks(d1, job, batch, row, part, worker, acc);
  }
}

// Maximum of n over the visible keys of the range and the sink; whether these
// make a row NaN (N13).
struct ExactMaximum {
  float m = -std::numeric_limits<float>::infinity();
  bool any = false;  // visible key
  bool bad = false;  // some score is NaN or +inf
  bool nan = false;
};

inline ExactMaximum FindMaximum(const AttentionJob& job, const RowState& row,
                                Range keys, const Worker& worker) {
  const float infinity = std::numeric_limits<float>::infinity();
  ExactMaximum result;
  const auto add = [&](float u) {
    result.bad |= !(u < infinity);
    result.m = std::max(result.m, std::nearbyint(u));
  };
  ForVisible(worker, keys, [&](size_t key) {
    result.any = true;
    add(worker.row_scores[key]);
  });
  if (job.problem->sink) add(row.sink);
  result.nan = result.bad || (result.any && result.m == -infinity);
  return result;
}

// acc [value_dim] and l, which is returned, with the sink: chains over the
// parts, scaled to the row's m (N22). Without split there is one part. `fixed`:
// on N9's fixed-m path.
template <class D1>
float ExactSums(D1 d1, const AttentionJob& job, int64_t batch,
                const RowState& row, const ExactPart& whole, bool fixed,
                const Worker& worker, float* acc) {
  const auto values = static_cast<size_t>(job.problem->value_dim);
  std::vector<float> own(values);
  std::fill(acc, acc + values, 0.0f);
  float l = 0.0f;
  for (int64_t s = 0; s < job.problem->parts(); ++s) {
    ExactPart part{job.KeysOfPart(s), 0.0f, whole.shift};
    const ExactMaximum max = FindMaximum(job, row, part.keys, worker);
    if (!max.any) continue;
    if (!fixed) part.m = max.m;
    const float down = part.m - whole.m;
    AddScaledOnce(d1, down, &l, ExactSum(d1, part, worker));
    ExactValues(d1, job, batch, row, part, worker, own.data());
    for (size_t c = 0; c < values; ++c) {
      AddScaledOnce(d1, down, acc + c, own[c]);
    }
  }
  if (!job.problem->sink) return l;
  return l + ScalarWeight(d1, row.sink, whole.m, whole.shift);
}

// N9: elements that overflowed, again with weights below 2^-31.
template <class D1>
void RedoOverflowed(D1 d1, const AttentionJob& job, int64_t batch,
                    const RowState& row, float m,
                    const std::vector<bool>& overflowed, const Worker& worker,
                    float* o) {
  if (std::find(overflowed.begin(), overflowed.end(), true) ==
      overflowed.end()) {
    return;
  }
  std::vector<float> acc(overflowed.size());
  const ExactPart whole{{0, job.problem->kv_len}, m, kRedoShift};
  const float l =
      ExactSums(d1, job, batch, row, whole, false, worker, acc.data());
  for (size_t c = 0; c < acc.size(); ++c) {
    if (!overflowed[c]) continue;
    const auto x = hn::Div(hn::Set(d1, acc[c]), hn::Set(d1, l));
    const float scale = job.OutputScale(batch, row.head / job.problem->group());
    o[c] = hn::GetLane(FinishOutput(d1, job, hn::Mul(x, hn::Set(d1, scale))));
  }
}

// Writes the visible keys and their scores to row_bits and row_scores.
template <class D1>
void ReadRow(D1 d1, const AttentionJob& job, int64_t batch, const RowState& row,
             Worker& worker) {
  const int64_t kv_len = job.problem->kv_len;
  worker.row_bits.assign(static_cast<size_t>(CeilDiv(kv_len, 64)), 0);
  worker.row_scores.resize(static_cast<size_t>(kv_len));
  worker.masks->RowBits(row.head, row.query, worker.row_bits);
  ExactScores(d1, job, batch, row, worker);
}

}  // namespace lockstep::optimized::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
