// What the kernels of mamba3_scan_backward share: the job, the order of heads,
// the scratch of a worker. No arithmetic.
#ifndef LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_WORK_H_
#define LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_WORK_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "optimized/mamba3_work.h"
#include "reference/contract/mamba3_scan_backward.h"

namespace lockstep::optimized {

// Tokens whose states the way back makes at a time, a few n's of them: a second
// cache holds those. Blocks of 8 and of 4 stay nearer, and make more of the
// states a second time: 1 % and 3 % slower on AVX2.
inline constexpr int64_t kReverseBlock = 16;

// Sums of what a head has once, [r, n_pad] or [r, p_pad]: of a run in a
// worker's scratch, over the runs in the job.
struct HeadSums {
  float* bq;      // [r, n_pad]
  float* bk;      // [r, n_pad]
  float* psi;     // [r, p_pad]
  float* zeta;    // [r, p_pad]
  float* phi;     // [r, p_pad]
  float* weight;  // [p_pad]
  float* d;       // [p_pad]; over the runs its first element

  static int64_t Size(const Mamba3Scratch& s) {
    return 2 * s.k_stride + 3 * s.x_stride + 2 * s.p_pad;
  }
  // What AddRun adds element by element: all but d.
  static int64_t Plain(const Mamba3Scratch& s) { return Size(s) - s.p_pad; }
  static HeadSums At(float* memory, const Mamba3Scratch& s) {
    HeadSums sums;
    sums.bq = memory;
    sums.bk = sums.bq + s.k_stride;
    sums.psi = sums.bk + s.k_stride;
    sums.zeta = sums.psi + s.x_stride;
    sums.phi = sums.zeta + s.x_stride;
    sums.weight = sums.phi + s.x_stride;
    sums.d = sums.weight + s.p_pad;
    return sums;
  }
};

// dq and dk are chains over the heads of a group, the sums of a head chains
// over the runs. A head of a run adds its part after the head before it, or
// the run before, has: each says how far it is. Tasks are taken in ascending
// order, run by run, so that the one waited for is always at work.
class HeadOrder {
 public:
  HeadOrder(int64_t tasks, int64_t heads)
      : tokens_(static_cast<size_t>(tasks)),
        runs_(static_cast<size_t>(heads)) {}

  // Until `task` has added its last `count` tokens.
  void WaitForTokens(int64_t task, int64_t count) {
    WaitFor(tokens_[static_cast<size_t>(task)], count);
  }
  void PublishTokens(int64_t task, int64_t count) {
    Publish(tokens_[static_cast<size_t>(task)], count);
  }
  // Until `count` runs of the head have added their sums.
  void WaitForRuns(int64_t head, int64_t count) {
    WaitFor(runs_[static_cast<size_t>(head)], count);
  }
  void PublishRuns(int64_t head, int64_t count) {
    Publish(runs_[static_cast<size_t>(head)], count);
  }

 private:
  static void WaitFor(const std::atomic<int64_t>& done, int64_t count) {
    for (;;) {
      const int64_t seen = done.load(std::memory_order_acquire);
      if (seen >= count) return;
      done.wait(seen, std::memory_order_acquire);
    }
  }
  static void Publish(std::atomic<int64_t>& done, int64_t count) {
    done.store(count, std::memory_order_release);
    done.notify_all();
  }

  std::vector<std::atomic<int64_t>> tokens_;
  std::vector<std::atomic<int64_t>> runs_;
};

struct ReverseJob {
  const Mamba3ScanBackwardProblem* problem = nullptr;
  const Mamba3ScanBackwardInputs* inputs = nullptr;
  const Mamba3ScanBackwardOutputs* outputs = nullptr;
  Mamba3Job forward;
  int64_t checkpoint = 0;
  float* dq = nullptr;      // [b, t, r, g, row]
  float* dk = nullptr;      // [b, t, r, g, row]
  float* totals = nullptr;  // [h, HeadSums::Size]
  HeadOrder* order = nullptr;

  // The n's of a row in whole tiles of at most 16 lanes a vector.
  int64_t row() const {
    const int64_t tile = kChannelVectors * 16;
    return (forward.problem->state_dim + tile - 1) / tile * tile;
  }
  // Where a group's row of a token lies in dq and dk.
  int64_t RowOf(int64_t b, int64_t t, int64_t r, int64_t group) const {
    const Mamba3ScanProblem& p = *forward.problem;
    return (((b * p.length + t) * p.ranks + r) * p.groups + group) * row();
  }
};

// A head's walk: a piece is the tokens from one checkpoint to the next. Slot 0
// of what has one slot more is the token before the piece.
struct ReverseScratch {
  ReverseScratch(const ReverseJob& job, int64_t longest)
      : head(*job.forward.problem),
        row(job.row()),
        tokens(std::min(job.checkpoint, std::max<int64_t>(longest, 1))) {
    const Mamba3ScanProblem& p = *job.forward.problem;
    const int64_t n = head.k_stride;
    const int64_t x = head.x_stride;
    const int64_t pieces =
        std::max<int64_t>((longest + job.checkpoint - 1) / job.checkpoint, 1);
    const int64_t state = p.head_dim * row;
    const int64_t blocks = (tokens + kReverseBlock - 1) / kReverseBlock;
    kept_size = state + n + x + head.p_pad + head.a_stride;
    const std::pair<float**, int64_t> rows[] = {
        {&kept, pieces * kept_size},
        {&q, tokens * n},
        {&k, (tokens + 1) * n},
        {&now, tokens * n},
        {&later, tokens * n},
        {&x_rows, (tokens + 1) * x},
        {&v, (tokens + 1) * head.p_pad},
        {&o, tokens * x},
        {&sine, tokens * head.a_stride},
        {&cosine, tokens * head.a_stride},
        {&dt, tokens},
        {&alpha, tokens},
        {&gamma, tokens},
        {&beta, tokens},
        {&lambda, tokens},
        {&before_blocks, (blocks - 1) * state},
        {&columns, kReverseBlock * p.head_dim * kChannelVectors * 16},
        {&m, p.state_dim * head.p_pad},
        {&mt, p.head_dim * row},
        {&d_o, kReverseBlock * x},
        {&normal, x},
        {&of_x, kReverseBlock * x},
        {&of_x_before, kReverseBlock * x},
        {&of_k, kReverseBlock * n},
        {&of_k_before, kReverseBlock * n},
        {&d_q, kReverseBlock * n},
        {&d_k, n},
        {&of_state, kReverseBlock * head.n_pad},
        {&turned_q, tokens * n},
        {&turned_k, tokens * n},
        {&carry_k, n},
        {&carry_v, head.p_pad},
        {&theta, head.a_stride},
        {&rate, head.a_stride},
        {&d_a, tokens},
        {&d_dt, tokens},
        {&d_tau, tokens},
        {&d_v, head.p_pad},
        {&d_z, head.p_pad},
        {&dy, head.p_pad},
        {&z, head.p_pad},
        {&psi, x},
        {&zeta, x},
        {&phi, x},
        {&weight, head.p_pad},
        {&sum_memory, HeadSums::Size(head)}};
    int64_t total = 0;
    for (const auto& entry : rows) total += Mamba3Scratch::Pad(entry.second);
    memory = hwy::AllocateAligned<float>(static_cast<size_t>(total));
    float* next = memory.get();
    std::fill_n(next, total, 0.0f);
    for (const auto& [to, size] : rows) {
      *to = next;
      next += Mamba3Scratch::Pad(size);
    }
    sums = HeadSums::At(sum_memory, head);
  }

  Mamba3Scratch head;  // the forward pass of a block of tokens
  int64_t row, tokens, kept_size;
  hwy::AlignedFreeUniquePtr<float[]> memory;
  float* kept;    // [piece]: h, k, x, v and theta before it
  float* q;       // [token, r, n_pad] rotated
  float* k;       // [1 + token, r, n_pad] rotated
  float* now;     // [token, r, n_pad] gamma k
  float* later;   // [token, r, n_pad] beta k of the token before
  float* x_rows;  // [1 + token, r, p_pad]
  float* v;       // [1 + token, p_pad] MIMO
  float* o;       // [token, r, p_pad] where something follows it
  float* sine;    // [token, a_stride]
  float* cosine;  // [token, a_stride]
  float* dt;      // [token], and its weights
  float* alpha;
  float* gamma;
  float* beta;
  float* lambda;
  float* before_piece;   // [row / width, p, width] of tiles: a state
  float* before_blocks;  // [block - 1, row / width, p, width] states
  float* columns;        // [token of a block, p, width] states, a few n's
  float* m;              // [p_pad / width, n, width] cotangent of the state
  float* mt;             // [row / width, p, width] the same
  float* d_o;            // [token of a block, r, p_pad]
  float* normal;         // [r, p_pad] o i of the norm
  float* of_x;           // [token of a block, r, p_pad] M k
  float* of_x_before;    // [token of a block, r, p_pad] M k'
  float* of_k;           // [token of a block, r, n_pad] M x
  float* of_k_before;    // [token of a block, r, n_pad] M x'
  float* d_q;            // [token of a block, r, n_pad] of the rotated q
  float* d_k;            // [r, n_pad] of the rotated k
  float* of_state;       // [token of a block, n_pad] M h'
  float* turned_q;       // [token, r, n_pad]
  float* turned_k;       // [token, r, n_pad]
  float* carry_k;        // [r, n_pad] cotangents that pass from token to token
  float* carry_v;        // [p_pad]
  float* theta;          // [s] per turn
  float* rate;           // [s] tanh(vartheta)
  float* d_a;            // [token]
  float* d_dt;
  float* d_tau;
  float* d_v;     // [p_pad]
  float* d_z;     // [p_pad]
  float* dy;      // [p_pad]
  float* z;       // [p_pad]
  float* psi;     // [r, p_pad] of the head
  float* zeta;    // [r, p_pad]
  float* phi;     // [r, p_pad]
  float* weight;  // [p_pad]
  float* sum_memory;
  HeadSums sums;  // of the run
  // What M lacks yet where token `j` of a block comes: alpha of the token
  // after.
  float decay[kReverseBlock] = {};
  float decay_behind = 1.0f;  // the same, behind the block
};

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_MAMBA3_REVERSE_WORK_H_
