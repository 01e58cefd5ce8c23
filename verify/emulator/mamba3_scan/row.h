// One head of one row of an emulated scan: what its tokens hold before any
// state, in one place per rounding site.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_ROW_H_
#define LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_ROW_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "verify/emulator/mamba3_scan/kernel.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {

using Floats = std::vector<float>;

// Rounding and functions of a variant.
class ScanArithmetic {
 public:
  ScanArithmetic(const ScanVariant& variant, const ScanDial& dial)
      : v_(variant), s_(*variant.numeric.scan), dial_(dial) {}

  const ScanNumeric& sites() const { return s_; }
  float Exp(float x) const;  // of a decay's logarithm
  float Tanh(float x) const;
  float Sigmoid(float x) const;
  // sin and cos of an angle in turns or radians, as the variant keeps it.
  void SinCos(float angle, float* sine, float* cosine) const;
  // acc + a b.
  float MulAdd(float a, float b, float acc) const;
  // acc + a b of each element.
  void AddScaled(float a, const Floats& b, Floats* acc) const;
  float Dot(const Floats& a, const Floats& b) const;
  float Output(float x, Lane lane) const;
  // An element of q, k, v or z, and one of a state that is carried on.
  float Input(float x) const;
  float KeptState(float x) const;
  // x where a fault keeps it in f16.
  float HalfBy(ScanFault fault, float x) const {
    return dial_.Is(fault) ? RoundTo(x, NumberType::kF16) : x;
  }

 private:
  const ScanVariant& v_;
  const ScanNumeric& s_;
  const ScanDial& dial_;
};

// A run inside the row.
struct RowRun {
  int64_t first = 0;
  int64_t end = 0;
  int64_t index = 0;  // of its carry
  int32_t id = 0;
};

// The runs of one row. `next`: the index of the first one's carry, then that
// behind the last one.
std::vector<RowRun> RunsOf(const Mamba3ScanProblem& p,
                           const Mamba3ScanInputs& in, int64_t row,
                           int64_t* next, const ScanDial& dial = {});

struct RowState {
  Floats theta;           // as the variant keeps it
  std::vector<Floats> h;  // [n][p]
  std::vector<Floats> k;  // [r][n]
  Floats v;
};

class ScanRow {
 public:
  ScanRow(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
          const ScanVariant& variant, const ScanDial& dial,
          std::vector<RowRun> runs, int64_t row, int64_t head);

  const Mamba3ScanProblem& p;
  const ScanDial& dial;
  ScanArithmetic math;
  std::vector<RowRun> runs;

  // Per token.
  Floats a, dt, lambda, gamma, ahead, s;     // ahead: look-ahead weight
  std::vector<int64_t> run_of;               // place in `runs`
  std::vector<Floats> theta;                 // [t][angle], exported form
  std::vector<std::vector<Floats>> q, k;     // [t][r][n] rotated
  std::vector<std::vector<Floats>> xi, kap;  // biased only
  std::vector<std::vector<Floats>> x;        // [t][r][p]
  std::vector<Floats> v, z;                  // [t][p]
  std::vector<Floats> psi, zeta, phi;        // [r][p]
  Floats norm_weight;
  float skip = 0;

  const ScanVariant& variant() const { return variant_; }
  int64_t chunk_of(int64_t t) const;
  // Whether a chunk begins at t > 0.
  bool NewChunk(int64_t t) const;
  bool First(int64_t t) const {
    return runs[static_cast<size_t>(run_of[static_cast<size_t>(t)])].first == t;
  }
  // The carry a run starts from; zeros without one.
  RowState Init(const RowRun& run) const;
  // (h + (1 - lambda) dt U) at token t: the pre-charged state of its run.
  std::vector<Floats> Precharged(const RowRun& run, int64_t t) const;
  // y of token t, [output rank][p], from o [r][p].
  std::vector<Floats> Finish(int64_t t, std::vector<Floats> o) const;
  // What a run without tokens exports.
  RowState Untouched(const RowRun& run) const;
  float ThetaInTurns(float angle) const;
  // `wrong_pairs`: in those of the other variant.
  Floats Rotate(const Floats& x, const Floats& angles, bool wrong_pairs) const;
  std::vector<Floats> UpProjected(const Floats& v) const;

 private:
  void LoadWeights();
  void LoadToken(int64_t t);
  void LoadTimes();
  void Look();
  void TurnAngles();
  void RotateTokens();
  float Scale(const Floats& o) const;
  Floats Gates(int64_t t, size_t r) const;
  float BiasOf(const TensorView<const float, 3>& bias, int64_t r,
               int64_t n) const;

  const Mamba3ScanInputs& in_;
  const ScanVariant& variant_;
  int64_t row_;
  int64_t head_;
  std::vector<Floats> rate_;  // [t][angle] before tanh
};

// The two forms: y [t][output rank][p], and the state of every run.
struct ScanRowResult {
  std::vector<std::vector<Floats>> y;
  std::vector<RowState> carry;
};
ScanRowResult ScanByChunks(const ScanRow& row, int64_t chunk);
ScanRowResult ScanByTokens(const ScanRow& row);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_ROW_H_
