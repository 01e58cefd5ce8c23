// Decoding of multi-head latent attention in f32: all heads read one latent a key, whose first DV
// channels are the value, and whose other channels bring the positions into the score. Plain C99:
//
//   gcc -std=c99 -O2 -fPIC -shared -I PREFIX/include mla_decode.c -o mla_decode.so -lm
//   lockstep verify 'attention_forward hq=16 hkv=1 sq=1 skv=300 d=576 alias=v_in_k:512'
//     --candidate so:./mla_decode.so --profile from-candidate
//
// A latent is read once: its score and its value follow from the same row, so the softmax is online.
// `v` of the call is a view of `k`, at the same address and with the same strides. It is not used here.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lockstep/candidate.h"

// The handle keeps memory from call to call, and no computed value.
struct lockstep_handle {
  float* sums;  // the sums of one query, DV channels
  int64_t capacity;
};

int lockstep_describe(lockstep_description* description) {
  description->abi = LOCKSTEP_ABI;
  description->name = "example-mla";
  description->version = "1.0";
  description->lanes = "f32";
  description->wants = "mask.dense";
  description->profile = "base = cpu-f32\nname = example-mla\n";
  return 0;
}

int lockstep_open(int argc, const char* const* argv, lockstep_handle** handle) {
  (void)argc;
  (void)argv;
  *handle = calloc(1, sizeof(lockstep_handle));
  return *handle == NULL;
}

void lockstep_close(lockstep_handle* handle) {
  free(handle->sums);
  free(handle);
}

// Returns element [b][h][i][c] of a tensor, or of a mask, whose first axes may be 1.
static void* at(const lockstep_tensor* x, int64_t b, int64_t h, int64_t i, int64_t c) {
  const int64_t row = x->shape[0] == 1 ? 0 : b;
  const int64_t head = x->shape[1] == 1 ? 0 : h;
  return (char*)x->data + row * x->strides[0] + head * x->strides[1] + i * x->strides[2] +
         c * x->strides[3];
}

// The sums so far are relative to the highest score so far.
static float to_new_maximum(float highest, float higher) {
  return highest == -INFINITY ? 0 : expf(highest - higher);
}

// One query of one head; `g` is the head of its latents.
static void attend(const lockstep_attention_forward_call* call, float* sums, int64_t b, int64_t h,
                   int64_t i) {
  const int64_t g = h / (call->hq / call->hkv);
  const lockstep_tensor* latents = call->k;
  const float cap = (float)call->softcap;
  float highest = -INFINITY;
  float sum = 0;
  if (call->sink != NULL) {
    highest = *(float*)((char*)call->sink->data + h * call->sink->strides[0]);
    sum = 1;
  }
  memset(sums, 0, (size_t)call->dv * sizeof(float));
  for (int64_t j = 0; j < call->skv; ++j) {
    if (*(uint8_t*)at(call->mask_dense, b, h, i, j) == 0) continue;
    const char* latent = (const char*)at(latents, b, g, j, 0);
    const int64_t next = latents->strides[3];
    float score = 0;
    for (int64_t c = 0; c < call->d; ++c) {
      score += *(float*)at(call->q, b, h, i, c) * *(const float*)(latent + c * next);
    }
    score *= (float)call->scale;
    if (cap > 0) score = cap * tanhf(score / cap);
    if (score > highest) {
      const float down = to_new_maximum(highest, score);
      sum *= down;
      for (int64_t c = 0; c < call->dv; ++c) sums[c] *= down;
      highest = score;
    }
    const float weight = expf(score - highest);
    sum += weight;
    for (int64_t c = 0; c < call->dv; ++c) {
      sums[c] += weight * *(const float*)(latent + c * next);
    }
  }
  // A query that sees nothing has the output 0 and lse = -inf.
  for (int64_t c = 0; c < call->dv; ++c) {
    *(float*)at(call->o, b, h, i, c) = sum == 0 ? 0 : sums[c] / sum;
  }
  const lockstep_tensor* lse = call->lse;
  *(float*)((char*)lse->data + b * lse->strides[0] + h * lse->strides[1] + i * lse->strides[2]) =
      sum == 0 ? -INFINITY : highest + logf(sum);
}

int lockstep_attention_forward(lockstep_handle* handle, const lockstep_attention_forward_call* call,
                               lockstep_receipt* receipt) {
  if (call->v->data != call->k->data) {
    static const char kWhy[] = "values outside the keys";
    memcpy(receipt->message, kWhy, sizeof(kWhy));
    return LOCKSTEP_UNSUPPORTED;
  }
  if (handle->capacity < call->dv) {
    float* more = realloc(handle->sums, (size_t)call->dv * sizeof(float));
    if (more == NULL) return LOCKSTEP_ERROR;
    handle->sums = more;
    handle->capacity = call->dv;
  }
  for (int64_t b = 0; b < call->b; ++b) {
    for (int64_t h = 0; h < call->hq; ++h) {
      for (int64_t i = 0; i < call->sq; ++i) {
        attend(call, handle->sums, b, h, i);
      }
    }
  }
  return LOCKSTEP_DONE;
}
