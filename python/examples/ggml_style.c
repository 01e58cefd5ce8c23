// Attention as ggml's CPU kernels go about it: a query at a time, the weights' sum and
// the output rescaled when the maximum moves, scale / cap one constant, the mask added.
#include <math.h>
#include <stddef.h>

#include "lockstep/candidate.h"

int lockstep_describe(lockstep_description* it) {
  it->abi = LOCKSTEP_ABI;
  it->name = "ggml-style";
  it->lanes = "f32";
  it->wants = "mask.bias";
  it->lacks = "lse";
  it->profile = "base = cpu-f32\nname = ggml-style\ncap_div = folded\nlse = none\n";
  return 0;
}

int lockstep_open(int argc, const char* const* argv, lockstep_handle** handle) {
  (void)argc, (void)argv;
  *handle = NULL;
  return 0;
}

void lockstep_close(lockstep_handle* handle) { (void)handle; }

static float* row(const lockstep_tensor* x, int64_t b, int64_t h, int64_t i) {
  return (float*)((char*)x->data + (x->shape[0] == 1 ? 0 : b) * x->strides[0] +
                  (x->shape[1] == 1 ? 0 : h) * x->strides[1] + i * x->strides[2]);
}

#define AT(x, p, c) (*(float*)((char*)(p) + (c) * (x)->strides[3]))

static void query(const lockstep_attention_forward_call* a, int64_t b, int64_t h, int64_t i) {
  const int64_t g = h / (a->hq / a->hkv);
  const float cap = (float)a->softcap, scale = (float)(cap > 0 ? a->scale / cap : a->scale);
  float *q = row(a->q, b, h, i), *o = row(a->o, b, h, i), *bias = row(a->mask_bias, b, h, i);
  float top = a->sink ? *(float*)((char*)a->sink->data + h * a->sink->strides[0]) : -INFINITY;
  float sum = top == -INFINITY ? 0.0f : 1.0f;
  for (int64_t c = 0; c < a->dv; ++c) AT(a->o, o, c) = 0;
  for (int64_t j = 0; j < a->skv; ++j) {
    float *k = row(a->k, b, g, j), *v = row(a->v, b, g, j), score = 0;
    if (AT(a->mask_bias, bias, j) == -INFINITY) continue;
    for (int64_t c = 0; c < a->d; ++c) score += AT(a->q, q, c) * AT(a->k, k, c);
    score = cap > 0 ? cap * tanhf(scale * score) : scale * score;
    const float higher = score > top || score != score ? score : top;
    const float old = top == -INFINITY ? 0.0f : expf(top - higher), weight = expf(score - higher);
    for (int64_t c = 0; c < a->dv; ++c)
      AT(a->o, o, c) = AT(a->o, o, c) * old + weight * AT(a->v, v, c);
    sum = sum * old + weight, top = higher;
  }
  for (int64_t c = 0; c < a->dv && sum != 0; ++c) AT(a->o, o, c) /= sum;
}

int lockstep_attention_forward(lockstep_handle* handle, const lockstep_attention_forward_call* a,
                               lockstep_receipt* receipt) {
  (void)handle, (void)receipt;
  for (int64_t n = 0; n < a->b * a->hq * a->sq; ++n)
    query(a, n / (a->hq * a->sq), n / a->sq % a->hq, n % a->sq);
  return LOCKSTEP_DONE;
}
