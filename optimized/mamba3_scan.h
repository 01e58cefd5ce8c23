// mamba3_scan, fast: lanes over the channels p, one head of one run at a time,
// threads over both; the same bits as reference/mamba3_scan.h on every target.
#ifndef LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_H_
#define LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_H_

#include <cstdint>
#include <string>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

enum class Mamba3Algorithm : uint8_t {
  kExact,    // the recurrence (N15): the reference's bits
  kChunked,  // matrices over chunks of tokens: bounded, faster; its own bits
};

// Tokens of a chunk: what kChunked takes if not told, and the most there may
// be.
inline constexpr int64_t kMamba3Chunk = 16;
inline constexpr int64_t kMamba3MaxChunk = 4096;

// What the caller insists on; empty or 0: the best there is.
struct Mamba3ScanCaps {
  std::string target;  // "AVX2", "AVX3", ...
  int threads = 0;     // > 0: at most so many
  // Used only on request.
  Mamba3Algorithm algorithm = Mamba3Algorithm::kExact;
  int64_t chunk = 0;  // kChunked: 1 .. kMamba3MaxChunk; 0: kMamba3Chunk
};

// What really ran.
struct Mamba3ScanExecution {
  std::string target;
  int threads = 0;
  Mamba3Algorithm algorithm = Mamba3Algorithm::kExact;
  int64_t chunk = 0;   // tokens of a chunk; 0: exact
  int64_t pieces = 0;  // parts of chunks between ends of runs, of all heads
};

// y and, on request, the carry of every run. A problem of length 1 with a carry
// is a step of decoding. Memory beside the tensors: one head's state and a few
// tokens, or a chunk, for each thread. `execution` may be null.
//
// Exact class (N15), or with kChunked a bounded one: the form and its error
// stand in docs/ops/mamba3_scan.md. Here, too, each element is one chain, so
// its bits are equal on every target and for any number of threads. They depend
// on the chunk, and on where a run lies on the row's grid of chunks. Errors:
// Validate(problem, inputs, outputs)'s; the target is unknown, or not supported
// by this CPU; a chunk that is out of range, or asked for without kChunked.
// Nothing is written then.
Status Mamba3Scan(const Mamba3ScanProblem& problem,
                  const Mamba3ScanInputs& inputs, const Mamba3ScanCaps& caps,
                  const Mamba3ScanOutputs& outputs,
                  Mamba3ScanExecution* execution);

// One token of every row, from carry to carry: a chain of steps has the bits of
// one scan. The carry may be updated in place. Errors: Mamba3Scan's, and
// ValidateStep's.
Status Mamba3Step(const Mamba3ScanProblem& problem,
                  const Mamba3ScanInputs& inputs, const Mamba3ScanCaps& caps,
                  const Mamba3ScanOutputs& outputs,
                  Mamba3ScanExecution* execution);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_MAMBA3_SCAN_H_
