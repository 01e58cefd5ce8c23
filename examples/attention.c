// Softcap attention in f32 as a kernel that Lockstep judges. Plain C99:
//
//   gcc -std=c99 -O2 -fPIC -shared -I PREFIX/include attention.c -o attention.so -lm
//   lockstep verify 'attention_forward hq=4 hkv=2 sq=37 skv=129 d=64 cap=50 mask=causal'
//     --candidate so:./attention.so --profile from-candidate
//
// Masks, segments and counts come as one tensor, which the judge makes: mask.dense.
#include <math.h>
#include <stdlib.h>

#include "lockstep/candidate.h"

// What is kept from call to call: memory, never anything that was computed.
struct lockstep_handle {
  float* weights;  // of one query
  int64_t capacity;
};

int lockstep_describe(lockstep_description* description) {
  description->abi = LOCKSTEP_ABI;
  description->name = "example-attention";
  description->version = "1.0";
  description->lanes = "f32";
  description->wants = "mask.dense";
  description->profile = "base = cpu-f32\nname = example-attention\n";
  return 0;
}

int lockstep_open(int argc, const char* const* argv, lockstep_handle** handle) {
  (void)argc;
  (void)argv;
  *handle = calloc(1, sizeof(lockstep_handle));
  return *handle == NULL;
}

void lockstep_close(lockstep_handle* handle) {
  free(handle->weights);
  free(handle);
}

// Element [b][h][i][c] of a tensor; of a mask, whose first axes may be 1.
static void* at(const lockstep_tensor* x, int64_t b, int64_t h, int64_t i, int64_t c) {
  const int64_t row = x->shape[0] == 1 ? 0 : b;
  const int64_t head = x->shape[1] == 1 ? 0 : h;
  return (char*)x->data + row * x->strides[0] + head * x->strides[1] + i * x->strides[2] +
         c * x->strides[3];
}

static float load(const lockstep_tensor* x, int64_t b, int64_t h, int64_t i, int64_t c) {
  return *(const float*)at(x, b, h, i, c);
}

// One query of one head; `h` is its head, `g` the head of its keys.
static void attend(const lockstep_attention_forward_call* call, float* weights, int64_t b,
                   int64_t h, int64_t i) {
  const int64_t g = h / (call->hq / call->hkv);
  const float cap = (float)call->softcap;
  float sink = -INFINITY;
  if (call->sink != NULL) {
    sink = *(float*)((char*)call->sink->data + h * call->sink->strides[0]);
  }
  float highest = sink;
  for (int64_t j = 0; j < call->skv; ++j) {
    weights[j] = -INFINITY;
    if (*(uint8_t*)at(call->mask_dense, b, h, i, j) == 0) continue;
    float score = 0;
    for (int64_t c = 0; c < call->d; ++c) {
      score += load(call->q, b, h, i, c) * load(call->k, b, g, j, c);
    }
    score *= (float)call->scale;
    if (cap > 0) score = cap * tanhf(score / cap);
    weights[j] = score;
    if (!(score <= highest)) highest = score;
  }
  float sum = sink == -INFINITY ? 0 : expf(sink - highest);
  for (int64_t j = 0; j < call->skv; ++j) {
    if (*(uint8_t*)at(call->mask_dense, b, h, i, j) == 0) continue;
    weights[j] = expf(weights[j] - highest);
    sum += weights[j];
  }
  for (int64_t c = 0; c < call->dv; ++c) {
    float o = 0;
    for (int64_t j = 0; j < call->skv; ++j) {
      if (*(uint8_t*)at(call->mask_dense, b, h, i, j) == 0) continue;
      o += weights[j] * load(call->v, b, g, j, c);
    }
    // A query that sees nothing has the output 0 and lse = -inf.
    *(float*)at(call->o, b, h, i, c) = sum == 0 ? 0 : o / sum;
  }
  const lockstep_tensor* lse = call->lse;
  *(float*)((char*)lse->data + b * lse->strides[0] + h * lse->strides[1] + i * lse->strides[2]) =
      sum == 0 ? -INFINITY : highest + logf(sum);
}

int lockstep_attention_forward(lockstep_handle* handle, const lockstep_attention_forward_call* call,
                               lockstep_receipt* receipt) {
  (void)receipt;
  if (handle->capacity < call->skv) {
    float* more = realloc(handle->weights, (size_t)call->skv * sizeof(float));
    if (more == NULL) return LOCKSTEP_ERROR;
    handle->weights = more;
    handle->capacity = call->skv;
  }
  for (int64_t b = 0; b < call->b; ++b) {
    for (int64_t h = 0; h < call->hq; ++h) {
      for (int64_t i = 0; i < call->sq; ++i) {
        attend(call, handle->weights, b, h, i);
      }
    }
  }
  return LOCKSTEP_DONE;
}
