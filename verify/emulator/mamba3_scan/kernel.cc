// Token by token, and whole problems.
#include "verify/emulator/mamba3_scan/kernel.h"

#include <cstddef>
#include <utility>

#include "verify/emulator/mamba3_scan/elements.h"
#include "verify/emulator/mamba3_scan/row.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {

namespace {

// Whether two ids are one, as the kernel keeps them.
bool SameId(int32_t a, int32_t b, const ScanDial& dial) {
  if (dial.Is(ScanFault::kIdsAsF32)) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  if (dial.Is(ScanFault::kIdsAsShort)) {
    return static_cast<int16_t>(a) == static_cast<int16_t>(b);
  }
  return a == b;
}

}  // namespace

std::vector<RowRun> RunsOf(const Mamba3ScanProblem& p,
                           const Mamba3ScanInputs& in, int64_t row,
                           int64_t* next, const ScanDial& dial) {
  std::vector<RowRun> runs;
  const auto add = [&](int64_t first, int64_t end, int32_t id) {
    runs.push_back({first, end, (*next)++, id});
  };
  if (p.runs == Mamba3ScanProblem::Runs::kCuSeqlens) {
    for (size_t i = 1; i < in.cu_seqlens.size(); ++i) {
      add(in.cu_seqlens[i - 1], in.cu_seqlens[i], static_cast<int32_t>(i));
    }
    return runs;
  }
  int64_t first = 0;
  for (int64_t t = 1; t <= p.length; ++t) {
    const bool segments = p.runs == Mamba3ScanProblem::Runs::kSegments;
    const bool joined =
        t < p.length && (!segments || SameId(in.segments(row, t),
                                             in.segments(row, t - 1), dial));
    if (joined) continue;
    add(first, t, segments ? in.segments(row, first) : 0);
    first = t;
  }
  return runs;
}

namespace {

using F = ScanFault;

// One token: h = alpha h + beta x' k'^T + gamma x k^T.
void Advance(const ScanRow& row, int64_t t, RowState* state,
             std::vector<Floats>* o) {
  const ScanArithmetic& math = row.math;
  const ScanDial& dial = row.dial;
  const ScanNumeric& sites = math.sites();
  const float alpha = math.Exp(row.a[Z(t)]);
  const float step = Cast(row.dt[Z(t)], sites.dt);
  float gamma = row.lambda[Z(t)] * step;
  float beta = (1 - row.lambda[Z(t)]) * step;
  if (!dial.Is(F::kStepBetaWithoutAlpha)) beta *= alpha;
  if (dial.Is(F::kBetaDropped)) beta = 0;
  if (dial.Is(F::kStepGammaWithAlpha)) gamma *= alpha;
  std::vector<Floats> last_k = state->k;
  std::vector<Floats> last_x = row.UpProjected(state->v);
  if (dial.Is(F::kStepVAfterPsi)) {
    for (size_t r = 0; r < last_x.size() && row.p.mimo(); ++r) {
      for (size_t c = 0; c < last_x[r].size(); ++c) {
        last_x[r][c] *= row.psi[r][c];
      }
    }
  }
  if (dial.Is(F::kStepKeyRotatedAgain)) {
    for (Floats& k : last_k) k = row.Rotate(k, row.theta[Z(t)], false);
  }
  if (dial.Is(F::kStepAliased)) {
    last_k = row.k[Z(t)];
    last_x = row.x[Z(t)];
  }
  for (size_t n = 0; n < state->h.size(); ++n) {
    for (size_t c = 0; c < state->h[n].size(); ++c) {
      float h = alpha * state->h[n][c];
      for (size_t r = 0; r < last_x.size(); ++r) {
        const float then = Operand(beta * last_k[r][n], sites.scaled, sites);
        const float now =
            Operand(gamma * row.k[Z(t)][r][n], sites.scaled, sites);
        h = math.MulAdd(then, last_x[r][c], h);
        h = math.MulAdd(now, row.x[Z(t)][r][c], h);
      }
      state->h[n][c] = math.KeptState(h);
    }
  }
  for (size_t r = 0; r < o->size(); ++r) {
    for (size_t c = 0; c < (*o)[r].size(); ++c) {
      Floats column(state->h.size());
      for (size_t n = 0; n < column.size(); ++n) {
        column[n] = Operand(state->h[n][c], sites.state, sites);
      }
      const float x =
          dial.Is(F::kSkipUsesV) ? row.v[Z(t)][c] : row.x[Z(t)][r][c];
      (*o)[r][c] = math.Dot(row.q[Z(t)][r], column);
      if (row.p.skip && !dial.Is(F::kSkipAfterGate)) {
        (*o)[r][c] = math.MulAdd(row.skip, x, (*o)[r][c]);
      }
    }
  }
  state->k = dial.Is(F::kStepKeyBeforeBias) ? row.kap[Z(t)] : row.k[Z(t)];
  for (Floats& k : state->k) {
    for (float& x : k) x = Cast(x, sites.carry_key);
  }
  state->v = row.v[Z(t)];
  state->theta = row.theta[Z(t)];
}

// Where results go; faults of a handle and of stores.
struct Writer {
  const Mamba3ScanProblem& p;
  const ScanDial& dial;
  const ScanArithmetic& math;
  const Mamba3ScanOutputs& out;

  void Y(int64_t b, int64_t t, int64_t r, int64_t h, int64_t c,
         float value) const {
    if (dial.Is(F::kTokenUnwritten) && t + 1 == p.length) return;
    if (dial.Is(F::kZeros)) value = 0;
    value = math.Output(value, p.lane) + 0.0f;
    StoreRounded(out.y, value, b, t, r, h, c);
  }

  void Carry(const ScanRow& row, int64_t run, int64_t h,
             const RowState& state) const {
    const float keep = dial.Is(F::kZeros) ? 0.0f : 1.0f;
    for (int64_t s = 0; s < p.angles; ++s) {
      out.carry.theta(run, h, s) = keep * row.ThetaInTurns(state.theta[Z(s)]);
    }
    for (int64_t c = 0; c < p.head_dim; ++c) {
      for (int64_t n = 0; n < p.state_dim; ++n) {
        out.carry.h(run, h, c, n) = keep * state.h[Z(n)][Z(c)];
      }
    }
    if (out.carry.k.data == nullptr) return;
    for (int64_t c = 0; c < p.head_dim; ++c) {
      out.carry.v(run, h, c) = keep * state.v[Z(c)];
    }
    for (int64_t r = 0; r < p.ranks; ++r) {
      for (int64_t n = 0; n < p.state_dim; ++n) {
        out.carry.k(run, r, h, n) = keep * state.k[Z(r)][Z(n)];
      }
    }
  }
};

}  // namespace

ScanRowResult ScanByTokens(const ScanRow& row) {
  ScanRowResult result;
  result.y.resize(Z(row.p.length));
  for (const RowRun& run : row.runs) {
    RowState state = run.first == run.end ? row.Untouched(run) : row.Init(run);
    for (int64_t t = run.first; t < run.end; ++t) {
      std::vector<Floats> o(Z(row.p.ranks), Floats(Z(row.p.head_dim)));
      Advance(row, t, &state, &o);
      result.y[Z(t)] = row.Finish(t, std::move(o));
    }
    result.carry.push_back(std::move(state));
  }
  return result;
}

ScanEmulator::ScanEmulator(ScanVariant variant, ScanDial dial)
    : variant_(std::move(variant)), dial_(dial) {}

void ScanEmulator::Run(const Mamba3ScanProblem& p, const Mamba3ScanInputs& in,
                       const Mamba3ScanOutputs& out) {
  ScanVariant variant = variant_;
  if (!variant.numeric.repeat && calls_++ % 2 == 1) {
    variant.backward = !variant.backward;
  }
  const ScanArithmetic math(variant, dial_);
  const Writer writer{p, dial_, math, out};
  const bool chunked = variant.numeric.scan->form == ScanForm::kChunked;
  std::vector<float> now;
  size_t place = 0;
  int64_t next = 0;
  for (int64_t b = 0; b < p.batch; ++b) {
    const std::vector<RowRun> runs = RunsOf(p, in, b, &next, dial_);
    for (int64_t h = 0; h < p.heads; ++h) {
      const ScanRow row(p, in, variant, dial_, runs, b, h);
      const ScanRowResult result =
          chunked ? ScanByChunks(row, variant.chunk) : ScanByTokens(row);
      for (int64_t t = 0; t < p.length; ++t) {
        for (int64_t r = 0; r < p.output_ranks(); ++r) {
          for (int64_t c = 0; c < p.head_dim; ++c, ++place) {
            float y = result.y[Z(t)][Z(r)][Z(c)];
            now.push_back(y);
            if (dial_.Is(F::kStaleOutput)) {
              y = place < last_.size() ? last_[place] : 0.0f;
            }
            writer.Y(b, t, r, h, c, y);
          }
        }
      }
      for (size_t i = 0; i < runs.size(); ++i) {
        writer.Carry(row, runs[i].index, h, result.carry[i]);
      }
    }
  }
  last_ = std::move(now);
}

}  // namespace lockstep::verify
