// Whole problems: heads of a group, sums over runs, stores.
#include "verify/emulator/mamba3_scan_backward/kernel.h"

#include <cstddef>
#include <vector>

#include "verify/emulator/mamba3_scan/elements.h"
#include "verify/emulator/mamba3_scan_backward/head.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

using F = ScanGradFault;

class Problem {
 public:
  Problem(const Mamba3ScanBackwardProblem& problem,
          const Mamba3ScanBackwardInputs& inputs,
          const Mamba3ScanBackwardOutputs& outputs,
          const ScanGradVariant& variant, ScanGradFault fault)
      : problem_(problem),
        p_(problem.forward),
        in_(inputs),
        out_(outputs),
        variant_(variant),
        fault_(fault) {}

  void Run() {
    const size_t weights = Z(variant_.parts);
    std::vector<std::vector<WeightGradients>> sums(
        Z(p_.heads), std::vector<WeightGradients>(weights));
    int64_t next = 0;
    int64_t count = 0;
    for (int64_t b = 0; b < p_.batch; ++b) {
      int64_t first = next;
      const std::vector<RowRun> runs = RunsOf(p_, in_.forward, b, &next);
      for (int64_t g = 0; g < p_.groups; ++g) {
        std::vector<HeadGradients> heads;
        for (int64_t h = g * p_.group(); h < (g + 1) * p_.group(); ++h) {
          heads.push_back(
              GradHead(problem_, in_, variant_, fault_, runs, b, h).Run());
          Store(b, h, first, heads.back());
          for (size_t n = 0; n < runs.size(); ++n) {
            const size_t part = (Z(count) + n) % Z(variant_.parts);
            AddWeights(heads.back().weights[n], b, &sums[Z(h)][part]);
          }
        }
        StoreGroup(b, g, heads);
      }
      count += static_cast<int64_t>(runs.size());
    }
    for (int64_t h = 0; h < p_.heads; ++h) {
      WeightGradients sum;
      for (const WeightGradients& part : sums[Z(h)]) AddWeights(part, 0, &sum);
      StoreWeights(h, sum);
    }
  }

 private:
  bool Is(ScanGradFault fault) const { return fault_ == fault; }
  float Out(float x) const { return Is(F::kZeros) ? 0 : x; }

  // A gradient into its tensor's lane.
  template <typename View, typename... Index>
  void Put(const View& to, float x, Index... at) const {
    if (to.lane != Lane::kF32) {
      x = RoundTo(x, NumberTypeOf(to.lane));
      if (Is(F::kF16OutputFlushed)) x = FlushedInF16(x);
      if (Is(F::kF16Saturates)) x = SaturatedInF16(x);
    }
    StoreRounded(to, x + 0.0f, at...);
  }

  void AddWeights(const WeightGradients& x, int64_t row,
                  WeightGradients* sum) const {
    if (x.bq.empty() || (Is(F::kWeightsOfRow0) && row > 0)) return;
    if (sum->bq.empty() || Is(F::kWeightsOfLastRun)) {
      *sum = x;
      return;
    }
    for (FloatRows WeightGradients::* part :
         {&WeightGradients::bq, &WeightGradients::bk, &WeightGradients::psi,
          &WeightGradients::zeta, &WeightGradients::phi}) {
      for (size_t r = 0; r < (sum->*part).size(); ++r) {
        for (size_t c = 0; c < (sum->*part)[r].size(); ++c) {
          (sum->*part)[r][c] += (x.*part)[r][c];
        }
      }
    }
    for (size_t c = 0; c < x.norm.size(); ++c) sum->norm[c] += x.norm[c];
    sum->d += x.d;
  }

  void Store(int64_t b, int64_t h, int64_t first, const HeadGradients& head) {
    for (int64_t t = 0; t < p_.length; ++t) {
      const TokenGradients& x = head.tokens[Z(t)];
      out_.da(b, h, t) = Out(x.a) + 0.0f;
      out_.ddt(b, h, t) = Out(x.dt) + 0.0f;
      Put(out_.dtau, Out(x.tau), b, h, t);
      for (int64_t s = 0; s < p_.angles; ++s) {
        Put(out_.dvartheta, Out(x.rate[Z(s)]), b, t, h, s);
      }
      for (int64_t c = 0; c < p_.head_dim; ++c) {
        if (p_.gate) Put(out_.dz, Out(x.z[Z(c)]), b, t, h, c);
        if (Is(F::kDvUnwritten) && t + 1 == p_.length) continue;
        Put(out_.dv, Out(x.v[Z(c)]), b, t, h, c);
      }
    }
    for (size_t n = 0; p_.carry_in && n < head.carries.size(); ++n) {
      StoreCarry(first + static_cast<int64_t>(n), h, head.carries[n]);
    }
  }

  void StoreCarry(int64_t run, int64_t h, const CarryGradients& x) {
    const auto& to = out_.dcarry;
    for (int64_t s = 0; s < p_.angles; ++s) {
      to.theta(run, h, s) = Out(x.theta[Z(s)]) + 0.0f;
    }
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      to.v(run, h, c) = Out(x.v[Z(c)]) + 0.0f;
      for (int64_t n = 0; n < p_.state_dim; ++n) {
        to.h(run, h, c, n) = Out(x.h[Z(n)][Z(c)]) + 0.0f;
      }
    }
    for (int64_t r = 0; r < p_.ranks; ++r) {
      for (int64_t n = 0; n < p_.state_dim; ++n) {
        to.k(run, r, h, n) = Out(x.k[Z(r)][Z(n)]) + 0.0f;
      }
    }
  }

  // The sum over the heads of a group, in parts.
  float Sum(const std::vector<float>& of_heads) const {
    if (Is(F::kLastHeadOnly)) return of_heads.back();
    if (Is(F::kFirstHeadOnly)) return of_heads[0];
    std::vector<float> parts(Z(variant_.parts));
    for (size_t n = 0; n < of_heads.size(); ++n) {
      const NumberType type = Is(F::kF16OfHeads)
                                  ? NumberType::kF16
                                  : variant_.scan.numeric.scan->grad_partial;
      const float x =
          type == NumberType::kF32 ? of_heads[n] : RoundTo(of_heads[n], type);
      parts[n % parts.size()] += x;
    }
    float sum = 0;
    for (const float part : parts) sum += part;
    if (Is(F::kGroupMean)) sum /= static_cast<float>(of_heads.size());
    return sum;
  }

  void StoreGroup(int64_t b, int64_t g,
                  const std::vector<HeadGradients>& heads) const {
    // A fault: another group's gradients.
    const int64_t to = Is(F::kGroupModulo) ? p_.groups - 1 - g : g;
    for (int64_t t = 0; t < p_.length; ++t) {
      for (int64_t r = 0; r < p_.ranks; ++r) {
        for (int64_t n = 0; n < p_.state_dim; ++n) {
          std::vector<float> q, k;
          for (const HeadGradients& head : heads) {
            q.push_back(head.tokens[Z(t)].q[Z(r)][Z(n)]);
            k.push_back(head.tokens[Z(t)].k[Z(r)][Z(n)]);
          }
          Put(out_.dq, Out(Sum(q)), b, t, r, to, n);
          Put(out_.dk, Out(Sum(k)), b, t, r, to, n);
        }
      }
    }
  }

  void StoreWeights(int64_t h, const WeightGradients& x) const {
    for (int64_t r = 0; r < p_.ranks; ++r) {
      for (int64_t n = 0; p_.bias && n < p_.state_dim; ++n) {
        out_.dbq(h, r, n) = Out(x.bq[Z(r)][Z(n)]) + 0.0f;
        out_.dbk(h, r, n) = Out(x.bk[Z(r)][Z(n)]) + 0.0f;
      }
      for (int64_t c = 0; c < p_.head_dim; ++c) {
        if (p_.mimo()) out_.dpsi(h, r, c) = Out(x.psi[Z(r)][Z(c)]) + 0.0f;
        if (p_.mimo() && p_.gate) {
          out_.dzeta(h, r, c) = Out(x.zeta[Z(r)][Z(c)]) + 0.0f;
        }
        if (p_.reduce) out_.dphi(h, r, c) = Out(x.phi[Z(r)][Z(c)]) + 0.0f;
      }
    }
    for (int64_t c = 0; p_.norm_epsilon && c < p_.head_dim; ++c) {
      out_.dnorm_weight(h, c) = Out(x.norm[Z(c)]) + 0.0f;
    }
    if (p_.skip) out_.dd(h) = Out(x.d) + 0.0f;
  }

  const Mamba3ScanBackwardProblem& problem_;
  const Mamba3ScanProblem& p_;
  const Mamba3ScanBackwardInputs& in_;
  const Mamba3ScanBackwardOutputs& out_;
  const ScanGradVariant& variant_;
  ScanGradFault fault_;
};

}  // namespace

void ScanGradEmulator::Run(const Mamba3ScanBackwardProblem& problem,
                           const Mamba3ScanBackwardInputs& inputs,
                           const Mamba3ScanBackwardOutputs& outputs) const {
  Problem(problem, inputs, outputs, variant_, fault_).Run();
}

}  // namespace lockstep::verify
