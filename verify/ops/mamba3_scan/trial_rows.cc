// The truth of a scan: one head of one run at a time, by the reference.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/numerics.h"
#include "reference/mamba3_scan.h"
#include "verify/ops/mamba3_scan/slice.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {
namespace {

// The outputs of one head of one run, and their bits as a row has them.
struct HeadOutputs {
  explicit HeadOutputs(const Mamba3ScanProblem& p)
      : y(static_cast<size_t>(p.length * p.output_ranks() * p.head_dim)),
        y16(y.size()),
        theta(static_cast<size_t>(p.angles)),
        h(static_cast<size_t>(p.head_dim * p.state_dim)),
        k(static_cast<size_t>(p.ranks * p.state_dim)),
        v(static_cast<size_t>(p.head_dim)) {}

  Mamba3ScanOutputs View(const Mamba3ScanProblem& p) {
    Mamba3ScanOutputs out;
    out.y.lane = p.lane;
    out.y.data = p.lane == Lane::kF32 ? static_cast<void*>(y.data())
                                      : static_cast<void*>(y16.data());
    out.y.shape = {1, p.length, p.output_ranks(), 1, p.head_dim};
    out.y.strides = DenseStrides(out.y.shape);
    out.carry.theta = {theta.data(), {1, 1, p.angles}, {p.angles, p.angles, 1}};
    out.carry.h = {
        h.data(), {1, 1, p.head_dim, p.state_dim}, {0, 0, p.state_dim, 1}};
    out.carry.k = {
        k.data(), {1, p.ranks, 1, p.state_dim}, {0, p.state_dim, 0, 1}};
    out.carry.v = {v.data(), {1, 1, p.head_dim}, {0, 0, 1}};
    return out;
  }

  std::vector<float> y;
  std::vector<uint16_t> y16;
  std::vector<float> theta, h, k, v;
};

std::vector<uint32_t> BitsOf(const std::vector<float>& x) {
  std::vector<uint32_t> bits;
  for (const float value : x) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

}  // namespace

// One head of a run; the outputs are those of the run's own tokens.
void Mamba3ScanTrial::RowBy(const RowInputs& from, int64_t row,
                            RowBits* bits) const {
  const int64_t run = row / data().problem.heads;
  const int64_t head = row % data().problem.heads;
  const reference::Run& at = runs()[static_cast<size_t>(run)];
  if (at.first == at.end) return EmptyRow(from.inputs, run, head, bits);
  const ScanSlice slice =
      SliceHead(from.problem, from.inputs, at.row, from.joined ? 0 : at.first,
                at.end, head, run);
  const Mamba3ScanProblem& p = slice.problem;
  HeadOutputs out(p);
  reference::ComputeMamba3Scan(p, slice.inputs, out.View(p));
  bits->clear();
  std::vector<uint32_t> y = BitsOf(out.y);
  if (p.lane != Lane::kF32) y.assign(out.y16.begin(), out.y16.end());
  // Of a longer scan only the run itself.
  const int64_t kept = (at.end - at.first) * p.output_ranks() * p.head_dim;
  bits->emplace_back(y.end() - kept, y.end());
  if (data().problem.angles > 0) {
    out.theta.resize(static_cast<size_t>(data().problem.angles));
    bits->push_back(BitsOf(out.theta));
  }
  bits->push_back(BitsOf(out.h));
  if (!HasOutput("carry_k")) return;
  bits->push_back(BitsOf(out.k));
  bits->push_back(BitsOf(out.v));
}

// The carry passes through; without one it is zeros.
void Mamba3ScanTrial::EmptyRow(const Mamba3ScanInputs& inputs, int64_t run,
                               int64_t head, RowBits* bits) const {
  const Mamba3ScanProblem& p = data().problem;
  const auto& carry = inputs.carry;
  const auto value = [run](const auto& view, auto... at) {
    const float x = view.data != nullptr ? view(run, at...) : 0.0f;
    return x != x ? kCanonicalNaNBits : std::bit_cast<uint32_t>(x);
  };
  bits->assign(outputs().size(), {});
  auto part = bits->begin() + 1;
  if (p.angles > 0) {
    for (int64_t s = 0; s < p.angles; ++s) {
      part->push_back(value(carry.theta, head, s));
    }
    ++part;
  }
  for (int64_t c = 0; c < p.head_dim; ++c) {
    for (int64_t n = 0; n < p.state_dim; ++n) {
      part[0].push_back(value(carry.h, head, c, n));
    }
  }
  if (!HasOutput("carry_k")) return;
  for (int64_t c = 0; c < p.head_dim; ++c) {
    part[2].push_back(value(carry.v, head, c));
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    for (int64_t n = 0; n < p.state_dim; ++n) {
      part[1].push_back(value(carry.k, r, head, n));
    }
  }
}

}  // namespace lockstep::verify
