#include "tests/support/mamba3_chunk_form.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"
#include "reference/elementary.h"
#include "reference/runs.h"
#include "tests/support/mamba3_problem.h"

namespace lockstep::test {
namespace {

using Problem = Mamba3ScanProblem;
using Rows = std::vector<std::vector<float>>;

template <typename View, typename... Index>
float Load(const View& x, Index... at) {
  return x.lane == Lane::kF32 ? ToFloat(x.template As<float>()(at...))
                              : ToFloat(x.template As<Bf16>()(at...));
}

// One head of one run after steps 1 to 3 of N15, in f32.
struct Prepared {
  std::vector<float> alpha, gamma, rest;  // [token]
  std::vector<Rows> q, k, x;              // [token][rank][n or p]
  std::vector<float> theta, v;            // of the last token
  Rows k_before, x_before;                // of the carry
  std::vector<float> h;                   // [p * n] of the carry
};

class Preparation {
 public:
  Preparation(const Problem& p, const Mamba3ScanInputs& in,
              const reference::Run& run, int64_t index, int64_t head)
      : p_(p), in_(in), head_(head) {
    Begin(index);
    for (int64_t t = run.first; t < run.end; ++t) Add(run.row, t);
  }
  Prepared out;

 private:
  void Begin(int64_t run) {
    out.theta.assign(static_cast<size_t>(p_.angles), 0.0f);
    out.v.assign(static_cast<size_t>(p_.head_dim), 0.0f);
    out.h.assign(static_cast<size_t>(p_.head_dim * p_.state_dim), 0.0f);
    out.k_before.assign(static_cast<size_t>(p_.ranks),
                        std::vector<float>(p_.state_dim, 0.0f));
    if (p_.carry_in) {
      const auto& carry = in_.carry;
      for (int64_t s = 0; s < p_.angles; ++s) {
        out.theta[s] = carry.theta(run, head_, s);
      }
      for (int64_t c = 0; c < p_.head_dim; ++c) {
        out.v[c] = carry.v(run, head_, c);
        for (int64_t n = 0; n < p_.state_dim; ++n) {
          out.h[c * p_.state_dim + n] = carry.h(run, head_, c, n);
        }
      }
      for (int64_t r = 0; r < p_.ranks; ++r) {
        for (int64_t n = 0; n < p_.state_dim; ++n) {
          out.k_before[r][n] = carry.k(run, r, head_, n);
        }
      }
    }
    out.x_before = UpProjected();
  }

  void Add(int64_t b, int64_t t) {
    const float dt = in_.dt(b, head_, t);
    const float lambda = reference::Sigmoid(Load(in_.tau, b, head_, t));
    out.alpha.push_back(reference::Exp(in_.a(b, head_, t)));
    out.gamma.push_back(lambda * dt);
    out.rest.push_back((1.0f - lambda) * dt);
    for (int64_t s = 0; s < p_.angles; ++s) {
      const float rate =
          reference::TanhCore(Load(in_.vartheta, b, t, head_, s));
      const float theta = out.theta[s] + (rate * dt) * 0.5f;
      const float reduced = theta - std::floor(theta);
      out.theta[s] = reduced == 1.0f ? 0.0f : reduced;
    }
    out.q.push_back(Rotated(in_.q, in_.bq, b, t));
    out.k.push_back(Rotated(in_.k, in_.bk, b, t));
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      out.v[c] = Load(in_.v, b, t, head_, c);
    }
    out.x.push_back(UpProjected());
  }

  Rows Rotated(const BasicLaneView<const void, 5>& from,
               const TensorView<const float, 3>& bias, int64_t b, int64_t t) {
    Rows rows;
    for (int64_t r = 0; r < p_.ranks; ++r) {
      std::vector<float> y;
      for (int64_t n = 0; n < p_.state_dim; ++n) {
        y.push_back(Load(from, b, t, r, head_ / p_.group(), n));
        if (p_.bias) y[n] += bias(head_, r, n);
      }
      for (int64_t s = 0; s < p_.angles; ++s) {
        const auto turn = reference::SinCosTurnsCore(out.theta[s]);
        float& u = y[p_.mimo() ? s : 2 * s];
        float& w = y[p_.mimo() ? s + p_.state_dim / 2 : 2 * s + 1];
        const float turned = std::fma(u, turn.cos, -(w * turn.sin));
        w = std::fma(u, turn.sin, w * turn.cos);
        u = turned;
      }
      if (p_.rotated_lane == Lane::kBf16) {
        for (float& value : y) value = reference::RoundToBf16Lane(value);
      }
      rows.push_back(y);
    }
    return rows;
  }

  Rows UpProjected() {
    Rows rows;
    for (int64_t r = 0; r < p_.ranks; ++r) {
      rows.push_back(out.v);
      for (int64_t c = 0; p_.mimo() && c < p_.head_dim; ++c) {
        rows[r][c] = in_.psi(head_, r, c) * out.v[c];
      }
    }
    return rows;
  }

  const Problem& p_;
  const Mamba3ScanInputs& in_;
  int64_t head_;
};

// Sixteen stripes over n, folded; the stripes of the padding add +0.
float StripedDot(const std::vector<float>& q, const std::vector<float>& k) {
  float l[kStripes] = {};
  const size_t padded = (q.size() + kStripes - 1) / kStripes * kStripes;
  for (size_t n = 0; n < padded; ++n) {
    const float a = n < q.size() ? q[n] : 0.0f;
    const float b = n < k.size() ? k[n] : 0.0f;
    l[n % kStripes] = std::fma(a, b, l[n % kStripes]);
  }
  for (int w = kStripes / 2; w >= 1; w /= 2) {
    for (int i = 0; i < w; ++i) l[i] += l[i + w];
  }
  return l[0];
}

// The f32 order of one head of one run; `skip` null: none.
class Twin {
 public:
  Twin(const Problem& p, const Prepared& in, const float* skip)
      : h(in.h), p_(p), in_(in), skip_(skip) {}

  void Run(int64_t first, int64_t chunk) {
    const auto tokens = static_cast<int64_t>(in_.alpha.size());
    if (tokens > 0) Charge();
    for (int64_t t = 0; t < tokens;) {
      const int64_t edge = ((first + t) / chunk + 1) * chunk - first;
      const int64_t end = std::min(tokens, edge);
      Piece(t, end);
      t = end;
    }
  }
  std::vector<float> h;    // [p * n]
  std::vector<Rows> read;  // [token][r][p]

 private:
  void Charge() {
    for (int64_t r = 0; p_.carry_in && r < p_.ranks; ++r) {
      for (int64_t n = 0; n < p_.state_dim; ++n) {
        const float k = in_.rest[0] * in_.k_before[r][n];
        for (int64_t c = 0; c < p_.head_dim; ++c) {
          float& state = h[c * p_.state_dim + n];
          state = std::fma(k, in_.x_before[r][c], state);
        }
      }
    }
  }

  float Look(int64_t t) const {
    return t + 1 == static_cast<int64_t>(in_.alpha.size())
               ? in_.gamma[t]
               : in_.gamma[t] + in_.rest[t + 1];
  }

  void Piece(int64_t first, int64_t end) {
    std::vector<float> since;
    float reach = 1.0f;
    for (int64_t t = first; t < end; ++t) {
      for (float& value : since) value *= in_.alpha[t];
      since.push_back(1.0f);
      reach = reach * in_.alpha[t];
      Rows rows(p_.ranks, std::vector<float>(p_.head_dim));
      for (int64_t r = 0; r < p_.ranks; ++r) {
        Read(first, t, r, since, reach, rows[r]);
      }
      read.push_back(rows);
    }
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      for (int64_t c = 0; c < p_.head_dim; ++c) {
        float& state = h[c * p_.state_dim + n];
        state = reach * state;
        for (int64_t j = first; j < end; ++j) {
          const float weight = Look(j) * since[j - first];
          for (int64_t r = 0; r < p_.ranks; ++r) {
            state = std::fma(weight * in_.k[j][r][n], in_.x[j][r][c], state);
          }
        }
      }
    }
  }

  void Read(int64_t first, int64_t t, int64_t r,
            const std::vector<float>& since, float reach,
            std::vector<float>& o) const {
    std::vector<float> weighed;
    for (int64_t j = first; j <= t; ++j) {
      const float weight = j == t ? in_.gamma[t] : since[j - first] * Look(j);
      for (int64_t s = 0; s < p_.ranks; ++s) {
        weighed.push_back(StripedDot(in_.q[t][r], in_.k[j][s]) * weight);
      }
    }
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      float within = 0.0f;
      for (size_t i = 0; i < weighed.size(); ++i) {
        const int64_t j = first + static_cast<int64_t>(i) / p_.ranks;
        within = std::fma(weighed[i], in_.x[j][i % p_.ranks][c], within);
      }
      float sum = 0.0f;
      for (int64_t n = 0; n < p_.state_dim; ++n) {
        sum = std::fma(in_.q[t][r][n], h[c * p_.state_dim + n], sum);
      }
      o[c] = std::fma(reach, sum, within);
      if (skip_ != nullptr) o[c] = std::fma(*skip_, in_.x[t][r][c], o[c]);
    }
  }

  const Problem& p_;
  const Prepared& in_;
  const float* skip_;
};

float Finish(float x, Lane lane) {
  if (lane == Lane::kBf16) x = reference::RoundToBf16Lane(x);
  return reference::CanonicalNaN(x + 0.0f);
}

size_t YAt(const Problem& p, int64_t row, int64_t t, int64_t r, int64_t head,
           int64_t c) {
  return static_cast<size_t>(
      (((row * p.length + t) * p.ranks + r) * p.heads + head) * p.head_dim + c);
}

// Calls head(run, index, head, its vectors).
void ForEachHead(Mamba3Instance& t,
                 const std::function<void(const reference::Run&, int64_t,
                                          int64_t, const Prepared&)>& each) {
  const Mamba3ScanInputs in = t.Inputs();
  const std::vector<reference::Run> runs = reference::ListRuns(t.problem, in);
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    for (int64_t head = 0; head < t.problem.heads; ++head) {
      const Preparation ready(t.problem, in, runs[i], index, head);
      each(runs[i], index, head, ready.out);
    }
  }
}

// A value in double and the sum of its terms' magnitudes.
struct Sum {
  double value = 0;
  double magnitude = 0;
  void Add(double factor, double a, double b) {
    value += factor * a * b;
    magnitude += std::fabs(factor * a * b);
  }
};

// What token j leaves in the state right behind token t, t >= j: all pairs, no
// chunks. j = -1 is the carry's token.
double Weight(const Prepared& in, int64_t j, int64_t t) {
  if (j == t) return in.gamma[t];
  double decay = 1;
  for (int64_t i = j + 1; i <= t; ++i) decay *= in.alpha[i];
  const double gamma = j < 0 ? 0.0 : in.gamma[j];
  return decay * (gamma + in.rest[j + 1]);
}

Sum StateAt(const Problem& p, const Prepared& in, int64_t t, int64_t n,
            int64_t c) {
  Sum sum;
  double decay = 1;
  for (int64_t i = 0; i <= t; ++i) decay *= in.alpha[i];
  sum.Add(decay, in.h[c * p.state_dim + n], 1);
  for (int64_t j = t < 0 ? 0 : -1; j <= t; ++j) {
    const double weight = Weight(in, j, t);
    for (int64_t r = 0; r < p.ranks; ++r) {
      sum.Add(weight, j < 0 ? in.k_before[r][n] : in.k[j][r][n],
              j < 0 ? in.x_before[r][c] : in.x[j][r][c]);
    }
  }
  return sum;
}

}  // namespace

Mamba3Result ChunkTwin(Mamba3Instance& t, int64_t chunk) {
  const Problem& p = t.problem;
  Mamba3Outputs shape(p, t.CountRuns());
  Mamba3Result result = shape.Result();
  const Mamba3ScanInputs in = t.Inputs();
  Mamba3Carry<float> carry = result.carry.View(p, t.CountRuns());
  ForEachHead(t, [&](const reference::Run& run, int64_t index, int64_t head,
                     const Prepared& ready) {
    const float skip = p.skip ? in.d(head) : 0.0f;
    Twin twin(p, ready, p.skip ? &skip : nullptr);
    twin.Run(run.first, chunk);
    for (size_t i = 0; i < twin.read.size(); ++i) {
      for (int64_t r = 0; r < p.ranks; ++r) {
        for (int64_t c = 0; c < p.head_dim; ++c) {
          const int64_t at = run.first + static_cast<int64_t>(i);
          result.y[YAt(p, run.row, at, r, head, c)] =
              Finish(twin.read[i][r][c], p.lane);
        }
      }
    }
    for (int64_t s = 0; s < p.angles; ++s) {
      carry.theta(index, head, s) = ready.theta[s];
    }
    const Rows& k = ready.k.empty() ? ready.k_before : ready.k.back();
    for (int64_t n = 0; n < p.state_dim; ++n) {
      for (int64_t r = 0; r < p.ranks; ++r) {
        carry.k(index, r, head, n) = k[r][n];
      }
      for (int64_t c = 0; c < p.head_dim; ++c) {
        carry.h(index, head, c, n) = twin.h[c * p.state_dim + n];
      }
    }
    for (int64_t c = 0; c < p.head_dim; ++c) {
      carry.v(index, head, c) = ready.v[c];
    }
  });
  return result;
}

ChunkForm EvaluateForm(Mamba3Instance& t, int64_t chunk) {
  const Problem& p = t.problem;
  const Mamba3ScanInputs in = t.Inputs();
  const int64_t y_size = p.batch * p.length * p.ranks * p.heads * p.head_dim;
  const int64_t h_size = t.CountRuns() * p.heads * p.head_dim * p.state_dim;
  ChunkForm form;
  for (auto* to : {&form.y.value, &form.y.bound}) to->resize(y_size);
  for (auto* to : {&form.h.value, &form.h.bound}) to->resize(h_size);
  ForEachHead(t, [&](const reference::Run& run, int64_t index, int64_t head,
                     const Prepared& ready) {
    const int64_t tokens = run.end - run.first;
    const auto roundings = static_cast<double>(
        (2 + p.ranks) * tokens + p.state_dim + 2 * p.ranks * chunk + 16);
    const double gamma = roundings * 0x1p-24 / (1 - roundings * 0x1p-24);
    for (int64_t c = 0; c < p.head_dim; ++c) {
      for (int64_t n = 0; n < p.state_dim; ++n) {
        const Sum state = StateAt(p, ready, tokens - 1, n, c);
        const int64_t at =
            ((index * p.heads + head) * p.head_dim + c) * p.state_dim + n;
        form.h.value[at] = state.value;
        form.h.bound[at] = gamma * state.magnitude + 0x1p-140;
      }
      for (int64_t i = 0; i < tokens; ++i) {
        std::vector<Sum> state;
        for (int64_t n = 0; n < p.state_dim; ++n) {
          state.push_back(StateAt(p, ready, i, n, c));
        }
        for (int64_t r = 0; r < p.ranks; ++r) {
          Sum y;
          for (int64_t n = 0; n < p.state_dim; ++n) {
            const double q = ready.q[i][r][n];
            y.value += q * state[n].value;
            y.magnitude += std::fabs(q) * state[n].magnitude;
          }
          if (p.skip) y.Add(in.d(head), ready.x[i][r][c], 1);
          const size_t at = YAt(p, run.row, run.first + i, r, head, c);
          const double error = gamma * y.magnitude + 0x1p-140;
          const double lane =
              p.lane == Lane::kF32 ? 0 : 0x1p-8 * (std::fabs(y.value) + error);
          form.y.value[at] = y.value;
          form.y.bound[at] = error + lane;
        }
      }
    }
  });
  return form;
}

}  // namespace lockstep::test
