// Runs one matrix instruction of an NVIDIA GPU on tiles that stand on stdin,
// and writes what it leaves to stdout. scripts/record-matrix-unit.py compiles
// and starts it.
//
//   record_matrix_unit INSTRUCTION < tiles > results
//   record_matrix_unit gpu    prints name, capability, driver's and runtime's
//   version
//
// A block of tiles is two 32-bit numbers, the instructions in a chain (1, 2, 4,
// 8 or 16) and the number n of tiles, and then a [n][64][K], b [n][8][K] (a
// column of B with its elements side by side) and c [n][64][8]. For every block
// d [n][64][8] is written. Each chain begins with c and takes its instructions
// in ascending order of k.
//
// LOCKSTEP_CC is the compute capability times ten: instructions that it lacks
// are not built.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kRows = 64;
constexpr int kColumns = 8;

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

// The operands of one instruction as 32-bit words: kWords of a row of A or a
// column of B are 32 or 16 bytes of k, whatever the type. kHalf: the
// accumulator is f16.
#define MMA_F32(NAME, PTX)                                                     \
  struct NAME {                                                                \
    static constexpr int kWords = 8;                                           \
    static constexpr bool kHalf = false, kGroup = false;                       \
    __device__ static void Run(float (&d)[4], const uint32_t (&a)[4],          \
                               const uint32_t (&b)[2]) {                       \
      asm volatile(                                                            \
          PTX " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"         \
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                     \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
    }                                                                          \
  };
#define MMA_F32_SHORT(NAME, PTX)                                       \
  struct NAME {                                                        \
    static constexpr int kWords = 4;                                   \
    static constexpr bool kHalf = false, kGroup = false;               \
    __device__ static void Run(float (&d)[4], const uint32_t (&a)[4],  \
                               const uint32_t (&b)[2]) {               \
      asm volatile(PTX " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])    \
                   : "r"(a[0]), "r"(a[1]), "r"(b[0]));                 \
    }                                                                  \
  };
#define MMA_F16(NAME, PTX)                                                  \
  struct NAME {                                                             \
    static constexpr int kWords = 8;                                        \
    static constexpr bool kHalf = true, kGroup = false;                     \
    __device__ static void Run(uint32_t (&d)[2], const uint32_t (&a)[4],    \
                               const uint32_t (&b)[2]) {                    \
      asm volatile(PTX " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"         \
                   : "+r"(d[0]), "+r"(d[1])                                 \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), \
                     "r"(b[1]));                                            \
    }                                                                       \
  };
#define MMA_F16_SHORT(NAME, PTX)                                         \
  struct NAME {                                                          \
    static constexpr int kWords = 4;                                     \
    static constexpr bool kHalf = true, kGroup = false;                  \
    __device__ static void Run(uint32_t (&d)[2], const uint32_t (&a)[4], \
                               const uint32_t (&b)[2]) {                 \
      asm volatile(PTX " {%0,%1}, {%2,%3}, {%4}, {%0,%1};"               \
                   : "+r"(d[0]), "+r"(d[1])                              \
                   : "r"(a[0]), "r"(a[1]), "r"(b[0]));                   \
    }                                                                    \
  };
// The predicate is true, so that the accumulator takes part. TAIL: both signs
// are kept, and of 16-bit types B has k side by side.
#define WGMMA_F32(NAME, PTX, TAIL)                                        \
  struct NAME {                                                           \
    static constexpr int kWords = 8;                                      \
    static constexpr bool kHalf = false, kGroup = true;                   \
    __device__ static void Run(float (&d)[4], const uint32_t (&a)[4],     \
                               uint64_t b) {                              \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n" PTX           \
                   " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, p, " TAIL "; }"    \
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])       \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)); \
    }                                                                     \
  };
#define WGMMA_F16(NAME, PTX, TAIL)                                        \
  struct NAME {                                                           \
    static constexpr int kWords = 8;                                      \
    static constexpr bool kHalf = true, kGroup = true;                    \
    __device__ static void Run(uint32_t (&d)[2], const uint32_t (&a)[4],  \
                               uint64_t b) {                              \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n" PTX           \
                   " {%0,%1}, {%2,%3,%4,%5}, %6, p, " TAIL "; }"          \
                   : "+r"(d[0]), "+r"(d[1])                               \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)); \
    }                                                                     \
  };

#define ROW "mma.sync.aligned.m16n8"
#define GROUP "wgmma.mma_async.sync.aligned.m64n8"
#if LOCKSTEP_CC >= 75
MMA_F32_SHORT(F16MmaK8, ROW "k8.row.col.f32.f16.f16.f32")
MMA_F16_SHORT(F16ToF16MmaK8, ROW "k8.row.col.f16.f16.f16.f16")
#endif
#if LOCKSTEP_CC >= 80
MMA_F32(F16MmaK16, ROW "k16.row.col.f32.f16.f16.f32")
MMA_F16(F16ToF16MmaK16, ROW "k16.row.col.f16.f16.f16.f16")
MMA_F32_SHORT(Bf16MmaK8, ROW "k8.row.col.f32.bf16.bf16.f32")
MMA_F32(Bf16MmaK16, ROW "k16.row.col.f32.bf16.bf16.f32")
MMA_F32_SHORT(Tf32MmaK4, ROW "k4.row.col.f32.tf32.tf32.f32")
MMA_F32(Tf32MmaK8, ROW "k8.row.col.f32.tf32.tf32.f32")
#endif
#if LOCKSTEP_CC >= 89
MMA_F32(E4m3MmaK32, ROW "k32.row.col.f32.e4m3.e4m3.f32")
MMA_F16(E4m3ToF16MmaK32, ROW "k32.row.col.f16.e4m3.e4m3.f16")
MMA_F32(E5m2MmaK32, ROW "k32.row.col.f32.e5m2.e5m2.f32")
MMA_F16(E5m2ToF16MmaK32, ROW "k32.row.col.f16.e5m2.e5m2.f16")
#endif
#if LOCKSTEP_CC == 90
WGMMA_F32(Bf16WgmmaK16, GROUP "k16.f32.bf16.bf16", "1, 1, 0")
WGMMA_F32(F16WgmmaK16, GROUP "k16.f32.f16.f16", "1, 1, 0")
WGMMA_F16(F16ToF16WgmmaK16, GROUP "k16.f16.f16.f16", "1, 1, 0")
WGMMA_F32(Tf32WgmmaK8, GROUP "k8.f32.tf32.tf32", "1, 1")
WGMMA_F32(E4m3WgmmaK32, GROUP "k32.f32.e4m3.e4m3", "1, 1")
WGMMA_F16(E4m3ToF16WgmmaK32, GROUP "k32.f16.e4m3.e4m3", "1, 1")
WGMMA_F32(E5m2WgmmaK32, GROUP "k32.f32.e5m2.e5m2", "1, 1")
WGMMA_F16(E5m2ToF16WgmmaK32, GROUP "k32.f16.e5m2.e5m2", "1, 1")
#endif

template <bool kHalf>
struct Accumulator;  // a warp's 16 rows: of each thread rows g and g + 8,
                     // columns 2t, 2t + 1

// Pin: the compiler moves no copy of the registers past this place, which it
// might while a wgmma is still under way.
template <>
struct Accumulator<false> {
  static constexpr int kRowWords = kColumns;
  float d[4];
  __device__ void Load(const uint32_t* c, int row, int t) {
    for (int i = 0; i < 4; ++i)
      d[i] = __uint_as_float(c[(row + i / 2 * 8) * kRowWords + 2 * t + i % 2]);
  }
  __device__ void Pin() {
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(d[i])::"memory");
  }
  __device__ void Store(uint32_t* out, int row, int t) const {
    for (int i = 0; i < 4; ++i)
      out[(row + i / 2 * 8) * kRowWords + 2 * t + i % 2] =
          __float_as_uint(d[i]);
  }
};

template <>
struct Accumulator<true> {
  static constexpr int kRowWords = kColumns / 2;
  uint32_t d[2];
  __device__ void Load(const uint32_t* c, int row, int t) {
    for (int i = 0; i < 2; ++i) d[i] = c[(row + i * 8) * kRowWords + t];
  }
  __device__ void Pin() {
    for (int i = 0; i < 2; ++i) asm volatile("" : "+r"(d[i])::"memory");
  }
  __device__ void Store(uint32_t* out, int row, int t) const {
    for (int i = 0; i < 2; ++i) out[(row + i * 8) * kRowWords + t] = d[i];
  }
};

#if LOCKSTEP_CC == 90
// B as wgmma reads it without swizzling: 8 columns of 16 bytes of k are 128
// bytes side by side, and the next 16 bytes of k follow. Both distances of the
// descriptor are 128, and only that along k is used, because 8 columns are one
// such matrix.
template <class I, int kSteps>
__device__ void RunGroup(Accumulator<I::kHalf>& sum,
                         const uint32_t (&x)[kSteps][4], const uint32_t* b) {
  constexpr int kRow = I::kWords * kSteps;
  __shared__ alignas(128) uint32_t shared[kColumns * kRow];
  for (int i = threadIdx.x; i < kColumns * kRow; i += blockDim.x) {
    const int n = i / kRow, w = i % kRow;
    shared[w / 4 * 32 + n * 4 + w % 4] = b[i];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint64_t at = __cvta_generic_to_shared(shared);
  sum.Pin();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    const uint64_t start = (at + s * 256) & 0x3FFFF;
    I::Run(sum.d, x[s], start >> 4 | uint64_t{8} << 16 | uint64_t{8} << 32);
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  sum.Pin();
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
    for (int i = 0; i < 4; ++i) asm volatile("" ::"r"(x[s][i]) : "memory");
}
#endif

// One tile a block of 128 threads: four warps of 16 rows.
template <class I, int kSteps>
__global__ void Chain(const uint32_t* a, const uint32_t* b, const uint32_t* c,
                      uint32_t* out) {
  constexpr int kRow = I::kWords * kSteps;
  constexpr int kOut = kRows * Accumulator<I::kHalf>::kRowWords;
  a += blockIdx.x * kRows * kRow;
  b += blockIdx.x * kColumns * kRow;
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int row = threadIdx.x / 32 * 16 + g;
  Accumulator<I::kHalf> sum;
  sum.Load(c + blockIdx.x * kOut, row, t);
  uint32_t x[kSteps][4];
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x[s][i] =
          i / 2 * 4 < I::kWords
              ? a[(row + i % 2 * 8) * kRow + s * I::kWords + i / 2 * 4 + t]
              : 0;
  if constexpr (I::kGroup) {
#if LOCKSTEP_CC == 90
    RunGroup<I, kSteps>(sum, x, b);
#endif
  } else {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const uint32_t* at = b + g * kRow + s * I::kWords + t;
      const uint32_t y[2] = {at[0], I::kWords == 8 ? at[4] : 0};
      I::Run(sum.d, x[s], y);
    }
  }
  sum.Store(out + blockIdx.x * kOut, row, t);
}

bool ReadWords(std::vector<uint32_t>& words) {
  return std::fread(words.data(), 4, words.size(), stdin) == words.size();
}

uint32_t* OnDevice(const std::vector<uint32_t>& words) {
  uint32_t* at = nullptr;
  Check(cudaMalloc(&at, words.size() * 4), "cudaMalloc");
  Check(cudaMemcpy(at, words.data(), words.size() * 4, cudaMemcpyHostToDevice),
        "copy to the device");
  return at;
}

template <class I, int kSteps>
void RunTiles(int tiles) {
  constexpr int kRow = I::kWords * kSteps;
  constexpr int kOut = kRows * Accumulator<I::kHalf>::kRowWords;
  std::vector<uint32_t> a(tiles * kRows * kRow), b(tiles * kColumns * kRow);
  std::vector<uint32_t> c(tiles * kOut), d(tiles * kOut, 0xDEADBEEF);
  if (!ReadWords(a) || !ReadWords(b) || !ReadWords(c)) {
    std::fprintf(stderr, "stdin ends inside a block of tiles\n");
    std::exit(1);
  }
  uint32_t *on_a = OnDevice(a), *on_b = OnDevice(b), *on_c = OnDevice(c);
  uint32_t* on_d = OnDevice(d);
  Chain<I, kSteps><<<tiles, 128>>>(on_a, on_b, on_c, on_d);
  Check(cudaGetLastError(), "launch");
  Check(cudaDeviceSynchronize(), "run");
  Check(cudaMemcpy(d.data(), on_d, d.size() * 4, cudaMemcpyDeviceToHost),
        "copy from the device");
  for (uint32_t* at : {on_a, on_b, on_c, on_d}) Check(cudaFree(at), "cudaFree");
  std::fwrite(d.data(), 4, d.size(), stdout);
}

template <class I>
int RunAll() {
  uint32_t head[2];
  while (std::fread(head, 4, 2, stdin) == 2) {
    const int tiles = static_cast<int>(head[1]);
    switch (head[0]) {
      case 1:
        RunTiles<I, 1>(tiles);
        break;
      case 2:
        RunTiles<I, 2>(tiles);
        break;
      case 4:
        RunTiles<I, 4>(tiles);
        break;
      case 8:
        RunTiles<I, 8>(tiles);
        break;
      case 16:
        RunTiles<I, 16>(tiles);
        break;
      default:
        std::fprintf(stderr,
                     "%u instructions in a chain: want 1, 2, 4, 8, 16\n",
                     head[0]);
        return 1;
    }
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

int PrintGpu() {
  cudaDeviceProp gpu;
  int driver = 0, runtime = 0;
  Check(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
  Check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  Check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  std::printf("%s\t%d.%d\t%d\t%d\n", gpu.name, gpu.major, gpu.minor, driver,
              runtime);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc == 2 ? argv[1] : "";
  if (std::strcmp(name, "gpu") == 0) return PrintGpu();
#define INSTRUCTION(NAME) \
  if (std::strcmp(name, #NAME) == 0) return RunAll<NAME>();
#if LOCKSTEP_CC >= 75
  INSTRUCTION(F16MmaK8)
  INSTRUCTION(F16ToF16MmaK8)
#endif
#if LOCKSTEP_CC >= 80
  INSTRUCTION(F16MmaK16)
  INSTRUCTION(F16ToF16MmaK16)
  INSTRUCTION(Bf16MmaK8)
  INSTRUCTION(Bf16MmaK16)
  INSTRUCTION(Tf32MmaK4)
  INSTRUCTION(Tf32MmaK8)
#endif
#if LOCKSTEP_CC >= 89
  INSTRUCTION(E4m3MmaK32)
  INSTRUCTION(E4m3ToF16MmaK32)
  INSTRUCTION(E5m2MmaK32)
  INSTRUCTION(E5m2ToF16MmaK32)
#endif
#if LOCKSTEP_CC == 90
  INSTRUCTION(Bf16WgmmaK16)
  INSTRUCTION(F16WgmmaK16)
  INSTRUCTION(F16ToF16WgmmaK16)
  INSTRUCTION(Tf32WgmmaK8)
  INSTRUCTION(E4m3WgmmaK32)
  INSTRUCTION(E4m3ToF16WgmmaK32)
  INSTRUCTION(E5m2WgmmaK32)
  INSTRUCTION(E5m2ToF16WgmmaK32)
#endif
  std::fprintf(stderr, "no instruction '%s' of compute capability %d.%d\n",
               name, LOCKSTEP_CC / 10, LOCKSTEP_CC % 10);
  return 2;
}
