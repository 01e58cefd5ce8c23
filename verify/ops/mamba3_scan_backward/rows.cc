// The truth of a row: the reference on a part of the problem.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/contract/numerics.h"
#include "reference/mamba3_scan_backward.h"
#include "verify/base/compare.h"
#include "verify/inputs/mamba3_scan_backward.h"
#include "verify/ops/mamba3_scan/slice.h"
#include "verify/ops/mamba3_scan_backward/trial.h"

namespace lockstep::verify {
namespace {

// The bits of an output whose tokens before `skipped` are not asked for.
std::vector<uint32_t> BitsFrom(const OutputSpec& spec, const LaneTensor& tensor,
                               int64_t skipped, int64_t length) {
  std::vector<uint32_t> bits;
  const LaneView view = tensor.const_view();
  for (int64_t line = 0; line < spec.lines(); ++line) {
    const auto at = LineIndex(spec, line, 0);
    bool asked = true;
    for (size_t i = 0; i < 3; ++i) {
      const std::string_view axis = AxisOf(spec, i);
      if (axis.starts_with("t")) {
        asked = at[i] >= skipped * (spec.shape[i] / length);
      }
    }
    for (int64_t c = 0; asked && c < spec.shape[3]; ++c) {
      bits.push_back(ElementBits(view, {at[0], at[1], at[2], c}));
    }
  }
  return bits;
}

}  // namespace

void Mamba3ScanBackwardTrial::RowBy(const RowInputs& from, int64_t row,
                                    RowBits* bits) const {
  const bool weights = OfWeights(row);
  const auto [first, end] = HeadsOf(row);
  const HeadRange heads{first, end};
  const int64_t index = weights ? 0 : row / RowsPerRun();
  reference::Run at = runs()[static_cast<size_t>(index)];
  if (!weights && at.first == at.end) return EmptyRow(from, row, bits);
  const int64_t skipped = from.joined && !weights ? at.first : 0;
  at.first -= skipped;
  Mamba3ScanBackwardProblem problem = problem_;
  Mamba3ScanBackwardInputs in = BackwardInputsOf(from.data);
  problem.carry_grad = in.dcarry.given();
  const ScanSlice of_run = weights
                               ? ScanSlice{from.problem, from.inputs}
                               : SliceRun(from.problem, from.inputs, at, index);
  const ScanSlice slice = SliceHeads(of_run.problem, of_run.inputs, heads);
  problem.forward = slice.problem;
  in.forward = slice.inputs;
  // A problem without angles has cotangents without them, too.
  if (problem.forward.angles == 0 && in.dcarry.given()) {
    in.dcarry.theta = {
        nullptr, {in.dcarry.h.shape[0], in.dcarry.h.shape[1], 0}, {}};
  }
  Narrow(&in.dy, 3, heads.first, heads.end - heads.first);
  NarrowHeads(&in.dcarry, heads);
  if (!weights) {
    Narrow(&in.dy, 0, at.row, 1);
    Narrow(&in.dy, 1, at.first, at.end - at.first);
    NarrowRuns(&in.dcarry, index);
  }
  const std::vector<OutputSpec> specs =
      GradientSpecs(problem, weights ? static_cast<int64_t>(runs().size()) : 1);
  OutputSet made;
  for (const OutputSpec& spec : specs) {
    made.tensors.push_back(std::move(
        AllocateLaneTensor(spec.lane, spec.shape, DenseStrides(spec.shape), 0)
            .value()));
  }
  const Status done = reference::Mamba3ScanBackward(
      problem, in, GradientViews(problem, specs, made));
  (void)done;  // the data were validated with the case
  bits->assign(outputs().size(), {});
  for (size_t t = 0; t < outputs().size(); ++t) {
    const size_t elements =
        Lines(t, row).size() * static_cast<size_t>(outputs()[t].shape[3]);
    if (elements == 0) continue;
    // A problem that leaves an input out has nothing to say of its gradient.
    (*bits)[t].assign(elements, 0);
    for (size_t s = 0; s < specs.size(); ++s) {
      if (specs[s].name != outputs()[t].name) continue;
      (*bits)[t] =
          BitsFrom(specs[s], made.tensors[s], skipped, problem.forward.length);
    }
  }
}

// What is given behind a run without tokens is the gradient before it.
void Mamba3ScanBackwardTrial::EmptyRow(const RowInputs& from, int64_t row,
                                       RowBits* bits) const {
  bits->assign(outputs().size(), {});
  constexpr ScanTensor kGiven[] = {ScanTensor::kDTheta, ScanTensor::kDH,
                                   ScanTensor::kDK, ScanTensor::kDV};
  constexpr std::string_view kInitialGradients[] = {"dinit_theta", "dinit_h",
                                                    "dinit_k", "dinit_v"};
  for (size_t t = 0; t < outputs().size(); ++t) {
    for (size_t n = 0; n < 4; ++n) {
      if (outputs()[t].name != kInitialGradients[n]) continue;
      const ScanStorage& given = from.data.at(kGiven[n]);
      for (const int64_t line : Lines(t, row)) {
        for (int64_t c = 0; c < outputs()[t].shape[3]; ++c) {
          uint32_t element = 0;
          if (given.there()) {
            element = ElementBits(given.tensor.const_view(),
                                  LineIndex(outputs()[t], line, c));
          }
          const float x = std::bit_cast<float>(element) + 0.0f;
          (*bits)[t].push_back(x != x ? kCanonicalNaNBits
                                      : std::bit_cast<uint32_t>(x));
        }
      }
    }
  }
}

}  // namespace lockstep::verify
