// Softcap attention in f32 over ragged batches, whose rows lie end to end. Plain C99:
//
//   gcc -std=c99 -O2 -fPIC -shared -I PREFIX/include varlen_attention.c -o varlen_attention.so -lm
//   lockstep verify 'attention_forward b=2 hq=4 hkv=2 sq=9 skv=100 d=64 layout=varlen
//     valid_q=9,5 valid_kv=100,37' --candidate so:./varlen_attention.so --profile from-candidate
//
// q, k, v and o are [tokens, heads, channels], and lse is [hq, tokens]. Row b has the tokens
// cu_seqlens[b] to cu_seqlens[b + 1] - 1. Tokens behind the last row may hold anything.
#include <math.h>
#include <stdlib.h>

#include "lockstep/candidate.h"

// The handle keeps memory from call to call, and no computed value.
struct lockstep_handle {
  float* scores;  // of one query
  int64_t capacity;
};

int lockstep_describe(lockstep_description* description) {
  description->abi = LOCKSTEP_ABI;
  description->name = "example-varlen";
  description->version = "1.0";
  description->lanes = "f32";
  description->wants = "varlen mask.dense";
  description->profile = "base = cpu-f32\nname = example-varlen\n";
  return 0;
}

int lockstep_open(int argc, const char* const* argv, lockstep_handle** handle) {
  (void)argc;
  (void)argv;
  *handle = calloc(1, sizeof(lockstep_handle));
  return *handle == NULL;
}

void lockstep_close(lockstep_handle* handle) {
  free(handle->scores);
  free(handle);
}

// Row b has the tokens first to end - 1.
typedef struct {
  int64_t first, end;
} range;

static range tokens_of(const lockstep_tensor* starts, int64_t b) {
  const char* entry = (const char*)starts->data + b * starts->strides[0];
  const range tokens = {*(const int32_t*)entry, *(const int32_t*)(entry + starts->strides[0])};
  return tokens;
}

// Returns channel c of a token and a head.
static float* at(const lockstep_tensor* x, int64_t token, int64_t head, int64_t c) {
  return (float*)((char*)x->data + token * x->strides[0] + head * x->strides[1] +
                  c * x->strides[2]);
}

// Query i and key j count from the beginning of their row. The first axes of a mask may be 1.
static int sees(const lockstep_tensor* mask, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t row = mask->shape[0] == 1 ? 0 : b;
  const int64_t head = mask->shape[1] == 1 ? 0 : h;
  return *((const uint8_t*)mask->data + row * mask->strides[0] + head * mask->strides[1] +
           i * mask->strides[2] + j * mask->strides[3]) != 0;
}

// One query of one head of row b, whose keys are `keys`; `g` is the head of its keys.
static void attend(const lockstep_attention_forward_call* call, float* scores, int64_t b, int64_t h,
                   int64_t i, range keys, int64_t query) {
  const int64_t g = h / (call->hq / call->hkv);
  const float cap = (float)call->softcap;
  const int64_t count = keys.end - keys.first;
  float sink = -INFINITY;
  if (call->sink != NULL) {
    sink = *(float*)((char*)call->sink->data + h * call->sink->strides[0]);
  }
  float highest = sink;
  for (int64_t j = 0; j < count; ++j) {
    if (!sees(call->mask_dense, b, h, i, j)) continue;
    float score = 0;
    for (int64_t c = 0; c < call->d; ++c) {
      score += *at(call->q, query, h, c) * *at(call->k, keys.first + j, g, c);
    }
    score *= (float)call->scale;
    if (cap > 0) score = cap * tanhf(score / cap);
    scores[j] = score;
    if (!(score <= highest)) highest = score;
  }
  float sum = sink == -INFINITY ? 0 : expf(sink - highest);
  for (int64_t c = 0; c < call->dv; ++c) *at(call->o, query, h, c) = 0;
  for (int64_t j = 0; j < count; ++j) {
    if (!sees(call->mask_dense, b, h, i, j)) continue;
    const float weight = expf(scores[j] - highest);
    sum += weight;
    for (int64_t c = 0; c < call->dv; ++c) {
      *at(call->o, query, h, c) += weight * *at(call->v, keys.first + j, g, c);
    }
  }
  // A query that sees nothing has the output 0 and lse = -inf.
  for (int64_t c = 0; c < call->dv; ++c) {
    if (sum != 0) *at(call->o, query, h, c) /= sum;
  }
  const lockstep_tensor* lse = call->lse;
  *(float*)((char*)lse->data + h * lse->strides[0] + query * lse->strides[1]) =
      sum == 0 ? -INFINITY : highest + logf(sum);
}

int lockstep_attention_forward(lockstep_handle* handle, const lockstep_attention_forward_call* call,
                               lockstep_receipt* receipt) {
  if (call->varlen == 0) {
    static const char kWhy[] = "batches that are not ragged";
    for (size_t n = 0; n < sizeof(kWhy); ++n) receipt->message[n] = kWhy[n];
    return LOCKSTEP_UNSUPPORTED;
  }
  if (handle->capacity < call->skv) {
    float* more = realloc(handle->scores, (size_t)call->skv * sizeof(float));
    if (more == NULL) return LOCKSTEP_ERROR;
    handle->scores = more;
    handle->capacity = call->skv;
  }
  for (int64_t b = 0; b < call->b; ++b) {
    const range queries = tokens_of(call->cu_seqlens_q, b);
    const range keys = tokens_of(call->cu_seqlens_k, b);
    for (int64_t h = 0; h < call->hq; ++h) {
      for (int64_t query = queries.first; query < queries.end; ++query) {
        attend(call, handle->scores, b, h, query - queries.first, keys, query);
      }
    }
  }
  return LOCKSTEP_DONE;
}
