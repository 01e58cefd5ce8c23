// The gradients are derivatives: central differences of the forward definition
// along random directions, one for each input of 400 problems.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/mamba3_backward_problem.h"

namespace lockstep::reference {
namespace {

using test::kRegimes;
using test::Mamba3BackwardInstance;
using test::Mamba3Gradients;
using test::Mamba3Result;
using Values = std::vector<float>;

constexpr int kDerived = 100;  // of each regime
constexpr float kStep = 0x1p-8f;
// Of the sum of a gradient's sizes: truncation, and the forward pass's own
// roundings. The largest seen is 0.3 of it.
constexpr double kTolerance = 0.01;

double Dot(const Values& x, const Values& y) {
  double sum = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  }
  return sum;
}

// The loss of `up` less that of `down`; angles are differences on a circle.
double Difference(const Mamba3BackwardInstance& t, const Mamba3Result& up,
                  const Mamba3Result& down) {
  double loss = Dot(up.y, t.dy) - Dot(down.y, t.dy);
  if (!t.carry_grad) return loss;
  loss += Dot(up.carry.h, t.dcarry.h) - Dot(down.carry.h, t.dcarry.h);
  loss += Dot(up.carry.k, t.dcarry.k) - Dot(down.carry.k, t.dcarry.k);
  loss += Dot(up.carry.v, t.dcarry.v) - Dot(down.carry.v, t.dcarry.v);
  for (size_t i = 0; i < up.carry.theta.size(); ++i) {
    const float turn = up.carry.theta[i] - down.carry.theta[i];
    loss += static_cast<double>((turn - std::rint(turn)) * t.dcarry.theta[i]);
  }
  return loss;
}

// Fourth order, along `direction`.
double Slope(Mamba3BackwardInstance& t, Values& x, const Values& direction) {
  const Values middle = x;
  const auto at = [&](float steps) {
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = middle[i] + steps * kStep * direction[i];
    }
    return t.forward.RunReference();
  };
  const double near = Difference(t, at(1.0f), at(-1.0f));
  const double far = Difference(t, at(2.0f), at(-2.0f));
  x = middle;
  return (near * (2.0 / 3.0) - far * (1.0 / 12.0)) / static_cast<double>(kStep);
}

Mamba3BackwardInstance Smooth(std::mt19937& rng, test::Regime regime) {
  Mamba3BackwardInstance t = test::RandomMamba3Backward(rng, regime);
  Mamba3ScanProblem& p = t.forward.problem;
  p.lane = p.rotated_lane = t.grad_lane = Lane::kF32;
  // Where it is nearly flat, a norm bends too much for steps of this size.
  if (p.norm_epsilon) p.norm_epsilon = 0.5;
  // Steps must stay inside of what a and dt may be.
  for (float& x : t.forward.a) x -= 0.05f;
  for (float& x : t.forward.dt) x += 0.05f;
  return t;
}

TEST(Mamba3Derivatives, OfEveryInput) {
  std::mt19937 rng(31);
  int64_t tried = 0;
  double worst = 0.0;
  for (int i = 0; i < 4 * kDerived; ++i) {
    Mamba3BackwardInstance t = Smooth(rng, kRegimes[i % 4]);
    test::Mamba3Instance& f = t.forward;
    const Mamba3Gradients g = t.RunReference();
    // In the order of the gradients.
    Values* const inputs[] = {
        &f.q,           &f.k,        &f.v,       &f.a,      &f.dt,
        &f.tau,         &f.vartheta, &f.bq,      &f.bk,     &f.d,
        &f.z,           &f.psi,      &f.zeta,    &f.phi,    &f.norm_weight,
        &f.carry.theta, &f.carry.h,  &f.carry.k, &f.carry.v};
    for (size_t j = 0; j < g.parts().size(); ++j) {
      const Values gradient = g.parts()[j].Values();
      if (gradient.empty()) continue;
      Values direction(gradient.size());
      for (float& x : direction) x = rng() % 2 == 0 ? 1.0f : -1.0f;
      double size = 0.05;
      for (const float x : gradient) size += static_cast<double>(std::fabs(x));
      const double off =
          std::fabs(Slope(t, *inputs[j], direction) - Dot(gradient, direction));
      ++tried;
      worst = std::fmax(worst, off / size);
      ASSERT_LE(off, kTolerance * size)
          << "problem " << i << " " << g.parts()[j].name;
    }
  }
  EXPECT_GT(tried, 4000);
  RecordProperty("worst", std::to_string(worst));
}

}  // namespace
}  // namespace lockstep::reference
