// One head of one row of an emulated kernel of a scan's gradients.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_BACKWARD_HEAD_H_
#define LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_BACKWARD_HEAD_H_

#include <cstdint>
#include <vector>

#include "verify/emulator/mamba3_scan/row.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"

namespace lockstep::verify {

using FloatRows = std::vector<Floats>;

// Gradients of one token.
struct TokenGradients {
  FloatRows q, k;  // [r][n] turned back: the head's part
  Floats v, z, rate;
  float a = 0, dt = 0, tau = 0;
};

// Sums over the tokens of a run.
struct WeightGradients {
  FloatRows bq, bk;          // [r][n]
  FloatRows psi, zeta, phi;  // [r][p]
  Floats norm;               // [p]
  float d = 0;
};

// The cotangent of a carry, or the gradient of one.
struct CarryGradients {
  Floats theta;
  FloatRows h;  // [n][p]
  FloatRows k;  // [r][n]
  Floats v;
};

struct HeadGradients {
  std::vector<TokenGradients> tokens;    // of the row
  std::vector<WeightGradients> weights;  // of each run
  std::vector<CarryGradients> carries;   // of each run
};

class GradHead {
 public:
  GradHead(const Mamba3ScanBackwardProblem& problem,
           const Mamba3ScanBackwardInputs& inputs,
           const ScanGradVariant& variant, ScanGradFault fault,
           std::vector<RowRun> runs, int64_t row, int64_t head);
  HeadGradients Run();

 private:
  struct Now;
  // What a gate and a norm make of one rank.
  struct Output {
    Floats o, normed, value, gate, d_o;
  };
  struct Products {
    FloatRows q, k, x, then;
  };

  bool Is(ScanGradFault fault) const { return fault_ == fault; }
  CarryGradients Given(const RowRun& run) const;
  void Walk(const RowRun& run, CarryGradients* carry, HeadGradients* all);
  std::vector<RowState> Replay(const RowRun& run, int64_t first, int64_t end,
                               RowState* state) const;
  void Advance(int64_t t, RowState* state) const;
  FloatRows OutputStage(int64_t t, const RowState& state, TokenGradients* to,
                        WeightGradients* sums);
  void Normed(Output* rank, const Floats& d_value) const;
  // An element of dy.
  float Cotangent(int64_t t, int64_t r, int64_t c) const;
  FloatRows StateCotangent(const RowRun& run, int64_t t,
                           const FloatRows& behind);
  Products Multiply(int64_t t, const FloatRows& m, const RowState& before,
                    const RowState& after, const FloatRows& d_o,
                    CarryGradients* carry) const;
  Floats ByScores(int64_t t, const Floats& own, bool of_keys) const;
  void Channels(int64_t t, const Products& made, const RowState& before,
                const FloatRows& d_o, CarryGradients* carry, TokenGradients* to,
                WeightGradients* sums) const;
  void Scalars(int64_t t, const Products& made, const FloatRows& m,
               const RowState& before, TokenGradients* to) const;
  void Angles(int64_t t, const Products& made, CarryGradients* carry,
              TokenGradients* to) const;
  FloatRows TurnBack(int64_t t, const FloatRows& x, bool key) const;
  float Alpha(int64_t t) const;
  float Beta(int64_t t) const;
  float Add(float sum, float x) const;
  float Dot(const Floats& a, const Floats& b) const;
  bool ChunkStart(const RowRun& run, int64_t t) const;

  const Mamba3ScanBackwardProblem& problem_;
  const Mamba3ScanProblem& p_;
  const Mamba3ScanBackwardInputs& in_;
  const ScanGradVariant& variant_;
  ScanGradFault fault_;
  ScanDial dial_;
  ScanRow row_;
  int64_t b_, head_;
  std::vector<FloatRows> d_o_;  // of the chunk, by token, for sums over pairs
  FloatRows behind_chunk_;      // the cotangent behind its last token
  int64_t chunk_first_ = 0, chunk_end_ = 0;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_BACKWARD_HEAD_H_
