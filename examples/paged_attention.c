// Softcap attention in f32 over keys and values in pages, as serving kernels keep them. Plain C99:
//
//   gcc -std=c99 -O2 -fPIC -shared -I PREFIX/include paged_attention.c -o paged_attention.so -lm
//   lockstep verify 'attention_forward b=2 hq=4 hkv=2 sq=1 skv=100 d=64 page=16 valid_kv=100,37'
//     --candidate so:./paged_attention.so --profile from-candidate
//
// The pools are [pages, hkv, page_size, d], or [pages, page_size, hkv, d]. A row's keys are those
// before kv_len: what lies behind them, in its last page and in the table, may be anything.
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
  description->name = "example-paged";
  description->version = "1.0";
  description->lanes = "f32";
  description->wants = "pages mask.dense";
  description->profile = "base = cpu-f32\nname = example-paged\n";
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

// Channel 0 of key j of row b in the pool of keys, or of values. Offsets have 64 bits: a page's
// number times its stride passes 2^31 in large pools.
static const float* key_row(const lockstep_attention_forward_call* call, const lockstep_tensor* pool,
                            int64_t b, int64_t g, int64_t j) {
  const lockstep_tensor* table = call->page_table;
  const int64_t n = j / call->page_size;
  const int64_t slot = j % call->page_size;
  const int64_t page =
      *(int32_t*)((char*)table->data + b * table->strides[0] + n * table->strides[1]);
  const int64_t head_stride = pool->strides[call->page_nhd ? 2 : 1];
  const int64_t slot_stride = pool->strides[call->page_nhd ? 1 : 2];
  return (const float*)((char*)pool->data + page * pool->strides[0] + g * head_stride +
                        slot * slot_stride);
}

// Element [b][h][i][c] of a tensor; of a mask, whose first axes may be 1.
static void* at(const lockstep_tensor* x, int64_t b, int64_t h, int64_t i, int64_t c) {
  const int64_t row = x->shape[0] == 1 ? 0 : b;
  const int64_t head = x->shape[1] == 1 ? 0 : h;
  return (char*)x->data + row * x->strides[0] + head * x->strides[1] + i * x->strides[2] +
         c * x->strides[3];
}

// One query of one head; `h` is its head, `g` the head of its keys.
static void attend(const lockstep_attention_forward_call* call, float* weights, int64_t b,
                   int64_t h, int64_t i) {
  const int64_t g = h / (call->hq / call->hkv);
  const int64_t keys = ((const int32_t*)call->kv_len->data)[b];
  const float cap = (float)call->softcap;
  float sink = -INFINITY;
  if (call->sink != NULL) {
    sink = *(float*)((char*)call->sink->data + h * call->sink->strides[0]);
  }
  float highest = sink;
  for (int64_t j = 0; j < keys; ++j) {
    if (*(uint8_t*)at(call->mask_dense, b, h, i, j) == 0) continue;
    const float* k = key_row(call, call->k_pages, b, g, j);
    float score = 0;
    for (int64_t c = 0; c < call->d; ++c) score += *(float*)at(call->q, b, h, i, c) * k[c];
    score *= (float)call->scale;
    if (cap > 0) score = cap * tanhf(score / cap);
    weights[j] = score;
    if (!(score <= highest)) highest = score;
  }
  float sum = sink == -INFINITY ? 0 : expf(sink - highest);
  for (int64_t c = 0; c < call->dv; ++c) *(float*)at(call->o, b, h, i, c) = 0;
  for (int64_t j = 0; j < keys; ++j) {
    if (*(uint8_t*)at(call->mask_dense, b, h, i, j) == 0) continue;
    const float weight = expf(weights[j] - highest);
    const float* v = key_row(call, call->v_pages, b, g, j);
    sum += weight;
    for (int64_t c = 0; c < call->dv; ++c) *(float*)at(call->o, b, h, i, c) += weight * v[c];
  }
  // A query that sees nothing has the output 0 and lse = -inf.
  for (int64_t c = 0; c < call->dv; ++c) {
    if (sum != 0) *(float*)at(call->o, b, h, i, c) /= sum;
  }
  const lockstep_tensor* lse = call->lse;
  *(float*)((char*)lse->data + b * lse->strides[0] + h * lse->strides[1] + i * lse->strides[2]) =
      sum == 0 ? -INFINITY : highest + logf(sum);
}

int lockstep_attention_forward(lockstep_handle* handle, const lockstep_attention_forward_call* call,
                               lockstep_receipt* receipt) {
  if (call->page_size == 0) {
    static const char kWhy[] = "keys that do not lie in pages";
    for (size_t n = 0; n < sizeof(kWhy); ++n) receipt->message[n] = kWhy[n];
    return LOCKSTEP_UNSUPPORTED;
  }
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
