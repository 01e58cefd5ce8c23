// CUDA C on the CPU, block by block and thread by thread, for kernels without
// shared memory. Memory and errors are those of stub_cudart.c.
#ifndef LOCKSTEP_TESTS_HOST_EMULATED_CUDA_H_
#define LOCKSTEP_TESTS_HOST_EMULATED_CUDA_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#define __device__
#define __global__

struct Dim3 {
  unsigned x = 0, y = 0, z = 0;
};
inline Dim3 blockIdx, threadIdx, blockDim;

using cudaError_t = int;
inline constexpr cudaError_t cudaSuccess = 0;
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
extern "C" const char* cudaGetErrorString(int error);

template <typename Kernel, typename... Arguments>
void Emulate(Kernel kernel, unsigned blocks, unsigned threads,
             const Arguments&... arguments) {
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) {
      kernel(arguments...);
    }
  }
}

#endif  // LOCKSTEP_TESTS_HOST_EMULATED_CUDA_H_
