#include "verify/emulator/mamba3_scan/row.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reference/contract/numerics.h"
#include "verify/emulator/mamba3_scan/elements.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

using F = ScanFault;

}  // namespace

ScanRow::ScanRow(const Mamba3ScanProblem& problem,
                 const Mamba3ScanInputs& inputs, const ScanVariant& variant,
                 const ScanDial& faults, std::vector<RowRun> runs_of_row,
                 int64_t row, int64_t head)
    : p(problem),
      dial(faults),
      math(variant, faults),
      runs(std::move(runs_of_row)),
      in_(inputs),
      variant_(variant),
      row_(row),
      head_(head) {
  run_of.resize(Z(p.length));
  for (size_t i = 0; i < runs.size(); ++i) {
    for (int64_t t = runs[i].first; t < runs[i].end; ++t) {
      run_of[Z(t)] = static_cast<int64_t>(i);
    }
  }
  LoadWeights();
  LoadTimes();
  for (int64_t t = 0; t < p.length; ++t) LoadToken(t);
  Look();
  TurnAngles();
  RotateTokens();
}

void ScanRow::LoadWeights() {
  const auto ranked = [&](const TensorView<const float, 3>& from, F zero) {
    const int64_t head = dial.Is(zero) ? 0 : head_;
    std::vector<Floats> rows(Z(p.ranks), Floats(Z(p.head_dim), 1.0f));
    for (int64_t r = 0; r < p.ranks && from.data != nullptr; ++r) {
      for (int64_t c = 0; c < p.head_dim; ++c) {
        rows[Z(r)][Z(c)] = Cast(from(head, r, c), math.sites().param);
      }
    }
    return rows;
  };
  psi = ranked(in_.psi, F::kPsiOfHead0);
  zeta = ranked(in_.zeta, F::kZetaOfHead0);
  phi = ranked(in_.phi, F::kPhiOfHead0);
  if (p.skip && !dial.Is(F::kSkipMissing))
    skip = in_.d(dial.Is(F::kSkipOfHead0) ? 0 : head_);
  for (int64_t c = 0; c < p.head_dim && p.norm_epsilon; ++c) {
    const int64_t head = dial.Is(F::kNormWeightOfHead0) ? 0 : head_;
    norm_weight.push_back(in_.norm_weight(head, c));
  }
}

void ScanRow::LoadTimes() {
  for (int64_t t = 0; t < p.length; ++t) {
    int64_t h = head_, time = t;
    if (dial.Is(F::kTimeHeadSwapped) && p.heads == p.length) {
      std::swap(h, time);
    }
    a.push_back(in_.a(dial.Is(F::kDecayOfRow0) ? 0 : row_, h, time));
    const bool late = dial.Is(F::kDtAtChunk) && t > 0 && NewChunk(t);
    const int64_t whose = dial.Is(F::kDtOfFirstHead) ? 0 : h;
    dt.push_back(in_.dt(row_, whose, late ? t - 1 : time));
    if (dial.Is(F::kDtMissing)) dt.back() = 1;
    if (dial.Is(F::kDtTwice)) dt.back() *= dt.back();
    float mix = Load(in_.tau, row_, dial.Is(F::kTauOfHead0) ? 0 : h, time);
    if (!dial.Is(F::kSigmoidMissing)) mix = math.Sigmoid(mix);
    if (dial.Is(F::kSigmoidTwice)) mix = math.Sigmoid(mix);
    if (dial.Is(F::kLambdaBf16)) mix = RoundTo(mix, NumberType::kBf16);
    if (variant_.ssd) mix = 1;
    lambda.push_back(Cast(mix, math.sites().lambda));
  }
}

float ScanRow::BiasOf(const TensorView<const float, 3>& bias, int64_t r,
                      int64_t n) const {
  if (bias.data == nullptr || dial.Is(F::kBiasMissing)) return 0;
  int64_t h = dial.Is(F::kBiasByGroup) ? head_ / p.group() : head_;
  if (dial.Is(F::kBiasOfHead0)) h = 0;
  const int64_t at = dial.Is(F::kBiasOfNeighbour) ? (n + 1) % p.state_dim : n;
  return Cast(bias(h, r, at), math.sites().param);
}

void ScanRow::LoadToken(int64_t t) {
  int64_t group = head_ / p.group();
  if (dial.Is(F::kGroupModulo)) group = head_ % p.groups;
  if (dial.Is(F::kStepGroupZero)) group = 0;
  const bool exchanged = dial.Is(F::kReadWriteExchanged);
  const auto& from_q = exchanged ? in_.k : in_.q;
  const auto& from_k = exchanged ? in_.q : in_.k;
  const auto read = [&](const auto& from, auto... at) {
    return math.Input(Load(from, row_, at...));
  };
  std::vector<Floats> biased_q, biased_k;
  const bool add = !dial.Is(F::kBiasAfterRotation);
  for (int64_t r = 0; r < p.ranks; ++r) {
    Floats one_q, one_k;
    for (int64_t n = 0; n < p.state_dim; ++n) {
      const float bq = add ? BiasOf(in_.bq, r, n) : 0;
      const float bk = add ? BiasOf(in_.bk, r, n) : 0;
      one_q.push_back(Cast(read(from_q, t, r, group, n) + bq,
                           p.bias ? math.sites().param : NumberType::kF32));
      const bool late = dial.Is(F::kKeyAtChunk) && t > 0 && NewChunk(t);
      one_k.push_back(Cast(read(from_k, late ? t - 1 : t, r, group, n) + bk,
                           p.bias ? math.sites().param : NumberType::kF32));
    }
    biased_q.push_back(one_q);
    biased_k.push_back(one_k);
  }
  xi.push_back(biased_q);
  kap.push_back(biased_k);
  Floats values, gates, rates;
  for (int64_t c = 0; c < p.head_dim; ++c) {
    const bool shifted =
        dial.Is(F::kChannelsShifted) && head_ == p.heads - 1 && c > 0;
    values.push_back(read(in_.v, t, head_, shifted ? c - 1 : c));
    const int64_t then = dial.Is(F::kGateOfPrevious) && t > 0 ? t - 1 : t;
    const int64_t whose =
        dial.Is(F::kGateOfNextHead) ? (head_ + 1) % p.heads : head_;
    if (p.gate) gates.push_back(read(in_.z, then, whose, c));
  }
  for (int64_t i = 0; i < p.angles; ++i) {
    const int64_t head = dial.Is(F::kRateOfHead0) ? 0 : head_;
    rates.push_back(Load(in_.vartheta, row_, t, head, i));
  }
  x.push_back(UpProjected(values));
  v.push_back(values);
  z.push_back(gates);
  rate_.push_back(rates);
}

std::vector<Floats> ScanRow::UpProjected(const Floats& values) const {
  std::vector<Floats> up(Z(p.ranks), values);
  for (size_t r = 0; r < up.size() && p.mimo(); ++r) {
    for (size_t c = 0; c < values.size(); ++c) {
      up[r][c] = Cast(psi[r][c] * values[c], math.sites().param);
    }
  }
  return up;
}

int64_t ScanRow::chunk_of(int64_t t) const {
  const int64_t origin =
      variant_.grid_of_runs ? runs[Z(run_of[Z(t)])].first : 0;
  return (t - origin) / variant_.chunk;
}

bool ScanRow::NewChunk(int64_t t) const {
  return chunk_of(t) != chunk_of(t - 1) || (variant_.grid_of_runs && First(t));
}

// gamma, the look-ahead and their sum, from the weights of the next token.
void ScanRow::Look() {
  const ScanNumeric& sites = math.sites();
  const int64_t last = p.length - 1;
  for (int64_t t = 0; t <= last; ++t) {
    const float step = Cast(dt[Z(t)], sites.dt);
    gamma.push_back(math.HalfBy(F::kF16Weights, lambda[Z(t)] * step));
    if (dial.Is(F::kDecayAfterAdd)) gamma.back() *= math.Exp(a[Z(t)]);
    int64_t next = t + 1;
    bool cut = next > last || run_of[Z(next)] != run_of[Z(t)];
    if (dial.Is(F::kLookAheadCrossesRun)) cut = next > last;
    if (dial.Is(F::kLookAheadAtEnd) && next > last) {
      next = 0;
      cut = false;
    }
    if (dial.Is(F::kLookAheadCutAtChunk) && next <= last) {
      cut = cut || NewChunk(next);
    }
    float weight = 0;
    if (!cut && !dial.Is(F::kBetaDropped)) {
      const bool edge =
          dial.Is(F::kLookAheadOwnAtEdge) && next <= last && NewChunk(next);
      const bool own = dial.Is(F::kLookAheadOwnLambda) || edge;
      const float mix = lambda[Z(own ? t : next)];
      const float share = dial.Is(F::kLookAheadLambda) ? mix : 1 - mix;
      const int64_t whose = dial.Is(F::kLookAheadOwnDt) ? t : next;
      weight = share * Cast(dt[Z(whose)], sites.dt);
      if (dial.Is(F::kLookAheadExtraAlpha)) weight *= math.Exp(a[Z(next)]);
      if (dial.Is(F::kLookAheadNoAlpha)) weight /= math.Exp(a[Z(next)]);
    }
    weight = math.HalfBy(F::kF16Weights, weight);
    ahead.push_back(Cast(weight, sites.weight));
    s.push_back(Cast(gamma.back() + ahead.back(), sites.weight));
  }
}

void ScanRow::TurnAngles() {
  const ScanNumeric& sites = math.sites();
  const bool turns = sites.angle_form == AngleForm::kTurns;
  constexpr double kFiveDigits = 3.1416;
  const bool coarse = dial.Is(F::kPiOfFiveDigits);
  const auto pi = static_cast<float>(
      coarse || dial.Is(F::kRateByFiveDigits) ? kFiveDigits : kPi);
  const double half =
      coarse || dial.Is(F::kPeriodOfFiveDigits) ? kFiveDigits : kPi;
  const auto period =
      turns ? 1.0f
            : static_cast<float>(2 * half * (dial.Is(F::kModPi) ? 0.5 : 1));
  Floats now(Z(p.angles));
  for (int64_t t = 0; t < p.length; ++t) {
    const RowRun& run = runs[Z(run_of[Z(t)])];
    const bool edge = t > run.first && NewChunk(t);
    if (t == run.first && !(dial.Is(F::kAngleNotReset) && t > 0)) {
      now = Init(run).theta;
    } else if (edge && dial.Is(F::kAngleLostAtChunk)) {
      now.assign(now.size(), 0.0f);
    }
    const Floats before = now;
    for (size_t i = 0; i < now.size(); ++i) {
      float w = rate_[Z(t)][i];
      if (!dial.Is(F::kTanhMissing)) w = math.Tanh(w);
      const float other =
          dial.Is(F::kDtOfHead0) ? in_.dt(row_, 0, t) : dt[Z(t)];
      if (!turns && !dial.Is(F::kPiMissing)) w = w * pi;
      if (!dial.Is(F::kDtMissingInAngle)) w = w * other;
      if (turns && !dial.Is(F::kPiMissing)) w = w * 0.5f;
      if (dial.Is(F::kAngleNotHalved)) w = w * 2;
      now[i] = dial.Is(F::kStepAngleRate) ? w : now[i] + w;
      if (sites.angle_form != AngleForm::kUnreduced &&
          !dial.Is(F::kAngleNeverReduced)) {
        const float times = std::floor(now[i] / period);
        now[i] = turns ? now[i] - times : std::fma(-times, period, now[i]);
        if (turns && dial.Is(F::kModPi)) {
          now[i] = now[i] - std::floor(now[i] * 2) * 0.5f;
        }
      }
      if (dial.Is(F::kAngleBf16)) now[i] = RoundTo(now[i], NumberType::kBf16);
      now[i] = math.HalfBy(F::kF16Angles, now[i]);
    }
    theta.push_back(dial.Is(F::kAngleExclusive) ? before : now);
  }
}

Floats ScanRow::Rotate(const Floats& values, const Floats& angles,
                       bool wrong_pairs) const {
  Floats turned = values;
  const bool other = math.sites().OtherPairing(p.mimo());
  const bool halves = p.mimo() != (other != wrong_pairs);
  for (size_t i = 0; i < angles.size(); ++i) {
    const size_t first = halves ? i : 2 * i;
    const size_t second = halves ? i + values.size() / 2 : 2 * i + 1;
    float sine = 0, cosine = 1;
    math.SinCos(Cast(angles[i], math.sites().angle), &sine, &cosine);
    if (dial.Is(F::kConjugate)) sine = -sine;
    const float u = values[first], w = values[second];
    turned[first] = math.MulAdd(u, cosine, -(w * sine));
    turned[second] = math.MulAdd(u, sine, w * cosine);
  }
  return turned;
}

void ScanRow::RotateTokens() {
  const ScanNumeric& sites = math.sites();
  const NumberType lane = NumberTypeOf(p.rotated_lane);
  const auto round = [&](Floats values, NumberType type) {
    for (float& value : values) {
      value = Cast(Operand(value, type, sites), lane);
    }
    return values;
  };
  for (int64_t t = 0; t < p.length; ++t) {
    std::vector<Floats> turned_q, turned_k;
    for (int64_t r = 0; r < p.ranks; ++r) {
      const Floats& angles = theta[Z(t)];
      const bool first = t == 0 || First(t);
      const Floats& of_k =
          dial.Is(F::kKeyPreviousAngle)
              ? (first ? Init(runs[Z(run_of[Z(t)])]).theta : theta[Z(t - 1)])
              : angles;
      Floats one_q = xi[Z(t)][Z(r)], one_k = kap[Z(t)][Z(r)];
      if (!dial.Is(F::kRotationSkipped)) {
        const bool wrong = dial.Is(F::kWrongPairing);
        one_q = Rotate(one_q, angles, wrong);
        const bool wrong_k = wrong || dial.Is(F::kKeyWrongPairing);
        if (!dial.Is(F::kRotationOfQOnly)) {
          one_k = Rotate(one_k, of_k, wrong_k);
        }
      }
      if (dial.Is(F::kBiasAfterRotation) && p.bias) {
        for (int64_t n = 0; n < p.state_dim; ++n) {
          one_q[Z(n)] += BiasOf(in_.bq, r, n);
          one_k[Z(n)] += BiasOf(in_.bk, r, n);
        }
      }
      turned_q.push_back(round(one_q, sites.query));
      turned_k.push_back(round(one_k, sites.key));
    }
    q.push_back(turned_q);
    k.push_back(turned_k);
  }
}

RowState ScanRow::Init(const RowRun& run) const {
  RowState state;
  state.theta.assign(Z(p.angles), 0.0f);
  state.h.assign(Z(p.state_dim), Floats(Z(p.head_dim)));
  state.k.assign(Z(p.ranks), Floats(Z(p.state_dim)));
  state.v.assign(Z(p.head_dim), 0.0f);
  const bool lost =
      dial.Is(F::kInitIgnored) ||
      (dial.Is(F::kInitRun0Only) && run.index > 0) ||
      (dial.Is(F::kInitIgnoredMidChunk) && run.first % variant_.chunk != 0);
  if (!p.carry_in || lost) return state;
  const auto& from = in_.carry;
  int64_t index = dial.Is(F::kStepBatchZero) ? 0 : run.index;
  if (dial.Is(F::kInitOfNeighbour)) index = (index + 1) % from.h.shape[0];
  const bool turns = math.sites().angle_form == AngleForm::kTurns;
  for (int64_t i = 0; i < p.angles && !dial.Is(F::kInitAngleIgnored); ++i) {
    const auto angle = static_cast<double>(from.theta(index, head_, i));
    state.theta[Z(i)] = static_cast<float>(turns ? angle : angle * 2 * kPi);
  }
  for (int64_t c = 0; c < p.head_dim; ++c) {
    for (int64_t n = 0; n < p.state_dim; ++n) {
      state.h[Z(n)][Z(c)] = from.h(index, head_, c, n);
    }
    state.v[Z(c)] = from.v(index, head_, c);
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    for (int64_t n = 0; n < p.state_dim; ++n) {
      state.k[Z(r)][Z(n)] = from.k(index, r, head_, n);
    }
  }
  return state;
}

RowState ScanRow::Untouched(const RowRun& run) const {
  RowState state = Init(run);
  if (math.sites().empty_run == EmptyRun::kCarry) return state;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (Floats& row : state.h) row.assign(row.size(), nan);
  for (Floats& row : state.k) row.assign(row.size(), nan);
  state.v.assign(state.v.size(), nan);
  return state;
}

std::vector<Floats> ScanRow::Precharged(const RowRun& run, int64_t t) const {
  RowState state = Init(run);
  const std::vector<Floats> up = UpProjected(state.v);
  const float mix = lambda[Z(t)];
  float weight = (dial.Is(F::kInitFoldLambda) ? mix : 1 - mix) *
                 Cast(dt[Z(t)], math.sites().dt);
  if (dial.Is(F::kInitFoldAlpha)) weight *= math.Exp(a[Z(t)]);
  if (dial.Is(F::kInitFoldMissing) || dial.Is(F::kBetaDropped)) weight = 0;
  weight = Cast(weight, math.sites().weight);
  for (size_t n = 0; n < state.h.size(); ++n) {
    for (size_t r = 0; r < up.size(); ++r) {
      const float key =
          Operand(weight * state.k[r][n], math.sites().scaled, math.sites());
      math.AddScaled(key, up[r], &state.h[n]);
    }
  }
  return state.h;
}

float ScanRow::ThetaInTurns(float angle) const {
  if (math.sites().angle_form == AngleForm::kTurns) return angle;
  return static_cast<float>(
      static_cast<double>(Cast(angle, math.sites().angle_carry)) / (2 * kPi));
}

}  // namespace lockstep::verify
