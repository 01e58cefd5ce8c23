// N25: the scales of one query row's tensors in fp8. Each is 1 where there is
// none, so that a row without fp8 has the bits of a row without scales.
#ifndef LOCKSTEP_REFERENCE_ATTENTION_SCALES_H_
#define LOCKSTEP_REFERENCE_ATTENTION_SCALES_H_

#include <cstdint>

#include "reference/attention_forward.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/key_scales.h"

namespace lockstep::reference {

class RowScales {
 public:
  RowScales(const AttentionForwardProblem& problem,
            const AttentionForwardInputs& inputs, const AttentionRow& at)
      : problem_(problem), inputs_(inputs), at_(at) {}

  // What one key, its value or the query alone is multiplied by.
  float Key(int64_t key) const {
    return Own(problem_.k_scales, inputs_.k_scale, key);
  }
  float Value(int64_t key) const {
    return Own(problem_.v_scales, inputs_.v_scale, key);
  }
  float Query() const { return OfQuery(true); }

  // What all keys, values or queries of the head share.
  float AllKeys() const { return Shared(problem_.k_scales, inputs_.k_scale); }
  float AllValues() const { return Shared(problem_.v_scales, inputs_.v_scale); }
  float AllQueries() const { return OfQuery(false); }

 private:
  int64_t kv_head() const { return at_.head / problem_.group(); }
  float Own(const KeyScales& of, const KeyScaleView& view, int64_t key) const {
    return of.by_key() ? KeyScaleOf(of, view, at_.batch, kv_head(), key) : 1.0f;
  }
  float Shared(const KeyScales& of, const KeyScaleView& view) const {
    return of.by_key() ? 1.0f : KeyScaleOf(of, view, at_.batch, kv_head(), 0);
  }
  float OfQuery(bool own) const {
    if (problem_.q_scales.by_key() != own) return 1.0f;
    return KeyScaleOf(problem_.q_scales, inputs_.q_scale, at_.batch, at_.head,
                      at_.query);
  }

  const AttentionForwardProblem& problem_;
  const AttentionForwardInputs& inputs_;
  const AttentionRow& at_;
};

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_ATTENTION_SCALES_H_
