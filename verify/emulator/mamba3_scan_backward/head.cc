#include "verify/emulator/mamba3_scan_backward/head.h"

#include <algorithm>
#include <utility>

#include "verify/emulator/mamba3_scan/elements.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

using F = ScanGradFault;

Floats Column(const FloatRows& rows, size_t c) {
  Floats column;
  for (const Floats& row : rows) column.push_back(row[c]);
  return column;
}

FloatRows Zeros(int64_t rows, int64_t columns) {
  return FloatRows(Z(rows), Floats(Z(columns)));
}

}  // namespace

GradHead::GradHead(const Mamba3ScanBackwardProblem& problem,
                   const Mamba3ScanBackwardInputs& inputs,
                   const ScanGradVariant& variant, ScanGradFault fault,
                   std::vector<RowRun> runs, int64_t row, int64_t head)
    : problem_(problem),
      p_(problem.forward),
      in_(inputs),
      variant_(variant),
      fault_(fault),
      row_(problem.forward, inputs.forward, variant.scan, dial_,
           std::move(runs), row, head),
      b_(row),
      head_(head) {}

float GradHead::Alpha(int64_t t) const { return row_.math.Exp(row_.a[Z(t)]); }

// alpha (1 - lambda) dt.
float GradHead::Beta(int64_t t) const {
  if (Is(F::kThenDropped)) return 0;
  const float lambda = row_.lambda[Z(t)];
  const float share = Is(F::kThenByLambda) ? lambda : 1 - lambda;
  const float before = share * Cast(row_.dt[Z(t)], row_.math.sites().dt);
  return Is(F::kThenWithoutAlpha) ? before : Alpha(t) * before;
}

float GradHead::Add(float sum, float x) const {
  const float added = sum + x;
  if (Is(F::kF16Sums)) return RoundTo(added, NumberType::kF16);
  return Is(F::kSumsInBf16) ? RoundTo(added, NumberType::kBf16) : added;
}

float GradHead::Dot(const Floats& a, const Floats& b) const {
  return row_.math.Dot(a, b);
}

bool GradHead::ChunkStart(const RowRun& run, int64_t t) const {
  return t == run.first || row_.NewChunk(t);
}

CarryGradients GradHead::Given(const RowRun& run) const {
  CarryGradients carry = {
      Floats(Z(p_.angles)), Zeros(p_.state_dim, p_.head_dim),
      Zeros(p_.ranks, p_.state_dim), Floats(Z(p_.head_dim))};
  if (!problem_.carry_grad || Is(F::kDcarryIgnored)) return carry;
  const auto& from = in_.dcarry;
  const int64_t index = Is(F::kDcarryOfRun0) ? 0 : run.index;
  for (int64_t s = 0; s < p_.angles; ++s) {
    carry.theta[Z(s)] = from.theta(index, head_, s);
  }
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    carry.v[Z(c)] = from.v(index, head_, c);
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      carry.h[Z(n)][Z(c)] = from.h(index, head_, c, n);
    }
  }
  for (int64_t r = 0; r < p_.ranks; ++r) {
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      carry.k[Z(r)][Z(n)] = from.k(index, r, head_, n);
    }
  }
  return carry;
}

// The forward recurrence.
void GradHead::Advance(int64_t t, RowState* state) const {
  const float alpha = Alpha(t);
  const float step = Cast(row_.dt[Z(t)], row_.math.sites().dt);
  const float gamma = row_.lambda[Z(t)] * step;
  const float beta = alpha * ((1 - row_.lambda[Z(t)]) * step);
  const FloatRows then = row_.UpProjected(state->v);
  for (size_t n = 0; n < state->h.size(); ++n) {
    Floats& h = state->h[n];
    for (float& x : h) x *= alpha;
    for (size_t r = 0; r < then.size(); ++r) {
      row_.math.AddScaled(beta * state->k[r][n], then[r], &h);
      row_.math.AddScaled(gamma * row_.k[Z(t)][r][n], row_.x[Z(t)][r], &h);
    }
  }
  state->k = row_.k[Z(t)];
  state->v = row_.v[Z(t)];
}

// What is behind tokens first - 1 .. end - 1.
std::vector<RowState> GradHead::Replay(const RowRun& run, int64_t first,
                                       int64_t end, RowState* state) const {
  if (Is(F::kStateFromZeros) && first > run.first) {
    for (Floats& row : state->h) row.assign(row.size(), 0.0f);
  }
  std::vector<RowState> states = {*state};
  for (int64_t t = first; t < end; ++t) {
    Advance(t, state);
    states.push_back(*state);
  }
  if (Is(F::kStateOfChunkStart)) {
    for (RowState& one : states) one.h = states[0].h;
  }
  return states;
}

// M of clause N19, from the cotangent behind the token: by the recurrence, or
// by the pairs of the chunk.
FloatRows GradHead::StateCotangent(const RowRun&, int64_t t,
                                   const FloatRows& behind) {
  FloatRows m = behind;
  const auto add = [&](int64_t s, float decay) {
    const FloatRows& d_o = d_o_[Z(s - chunk_first_)];
    const size_t ranks = Is(F::kRanksOfFirst) ? 1 : d_o.size();
    for (size_t r = 0; r < ranks; ++r) {
      for (size_t n = 0; n < m.size(); ++n) {
        const float q = Operand(decay * row_.q[Z(s)][r][n],
                                row_.math.sites().decayed, row_.math.sites());
        row_.math.AddScaled(q, d_o[r], &m[n]);
      }
    }
  };
  if (!variant_.pairs) {
    add(t, 1);
  } else {
    float sum = 0;
    for (int64_t s = t + 1; s < chunk_end_; ++s) sum += row_.a[Z(s)];
    const float all = row_.math.Exp(sum);
    for (size_t n = 0; n < m.size(); ++n) {
      for (size_t c = 0; c < m[n].size(); ++c) {
        m[n][c] = all * behind_chunk_[n][c];
      }
    }
    sum = 0;
    for (int64_t s = t; s < chunk_end_; ++s) {
      if (s > t) sum += row_.a[Z(s)];
      add(s, s > t ? row_.math.Exp(sum) : 1);
    }
  }
  if (Is(F::kStateInBf16) || Is(F::kF16State)) {
    const NumberType type =
        Is(F::kF16State) ? NumberType::kF16 : NumberType::kBf16;
    for (Floats& row : m) {
      for (float& x : row) x = RoundTo(x, type);
    }
  }
  return m;
}

void GradHead::Walk(const RowRun& run, CarryGradients* carry,
                    HeadGradients* all) {
  std::vector<int64_t> starts;
  std::vector<RowState> kept;
  RowState state = row_.Init(run);
  for (int64_t t = run.first; t < run.end; ++t) {
    if (ChunkStart(run, t)) {
      starts.push_back(t);
      kept.push_back(state);
    }
    Advance(t, &state);
  }
  WeightGradients& sums = all->weights.back();
  for (size_t n = starts.size(); n-- > 0;) {
    chunk_first_ = starts[n];
    chunk_end_ = n + 1 < starts.size() ? starts[n + 1] : run.end;
    const auto states = Replay(run, chunk_first_, chunk_end_, &kept[n]);
    if (Is(F::kChunksApart)) carry->h = Zeros(p_.state_dim, p_.head_dim);
    if (Is(F::kThenAtChunk)) {
      carry->k = Zeros(p_.ranks, p_.state_dim);
      carry->v.assign(carry->v.size(), 0.0f);
    }
    if (Is(F::kThetaAtChunk)) carry->theta.assign(carry->theta.size(), 0.0f);
    behind_chunk_ = carry->h;
    d_o_.assign(Z(chunk_end_ - chunk_first_), {});
    for (int64_t t = chunk_end_ - 1; t >= chunk_first_; --t) {
      const size_t i = Z(t - chunk_first_);
      TokenGradients& to = all->tokens[Z(t)];
      d_o_[i] = OutputStage(t, states[i + 1], &to, &sums);
      if (Is(F::kLastTokenDropped) && t + 1 == run.end) {
        d_o_[i] = Zeros(p_.ranks, p_.head_dim);
      }
      const FloatRows m = StateCotangent(run, t, carry->h);
      const RowState& before = states[Is(F::kStateAfter) ? i + 1 : i];
      RowState behind = states[i];
      behind.h = before.h;
      const Products made =
          Multiply(t, m, behind, states[i + 1], d_o_[i], carry);
      Scalars(t, made, m, behind, &to);
      Channels(t, made, behind, d_o_[i], carry, &to, &sums);
      Angles(t, made, carry, &to);
      to.q = TurnBack(t, made.q, false);
      to.k = TurnBack(t, made.k, true);
      for (size_t r = 0; r < to.q.size(); ++r) {
        for (size_t j = 0; j < to.q[r].size(); ++j) {
          sums.bq[r][j] = Add(sums.bq[r][j], to.q[r][j]);
          const float k = Is(F::kBiasOfQueries) ? to.q[r][j] : to.k[r][j];
          sums.bk[r][j] = Add(sums.bk[r][j], k);
        }
      }
      float alpha = Alpha(Is(F::kDecayOfPrevious) && t > run.first ? t - 1 : t);
      if (Is(F::kDecayTwice)) alpha *= alpha;
      if (Is(F::kDecayMissing)) alpha = 1;
      carry->h = m;
      for (Floats& row : carry->h) {
        for (float& x : row) x *= alpha;
      }
    }
  }
}

HeadGradients GradHead::Run() {
  HeadGradients all;
  all.tokens.resize(Z(p_.length));
  std::vector<CarryGradients> carries(row_.runs.size());
  std::vector<WeightGradients> weights(row_.runs.size());
  const CarryGradients* joined = nullptr;
  for (size_t n = row_.runs.size(); n-- > 0;) {
    const RowRun& run = row_.runs[n];
    CarryGradients carry = Given(run);
    if (Is(F::kRunsJoined) && joined != nullptr) carry = *joined;
    all.weights.push_back(
        {Zeros(p_.ranks, p_.state_dim), Zeros(p_.ranks, p_.state_dim),
         Zeros(p_.ranks, p_.head_dim), Zeros(p_.ranks, p_.head_dim),
         Zeros(p_.ranks, p_.head_dim), Floats(Z(p_.head_dim))});
    Walk(run, &carry, &all);
    weights[n] = std::move(all.weights.back());
    carries[n] = std::move(carry);
    joined = &carries[n];
  }
  all.weights = std::move(weights);
  all.carries = std::move(carries);
  return all;
}

// Step 3 of clause N19; `carry` has the parts of the next token's k.
GradHead::Products GradHead::Multiply(int64_t t, const FloatRows& m,
                                      const RowState& before,
                                      const RowState& after,
                                      const FloatRows& d_o,
                                      CarryGradients* carry) const {
  const ScanNumeric& sites = row_.math.sites();
  const auto read = [&](Floats x, NumberType type) {
    for (float& value : x) value = Operand(value, type, sites);
    return x;
  };
  const FloatRows then_x = row_.UpProjected(before.v);
  Products made = {Zeros(p_.ranks, p_.state_dim), Zeros(p_.ranks, p_.state_dim),
                   Zeros(p_.ranks, p_.head_dim), Zeros(p_.ranks, p_.head_dim)};
  const float gamma = row_.lambda[Z(t)] * Cast(row_.dt[Z(t)], sites.dt);
  for (size_t r = 0; r < made.q.size(); ++r) {
    Floats of_x, of_k;
    if (variant_.scores) {
      of_x = ByScores(t, row_.x[Z(t)][r], false);
      of_k = ByScores(t, row_.k[Z(t)][r], true);
    }
    for (size_t n = 0; n < m.size(); ++n) {
      const Floats of_m = read(m[n], sites.grad_state);
      made.q[r][n] = Dot(read(after.h[n], sites.state), d_o[r]);
      const float now = variant_.scores ? of_x[n] : Dot(of_m, row_.x[Z(t)][r]);
      made.k[r][n] =
          gamma * now + (Is(F::kKeyThenMissing) ? 0 : carry->k[r][n]);
      carry->k[r][n] = Beta(t) * Dot(of_m, then_x[r]);
    }
    for (size_t c = 0; c < made.x[r].size(); ++c) {
      const Floats of_m = read(Column(m, c), sites.grad_state);
      made.x[r][c] = variant_.scores ? of_k[c] : Dot(of_m, row_.k[Z(t)][r]);
      made.then[r][c] = Dot(of_m, before.k[r]);
    }
    if (Is(F::kStateTailDropped)) made.q[r].back() = made.k[r].back() = 0;
  }
  return made;
}

void GradHead::Channels(int64_t t, const Products& made, const RowState& before,
                        const FloatRows& d_o, CarryGradients* carry,
                        TokenGradients* to, WeightGradients* sums) const {
  const float gamma =
      row_.lambda[Z(t)] * Cast(row_.dt[Z(t)], row_.math.sites().dt);
  const float beta = Beta(t);
  Floats then_v(carry->v.size());
  to->v = carry->v;
  if (Is(F::kValueThenMissing)) to->v.assign(to->v.size(), 0.0f);
  for (size_t r = 0; r < d_o.size(); ++r) {
    for (size_t c = 0; c < then_v.size(); ++c) {
      float dx = gamma * made.x[r][c];
      if (p_.skip && !Is(F::kSkipMissing)) {
        dx = row_.math.MulAdd(row_.skip, d_o[r][c], dx);
      }
      const float then = beta * made.then[r][c];
      const float psi = p_.mimo() ? row_.psi[r][c] : 1;
      to->v[c] = row_.math.MulAdd(psi, dx, to->v[c]);
      then_v[c] = row_.math.MulAdd(psi, then, then_v[c]);
      sums->psi[r][c] = Add(sums->psi[r][c], dx * row_.v[Z(t)][c]);
      if (!Is(F::kPsiThenMissing)) {
        sums->psi[r][c] = Add(sums->psi[r][c], then * before.v[c]);
      }
      const float skip = d_o[r][c] * row_.x[Z(t)][r][c];
      const bool last = t + 1 == chunk_end_;
      if (!Is(F::kDdOfLastToken) || last) sums->d = Add(sums->d, skip);
    }
  }
  if (Is(F::kChannelTailDropped)) to->v.back() = 0;
  if (Is(F::kTokenTwice) && t == chunk_first_) {
    for (float& x : to->v) x *= 2;
  }
  carry->v = then_v;
}

void GradHead::Scalars(int64_t t, const Products& made, const FloatRows& m,
                       const RowState& before, TokenGradients* to) const {
  const FloatRows then_x = row_.UpProjected(before.v);
  float now = 0, then = 0, state = 0;
  for (size_t r = 0; r < made.x.size(); ++r) {
    now += Dot(row_.x[Z(t)][r], made.x[r]);
    then += Dot(then_x[r], made.then[r]);
  }
  for (size_t n = 0; n < m.size(); ++n) state += Dot(m[n], before.h[n]);
  const float alpha = Alpha(t);
  const float lambda = row_.lambda[Z(t)];
  const float rest = 1 - lambda;
  const float dt = Cast(row_.dt[Z(t)], row_.math.sites().dt);
  const float decayed = Is(F::kThenDropped) ? 0 : alpha * then;
  to->a = (Is(F::kDaWithoutAlpha) ? 1 : alpha) * state;
  if (!Is(F::kDaWithoutThen)) to->a += rest * dt * decayed;
  if (Is(F::kDaWithNow)) to->a += lambda * dt * now;
  const float change = Is(F::kDtauWithoutThen) ? now : now - decayed;
  float slope = lambda * rest;
  if (Is(F::kDtauSlopeMissing)) slope = 1;
  if (Is(F::kDtauByLambda)) slope = lambda;
  to->tau = (Is(F::kDtauWithoutDt) ? 1 : dt) * slope * change;
  to->dt = (Is(F::kDdtWithoutLambda) ? 1 : lambda) * now;
  if (!Is(F::kDdtWithoutThen)) to->dt += rest * decayed;
}

}  // namespace lockstep::verify
