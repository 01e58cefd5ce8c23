// The chunked form: within a chunk matrices, between chunks the pre-charged
// state, and a mask wherever a run begins (docs/ops/mamba3_scan.md, "Runs").
#include <algorithm>
#include <cstddef>
#include <utility>

#include "verify/emulator/mamba3_scan/elements.h"
#include "verify/emulator/mamba3_scan/row.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

using F = ScanFault;
using State = std::vector<Floats>;  // [n][p]

class Chunks {
 public:
  Chunks(const ScanRow& row, int64_t chunk)
      : row_(row), chunk_(chunk), math_(row.math), dial_(row.dial) {
    result_.y.resize(Z(row.p.length));
    result_.carry.resize(row.runs.size());
    carried_ = Zero();
  }

  ScanRowResult Run() {
    int64_t first = 0;
    for (int64_t t = 1; t <= row_.p.length; ++t) {
      if (t < row_.p.length && !row_.NewChunk(t)) continue;
      Chunk(first, t);
      first = t;
    }
    for (size_t i = 0; i < row_.runs.size(); ++i) {
      const RowRun& run = row_.runs[i];
      if (run.first == run.end) result_.carry[i] = row_.Untouched(run);
    }
    return std::move(result_);
  }

 private:
  State Zero() const {
    return State(Z(row_.p.state_dim), Floats(Z(row_.p.head_dim)));
  }
  int64_t RunOf(int64_t t) const { return row_.run_of[Z(t)]; }
  const RowRun& RunAt(int64_t t) const { return row_.runs[Z(RunOf(t))]; }
  // Whether two tokens belong together, as the masks see it.
  bool Together(int64_t s, int64_t t) const {
    if (dial_.Is(F::kIdsEqual)) return RunAt(s).id == RunAt(t).id;
    return RunOf(s) == RunOf(t);
  }

  void Chunk(int64_t first, int64_t end);
  float LogDecay(int64_t from, int64_t to) const;
  float Decay(int64_t from, int64_t to) const;
  bool Continues(int64_t t) const;
  void AddInter(int64_t t, std::vector<Floats>* o) const;
  void AddIntra(int64_t t, std::vector<Floats>* o) const;
  void AddMasked(int64_t t, std::vector<Floats>* o) const;
  void AddDiagonal(int64_t t, std::vector<Floats>* o) const;
  State After(int64_t last) const;
  void Export(int64_t t);
  float Weighted(const Floats& k, size_t n, float weight) const {
    return Operand(k[n] * weight, math_.sites().scaled, math_.sites());
  }

  const ScanRow& row_;
  int64_t chunk_;
  const ScanArithmetic& math_;
  const ScanDial& dial_;
  ScanRowResult result_;
  State carried_;      // pre-charged, before the chunk
  int64_t first_ = 0;  // of the chunk
  int64_t end_ = 0;
  float before_ = 1;  // decay over the chunk before
  Floats sums_;       // inclusive sums of a since the chunk's start
};

// Sum of a over (from, to]; from = first - 1: from the chunk's start.
float Chunks::LogDecay(int64_t from, int64_t to) const {
  if (math_.sites().decay == DecayForm::kSegment) {
    float sum = 0;
    for (int64_t m = from + 1; m <= to; ++m) sum += row_.a[Z(m)];
    return sum;
  }
  const float before = from < first_ ? 0.0f : sums_[Z(from - first_)];
  return sums_[Z(to - first_)] - before;
}

float Chunks::Decay(int64_t from, int64_t to) const {
  if (dial_.Is(F::kRatioDecay)) {
    const float below =
        from < first_ ? 1.0f : math_.Exp(sums_[Z(from - first_)]);
    return math_.Exp(sums_[Z(to - first_)]) / below;
  }
  return math_.HalfBy(F::kF16Decays,
                      math_.Exp(std::min(LogDecay(from, to), 0.0f)));
}

// Whether the carried state reaches token t.
bool Chunks::Continues(int64_t t) const {
  if (first_ == 0) return false;
  if (dial_.Is(F::kResetByDecay)) return true;
  const bool edge = row_.First(first_);
  if (dial_.Is(F::kResetLostAtEdge) && edge && RunOf(t) == RunOf(first_)) {
    return true;
  }
  if (dial_.Is(F::kInterLeaksMidChunk) && !edge) return true;
  return Together(first_ - 1, t);
}

void Chunks::AddInter(int64_t t, std::vector<Floats>* o) const {
  const RowRun& run = RunAt(t);
  State state = carried_;
  int64_t from = first_ - 1;
  bool reached = Continues(t);
  if (run.first >= first_) {
    // The run begins in this chunk: its own carry, decayed from its start.
    const State init = row_.Precharged(run, run.first);
    if (!reached) state = Zero();
    from = run.first - 1;
    if (dial_.Is(F::kInitDecayFromChunk)) from = first_ - 1;
    for (size_t n = 0; n < state.size(); ++n) {
      for (size_t c = 0; c < state[n].size(); ++c) state[n][c] += init[n][c];
    }
    reached = true;
  }
  if (!reached) return;
  float decay = Decay(from, t);
  if (dial_.Is(F::kInterUndecayed)) decay = 1;
  if (dial_.Is(F::kInterExclusive)) {
    decay = t == first_ ? 1.0f : Decay(from, std::max(t - 1, from));
  }
  for (size_t r = 0; r < o->size(); ++r) {
    for (size_t c = 0; c < (*o)[r].size(); ++c) {
      Floats column(state.size());
      for (size_t n = 0; n < state.size(); ++n) {
        column[n] = Operand(state[n][c], math_.sites().state, math_.sites());
      }
      (*o)[r][c] += math_.Dot(row_.q[Z(t)][r], column) * decay;
    }
  }
}

void Chunks::AddIntra(int64_t t, std::vector<Floats>* o) const {
  const size_t ranks = o->size();
  const int64_t end = dial_.Is(F::kMaskFusedRows) ? t + 1 : t;
  for (size_t r = 0; r < ranks; ++r) {
    for (int64_t j = first_; j < end; ++j) {
      const bool visible = Together(j, t) || dial_.Is(F::kIntraIgnoresRuns) ||
                           dial_.Is(F::kResetByDecay);
      if (!visible && !dial_.Is(F::kMaskMultiplies)) continue;
      float decay = Decay(j, t);
      if (dial_.Is(F::kIntraInclusive)) decay *= math_.Exp(row_.a[Z(j)]);
      if (dial_.Is(F::kIntraUndecayed)) decay = 1;
      if (!visible) decay = 0;  // 0 times NaN stays NaN
      for (size_t from = 0; from < ranks; ++from) {
        // Rows of one token are no causal triangle.
        if (j == t && from >= r) continue;
        Floats key = row_.k[Z(j)][from];
        for (size_t n = 0; n < key.size(); ++n) {
          key[n] = Weighted(row_.k[Z(j)][from], n, row_.s[Z(j)]);
        }
        const int64_t chunk = row_.chunk_of(t);
        const bool stale = dial_.Is(F::kStaleOperand) && chunk >= 3;
        const Floats& q = row_.q[Z(stale ? t - chunk_ : t)][r];
        const float dot = math_.HalfBy(F::kF16Scores, math_.Dot(q, key));
        const float score =
            Operand(dot * decay, math_.sites().score, math_.sites());
        for (size_t c = 0; c < (*o)[r].size(); ++c) {
          (*o)[r][c] = math_.MulAdd(score, row_.x[Z(j)][from][c], (*o)[r][c]);
        }
      }
    }
  }
}

// The upper triangle of the run's part of the chunk, by a factor 0. One element
// at a time: of two NaN AddScaled may keep the other.
void Chunks::AddMasked(int64_t t, std::vector<Floats>* o) const {
  for (int64_t j = t + 1; j < end_ && RunOf(j) == RunOf(t); ++j) {
    for (size_t r = 0; r < o->size(); ++r) {
      for (size_t from = 0; from < o->size(); ++from) {
        Floats key = row_.k[Z(j)][from];
        for (size_t n = 0; n < key.size(); ++n) {
          key[n] = Weighted(row_.k[Z(j)][from], n, row_.s[Z(j)]);
        }
        const float score = math_.Dot(row_.q[Z(t)][r], key) * 0.0f;
        for (size_t c = 0; c < (*o)[r].size(); ++c) {
          (*o)[r][c] = math_.MulAdd(score, row_.x[Z(j)][from][c], (*o)[r][c]);
        }
      }
    }
  }
}

void Chunks::AddDiagonal(int64_t t, std::vector<Floats>* o) const {
  const ScanNumeric& sites = math_.sites();
  if (dial_.Is(F::kDiagonalMissing)) return;
  const float gamma =
      dial_.Is(F::kDiagonalUsesS) ? row_.s[Z(t)] : row_.gamma[Z(t)];
  const size_t ranks = o->size();
  for (size_t r = 0; r < ranks; ++r) {
    Floats sum((*o)[r].size());
    for (size_t from = 0; from < ranks; ++from) {
      if (dial_.Is(F::kDiagonalSameRank) && from != r) continue;
      const bool swap = dial_.Is(F::kDiagonalTransposed);
      float dot = math_.Dot(row_.xi[Z(t)][swap ? from : r],
                            row_.kap[Z(t)][swap ? r : from]);
      if (sites.diagonal_rel > 0x1p-20) dot = RoundToBits(dot, 11);
      dot = Cast(dot, sites.diagonal);
      for (size_t c = 0; c < sum.size(); ++c) {
        sum[c] = Cast(math_.MulAdd(dot, row_.x[Z(t)][from][c], sum[c]),
                      sites.diagonal);
      }
    }
    for (size_t c = 0; c < sum.size(); ++c) {
      float value = Cast(sum[c] * gamma, sites.diagonal);
      const bool lost = dial_.Is(F::kSkipLostAtEdge) && t + 1 < row_.p.length &&
                        row_.NewChunk(t + 1);
      if (row_.p.skip && !lost && !dial_.Is(F::kSkipAfterGate)) {
        const float x =
            dial_.Is(F::kSkipUsesV) ? row_.v[Z(t)][c] : row_.x[Z(t)][r][c];
        const float skip = dial_.Is(F::kSkipTwice) ? 2 * row_.skip : row_.skip;
        value = Cast(math_.MulAdd(skip, x, value), sites.diagonal);
      }
      (*o)[r][c] += value;
    }
  }
}

// The state behind token `last` of the chunk, as the next one carries it.
State Chunks::After(int64_t last) const {
  const RowRun& run = RunAt(last);
  const bool begins = run.first >= first_;
  State state = Zero();
  const bool keeps =
      first_ > 0 && !dial_.Is(F::kCarryReplaced) &&
      (Together(first_ - 1, last) || dial_.Is(F::kStateSurvivesReset) ||
       dial_.Is(F::kResetByDecay) ||
       (dial_.Is(F::kResetLostAtEdge) && row_.First(first_) &&
        RunOf(last) == RunOf(first_)));
  float all = dial_.Is(F::kCarryUndecayed) ? 1.0f : Decay(first_ - 1, last);
  if (dial_.Is(F::kDecayOfPreviousChunk)) all = before_;
  if (dial_.Is(F::kCarryLacksLast)) {
    all = last > first_ ? Decay(first_ - 1, last - 1) : 1.0f;
  }
  for (size_t n = 0; n < state.size() && keeps; ++n) {
    for (size_t c = 0; c < state[n].size(); ++c) {
      state[n][c] = carried_[n][c] * all;
    }
  }
  if (begins) {
    const State init = row_.Precharged(run, run.first);
    const int64_t from =
        dial_.Is(F::kInitDecayFromChunk) ? first_ - 1 : run.first - 1;
    const float decay = Decay(from, last);
    for (size_t n = 0; n < state.size(); ++n) {
      math_.AddScaled(decay, init[n], &state[n]);
    }
  }
  for (int64_t j = first_; j <= last; ++j) {
    const bool ragged = last - first_ + 1 < chunk_ && last + 1 == row_.p.length;
    if (ragged && dial_.Is(F::kRaggedChunkDropped)) break;
    if (j == last && dial_.Is(F::kTokenDropped)) break;
    if (j == first_ && dial_.Is(F::kUpdateLosesFirst)) continue;
    if (!Together(j, last) && !dial_.Is(F::kUpdateIgnoresRuns) &&
        !dial_.Is(F::kResetByDecay)) {
      continue;
    }
    float decay = Decay(j, last);
    if (dial_.Is(F::kUpdateInclusive)) decay *= math_.Exp(row_.a[Z(j)]);
    for (size_t r = 0; r < row_.x[Z(j)].size(); ++r) {
      for (size_t c = 0; c < state[0].size(); ++c) {
        const float x = Operand(row_.x[Z(j)][r][c] * decay,
                                math_.sites().decayed, math_.sites());
        for (size_t n = 0; n < state.size(); ++n) {
          state[n][c] = math_.MulAdd(Weighted(row_.k[Z(j)][r], n, row_.s[Z(j)]),
                                     x, state[n][c]);
        }
      }
    }
  }
  return state;
}

void Chunks::Export(int64_t t) {
  const RowRun& run = RunAt(t);
  RowState& carry = result_.carry[Z(RunOf(t))];
  const bool early =
      dial_.Is(F::kCarryTokenEarly) && t > std::max(first_, run.first);
  carry.h = After(early ? t - 1 : t);
  if (dial_.Is(F::kFinalDecayPadded)) {
    // The last chunk is as long as the others.
    const int64_t missing = (chunk_ - (run.end - run.first) % chunk_) % chunk_;
    const float decay = math_.Exp(static_cast<float>(missing) * row_.a[Z(t)]);
    for (Floats& one : carry.h) {
      for (float& x : one) x *= decay;
    }
  }
  const bool late = dial_.Is(F::kCarryThetaPrevious) && t > run.first;
  carry.theta = row_.theta[Z(late ? t - 1 : t)];
  carry.k = row_.k[Z(t)];
  if (dial_.Is(F::kCarryKeyUnrotated)) carry.k = row_.kap[Z(t)];
  for (Floats& k : carry.k) {
    for (float& x : k) {
      if (dial_.Is(F::kCarryKeyScaled)) x *= row_.s[Z(t)];
      x = Cast(x, math_.sites().carry_key);
    }
  }
  carry.v = row_.v[Z(dial_.Is(F::kCarryVOfPack) ? row_.p.length - 1 : t)];
}

void Chunks::Chunk(int64_t first, int64_t end) {
  first_ = first;
  end_ = end;
  sums_.clear();
  float sum = 0;
  for (int64_t t = first; t < end; ++t) {
    const bool reset = dial_.Is(F::kResetByDecay) && row_.First(t) && t > 0;
    sum += reset ? -1e4f : row_.a[Z(t)];
    sum = math_.HalfBy(F::kF16DecaySums, sum);
    sums_.push_back(sum);
  }
  for (int64_t t = first; t < end; ++t) {
    std::vector<Floats> o(Z(row_.p.ranks), Floats(Z(row_.p.head_dim)));
    AddInter(t, &o);
    AddIntra(t, &o);
    if (row_.variant().mask_multiplies) AddMasked(t, &o);
    AddDiagonal(t, &o);
    result_.y[Z(t)] = row_.Finish(t, std::move(o));
    if (RunAt(t).end == t + 1) Export(t);
  }
  const bool early = dial_.Is(F::kChunkEndsEarly) && end - first > 1;
  carried_ = After(early ? end - 2 : end - 1);
  before_ = Decay(first_ - 1, end - 1);
  if (dial_.Is(F::kChannelsExchanged)) {
    for (Floats& one : carried_) {
      if (one.size() > 1) std::swap(one[0], one[1]);
    }
  }
  for (Floats& one : carried_) {
    for (float& x : one) x = math_.KeptState(x);
  }
}

}  // namespace

ScanRowResult ScanByChunks(const ScanRow& row, int64_t chunk) {
  return Chunks(row, chunk).Run();
}

}  // namespace lockstep::verify
