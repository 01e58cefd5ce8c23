// Softcap attention on a GPU as a kernel that Lockstep judges: one thread a
// query, two passes over its keys. Slow and plain. CUDA 11 and later:
//
//   nvcc -O2 -shared -Xcompiler -fPIC -I PREFIX/include attention.cu -o attention.so
//   lockstep verify 'attention_forward hq=4 hkv=2 sq=37 skv=129 d=64 cap=50 mask=causal'
//     --candidate so:./attention.so --profile from-candidate
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>

#include "lockstep/candidate.h"

// A tensor as a kernel gets it: by value, `data` in memory of the device.
typedef lockstep_tensor Tensor;

__device__ const char* At(const Tensor& x, int64_t b, int64_t h, int64_t i, int64_t c) {
  const int64_t row = x.shape[0] == 1 ? 0 : b;
  const int64_t head = x.shape[1] == 1 ? 0 : h;
  return (const char*)x.data + row * x.strides[0] + head * x.strides[1] + i * x.strides[2] +
         c * x.strides[3];
}

__device__ float Load(const Tensor& x, int64_t b, int64_t h, int64_t i, int64_t c) {
  return *(const float*)At(x, b, h, i, c);
}

struct Call {
  Tensor q, k, v, mask, sink, o, lse;
  int64_t b, hq, hkv, sq, skv, d, dv;
  float scale, cap;
  bool has_sink;
};

__device__ float ScoreOf(const Call& call, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t g = h / (call.hq / call.hkv);
  float dot = 0;
  for (int64_t c = 0; c < call.d; ++c) {
    dot = fmaf(Load(call.q, b, h, i, c), Load(call.k, b, g, j, c), dot);
  }
  const float z = dot * call.scale;
  return call.cap > 0 ? call.cap * tanhf(z / call.cap) : z;
}

__global__ void Attend(const Call call) {
  const int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= call.b * call.hq * call.sq) return;
  const int64_t i = n % call.sq, h = n / call.sq % call.hq, b = n / call.sq / call.hq;
  const int64_t g = h / (call.hq / call.hkv);
  float sink = -INFINITY;
  if (call.has_sink) sink = *(const float*)((const char*)call.sink.data + h * call.sink.strides[0]);
  float top = sink;
  for (int64_t j = 0; j < call.skv; ++j) {
    if (*At(call.mask, b, h, i, j)) top = fmaxf(top, ScoreOf(call, b, h, i, j));
  }
  float total = call.has_sink && top > -INFINITY ? expf(sink - top) : 0;
  for (int64_t c = 0; c < call.dv; ++c) *(float*)At(call.o, b, h, i, c) = 0;
  for (int64_t j = 0; j < call.skv; ++j) {
    if (!*At(call.mask, b, h, i, j)) continue;
    const float p = expf(ScoreOf(call, b, h, i, j) - top);
    total += p;
    for (int64_t c = 0; c < call.dv; ++c) {
      float* o = (float*)At(call.o, b, h, i, c);
      *o = fmaf(p, Load(call.v, b, g, j, c), *o);
    }
  }
  for (int64_t c = 0; c < call.dv && total > 0; ++c) *(float*)At(call.o, b, h, i, c) /= total;
  char* lse = (char*)call.lse.data + b * call.lse.strides[0] + h * call.lse.strides[1] +
              i * call.lse.strides[2];
  *(float*)lse = total > 0 ? top + logf(total) : -INFINITY;
}

extern "C" int lockstep_describe(lockstep_description* description) {
  description->abi = LOCKSTEP_ABI;
  description->name = "example-attention-cuda";
  description->version = "1.0";
  description->lanes = "f32";
  description->wants = "mask.dense";
  description->device = "cuda";
  description->profile =
      "base = cpu-f32\nname = example-attention-cuda\nmax = two_pass\nnan = unspecified\n"
      "exp_rel = 0x1p-21\ntanh_rel = 0x1p-21\nlog_rel = 0x1p-21\n";
  return 0;
}

extern "C" int lockstep_attention_forward(lockstep_handle* handle,
                                          const lockstep_attention_forward_call* given,
                                          lockstep_receipt* receipt) {
  (void)handle;
  Call call = {*given->q, *given->k, *given->v, *given->mask_dense, {}, *given->o, *given->lse,
               given->b, given->hq, given->hkv, given->sq, given->skv, given->d, given->dv,
               (float)given->scale, (float)given->softcap, given->sink != NULL};
  if (given->sink != NULL) call.sink = *given->sink;
  const int64_t rows = call.b * call.hq * call.sq;
  if (rows > 0) Attend<<<(unsigned)((rows + 63) / 64), 64>>>(call);
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return LOCKSTEP_DONE;
  snprintf(receipt->message, sizeof(receipt->message), "%s", cudaGetErrorString(error));
  return LOCKSTEP_ERROR;
}
