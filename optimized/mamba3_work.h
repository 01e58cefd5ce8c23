// What the kernels of mamba3_scan share: the job, a head's task, the scratch of
// a worker. No arithmetic.
#ifndef LOCKSTEP_OPTIMIZED_MAMBA3_WORK_H_
#define LOCKSTEP_OPTIMIZED_MAMBA3_WORK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "hwy/aligned_allocator.h"
#include "reference/contract/mamba3_scan.h"

namespace lockstep::optimized {

// Tokens whose scalar weights are computed together, in vectors over time.
inline constexpr int64_t kWeightBlock = 64;

// Tokens for which a tile of the state is kept in L1 before the next tile
// comes. The state of n = 128, p = 64 is 32 KiB, all of a common L1, and the
// rows of a block stand beside it: 6 KiB, and as much of the next one.
inline constexpr int64_t kTokenBlock = 4;

// Vectors of channels in a tile of the state: a cache line of AVX2.
inline constexpr int64_t kChannelVectors = 2;

struct Mamba3Job {
  const Mamba3ScanProblem* problem = nullptr;
  const Mamba3ScanInputs* inputs = nullptr;
  const Mamba3ScanOutputs* outputs = nullptr;
  int64_t chunk = 0;  // tokens of a chunk; 0: the recurrence
};

// One head of one run: tokens first .. end - 1 of a row.
struct Mamba3Task {
  int64_t run = 0;
  int64_t row = 0;
  int64_t first = 0;
  int64_t end = 0;
  int64_t head = 0;
};

// Rows of n and s are padded so that pairs of vectors may be read and written
// behind the end. Rows of p are padded to whole tiles of at most 16 lanes a
// vector.
struct Mamba3Scratch {
  explicit Mamba3Scratch(const Mamba3ScanProblem& p)
      : n_pad(Pad(p.state_dim)),
        p_pad((p.head_dim + 63) / 64 * 64),
        a_stride((p.angles + 15) / 16 * 16),
        k_stride(p.ranks * n_pad),
        x_stride(p.ranks * p_pad) {
    const int64_t block = kTokenBlock;
    const std::pair<float**, int64_t> rows[] = {{&h, p.state_dim * p_pad},
                                                {&q, block * k_stride},
                                                {&k, k_stride},
                                                {&now, block * k_stride},
                                                {&later, block * k_stride},
                                                {&x, (block + 1) * x_stride},
                                                {&o, block * x_stride},
                                                {&v, p_pad},
                                                {&z, p_pad},
                                                {&y, p_pad},
                                                {&row_q, n_pad},
                                                {&row_k, n_pad},
                                                {&theta, a_stride},
                                                {&sine, block * a_stride},
                                                {&cosine, block * a_stride},
                                                {&own, 2 * a_stride},
                                                {&cross, 2 * a_stride},
                                                {&bq, k_stride},
                                                {&bk, k_stride},
                                                {&dt, kWeightBlock},
                                                {&alpha, kWeightBlock},
                                                {&gamma, kWeightBlock},
                                                {&rest, kWeightBlock},
                                                {&beta, kWeightBlock}};
    int64_t total = 0;
    for (const auto& row : rows) total += Pad(row.second);
    memory = hwy::AllocateAligned<float>(static_cast<size_t>(total));
    float* next = memory.get();
    std::fill_n(next, total, 0.0f);
    for (const auto& [row, size] : rows) {
      *row = next;
      next += Pad(size);
    }
  }

  static int64_t Pad(int64_t count) { return (count + 47) / 16 * 16; }

  int64_t n_pad, p_pad, a_stride;
  int64_t k_stride, x_stride;  // from token to token
  hwy::AlignedFreeUniquePtr<float[]> memory;
  float* h;      // [p / width, n, width] state, width of a tile
  float* q;      // [token, r, n_pad] rotated
  float* k;      // [r, n_pad] rotated, of the last token
  float* now;    // [token, r, n_pad] gamma k
  float* later;  // [token, r, n_pad] beta k of the token before
  float* x;  // [1 + token, r, p_pad] psi v, the token before the block first
  float* o;  // [token, r, p_pad]
  float* v;  // [p_pad] of the last token
  float* z;  // [p_pad]
  float* y;  // [p_pad]
  float* row_q;   // [n_pad] a row of q
  float* row_k;   // [n_pad] a row of k
  float* theta;   // [s] turns
  float* sine;    // [token, a_stride]
  float* cosine;  // [token, a_stride]
  float* own;     // [2 s] of a token: cos, sin by turns
  float* cross;   // [2 s] of a token: -sin, cos by turns
  float* bq;      // [r, n_pad] biases of the head
  float* bk;      // [r, n_pad]
  float* dt;      // [kWeightBlock], and the weights of each token
  float* alpha;
  float* gamma;
  float* rest;  // (1 - lambda) dt
  float* beta;
};

// What the chunked form needs beside it. A row is a rank of a token of the
// piece, rank fastest; four rows behind the last may be read and written.
struct Mamba3ChunkScratch {
  Mamba3ChunkScratch(const Mamba3ScanProblem& p, int64_t chunk) : head(p) {
    const int64_t rows = chunk * p.ranks + 4;
    const std::pair<float**, int64_t> sizes[] = {
        {&q, rows * head.n_pad}, {&k, rows * head.n_pad},
        {&x, rows * head.p_pad}, {&o, rows * head.p_pad},
        {&score, rows},          {&since, rows},
        {&weight, rows},         {&look, rows},
        {&reach, rows},          {&dt, chunk + 1},
        {&alpha, chunk + 1},     {&gamma, chunk + 1},
        {&rest, chunk + 1}};
    int64_t total = 0;
    for (const auto& entry : sizes) total += Mamba3Scratch::Pad(entry.second);
    memory = hwy::AllocateAligned<float>(static_cast<size_t>(total));
    float* next = memory.get();
    std::fill_n(next, total, 0.0f);
    for (const auto& [to, size] : sizes) {
      *to = next;
      next += Mamba3Scratch::Pad(size);
    }
  }

  Mamba3Scratch head;
  hwy::AlignedFreeUniquePtr<float[]> memory;
  float* q;       // [row, n_pad] rotated; zeros behind n
  float* k;       // [row, n_pad] rotated, later weighed; zeros behind n
  float* x;       // [row, p_pad]
  float* o;       // [row, p_pad]
  float* score;   // [row] of one row: q k, then weighed
  float* since;   // [row] decay from after a row's token to the current one
  float* weight;  // [row] of the scores of the current token
  float* look;    // [row] gamma of the token and the rest of the next
  float* reach;   // [row] decay from before the piece to the row's token
  float* dt;      // [token] of the piece and of the next one
  float* alpha;
  float* gamma;
  float* rest;
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_MAMBA3_WORK_H_
