// Digests and memory layouts of a scan's tensors.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "reference/contract/ssd_scan.h"
#include "reference/runs.h"
#include "verify/base/digest.h"
#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/inputs/fill.h"
#include "verify/inputs/mamba3_scan.h"
#include "verify/inputs/ssd_scan.h"

namespace lockstep::verify {
namespace {

using T = ScanTensor;

template <size_t kRank>
std::array<int64_t, kRank> Pick(const std::array<int64_t, 4>& from,
                                const std::array<int, kRank>& axes) {
  std::array<int64_t, kRank> picked{};
  for (size_t i = 0; i < kRank; ++i) {
    picked[i] = from[static_cast<size_t>(axes[i])];
  }
  return picked;
}

// As the contract's view, whose axes are those of the storage in this order.
template <size_t kRank>
TensorView<const float, kRank> Floats(const ScanStorage& storage,
                                      const std::array<int, kRank>& axes) {
  const MutableLaneView& from = storage.tensor.view;
  return {static_cast<const float*>(from.data), Pick(from.shape, axes),
          Pick(from.strides, axes)};
}
// [b, t, h, c] from [b, h, t, c].
LaneView Tokens(const ScanStorage& storage) {
  const MutableLaneView& from = storage.tensor.view;
  return {from.data, from.lane, Pick<4>(from.shape, {0, 2, 1, 3}),
          Pick<4>(from.strides, {0, 2, 1, 3})};
}

}  // namespace

BasicLaneView<const void, 5> RankedTokens(const ScanStorage& storage,
                                          int64_t ranks) {
  const MutableLaneView& from = storage.tensor.view;
  const auto& n = from.shape;
  const auto& s = from.strides;
  return {from.data,
          from.lane,
          {n[0], n[2] / ranks, ranks, n[1], n[3]},
          {s[0], s[2] * ranks, s[2], s[1], s[3]}};
}

Mamba3Carry<const float> CarryViews(const Mamba3ScanData& data,
                                    ScanTensor theta) {
  const auto part = [&](int n) -> const ScanStorage& {
    return data.storage[static_cast<size_t>(theta) + static_cast<size_t>(n)];
  };
  Mamba3Carry<const float> carry = {
      Floats<3>(part(0), {0, 1, 3}), Floats<4>(part(1), {0, 1, 2, 3}),
      Floats<4>(part(2), {0, 1, 2, 3}), Floats<3>(part(3), {0, 1, 3})};
  if (carry.given() && data.problem.angles == 0) {
    carry.theta.shape = {carry.h.shape[0], data.problem.heads, 0};
  }
  return carry;
}

uint32_t StreamOf(ScanTensor tensor) {
  const auto n = static_cast<uint32_t>(tensor);
  return n < 3 ? n : n + 1;
}

Status MakeScanRuns(const Mamba3ScanCase& c, int64_t shift,
                    Mamba3ScanData* data) {
  data->inputs.cu_seqlens = c.cu;
  if (data->problem.runs != Mamba3ScanProblem::Runs::kSegments) return {};
  const int64_t rows = data->problem.batch;
  const int64_t length = data->problem.length;
  ASSIGN_OR_RETURN(
      auto buffer,
      GuardedBuffer::Allocate(rows * length * 4, (shift % 16 + 16) % 16 * 4));
  data->segments = std::move(buffer);
  auto* ids = reinterpret_cast<int32_t*>(data->segments.data());
  data->inputs.segments = {ids, {rows, length}, {length, 1}};
  for (int64_t b = 0; b < rows; ++b) {
    const size_t row = c.seg.rows.size() == 1 ? 0 : static_cast<size_t>(b);
    for (const SegmentRun& run : c.seg.rows[row]) {
      ids = std::fill_n(ids, run.length, run.id);
    }
  }
  return {};
}

void ViewScan(Mamba3ScanData* data) {
  const Mamba3ScanProblem& p = data->problem;
  Mamba3ScanInputs& in = data->inputs;
  const auto at = [&](ScanTensor tensor) -> const ScanStorage& {
    return data->at(tensor);
  };
  in.q = RankedTokens(at(T::kQ), p.ranks);
  in.k = RankedTokens(at(T::kK), p.ranks);
  in.v = Tokens(at(T::kV));
  in.a = Floats<3>(at(T::kA), {0, 1, 2});
  in.dt = Floats<3>(at(T::kDt), {0, 1, 2});
  const MutableLaneView& tau = at(T::kTau).tensor.view;
  in.tau = {tau.data, tau.lane, Pick<3>(tau.shape, {0, 1, 2}),
            Pick<3>(tau.strides, {0, 1, 2})};
  if (at(T::kRate).there()) in.vartheta = Tokens(at(T::kRate));
  if (at(T::kZ).there()) in.z = Tokens(at(T::kZ));
  in.bq = Floats<3>(at(T::kBq), {1, 2, 3});
  in.bk = Floats<3>(at(T::kBk), {1, 2, 3});
  in.d = Floats<1>(at(T::kD), {1});
  in.psi = Floats<3>(at(T::kPsi), {1, 2, 3});
  in.zeta = Floats<3>(at(T::kZeta), {1, 2, 3});
  in.phi = Floats<3>(at(T::kPhi), {1, 2, 3});
  in.norm_weight = Floats<2>(at(T::kNormWeight), {1, 3});
  in.carry = CarryViews(*data, T::kCarryTheta);
  // What Mamba-2 does not have is broadcast from one element.
  if (!at(T::kTau).there()) {
    in = AsMamba3(SsdProblemOf(p), SsdInputsOf(in), {}).inputs;
  }
}

void PoisonScanRun(const CounterGenerator& generator, int64_t run,
                   Mamba3ScanData* data) {
  const Mamba3ScanProblem& p = data->problem;
  const auto runs = reference::ListRuns(p, data->inputs);
  const reference::Run& poisoned = runs[static_cast<size_t>(run)];
  for (const ScanTensor tensor :
       {ScanTensor::kQ, ScanTensor::kK, ScanTensor::kV, ScanTensor::kZ,
        ScanTensor::kDy}) {
    if (!data->at(tensor).there()) continue;
    const MutableLaneView& view = data->at(tensor).tensor.view;
    const int64_t ranks = view.shape[2] / p.length;
    for (int64_t h = 0; h < view.shape[1]; ++h) {
      for (int64_t t = poisoned.first * ranks; t < poisoned.end * ranks; ++t) {
        PoisonRow(generator, StreamOf(tensor), view, {poisoned.row, h, t});
      }
    }
  }
}

ScanShape CarryShape(ScanTensor tensor, const Mamba3ScanProblem& p,
                     int64_t runs) {
  ScanShape shape;
  if (IsCarryCotangent(tensor)) {
    // The shape of what it is the cotangent of.
    constexpr auto kApart = static_cast<uint8_t>(ScanTensor::kDTheta) -
                            static_cast<uint8_t>(ScanTensor::kCarryTheta);
    tensor = static_cast<ScanTensor>(static_cast<uint8_t>(tensor) - kApart);
  }
  if (tensor == ScanTensor::kCarryTheta) {
    shape.shape = {runs, p.heads, 1, p.angles};
  } else if (tensor == ScanTensor::kCarryH) {
    shape.shape = {runs, p.heads, p.head_dim, p.state_dim};
  } else if (tensor == ScanTensor::kCarryK) {
    shape.shape = {runs, p.ranks, p.heads, p.state_dim};
  } else {
    shape.shape = {runs, p.heads, 1, p.head_dim};
  }
  shape.strides = DenseStrides(shape.shape);
  return shape;
}

std::string Mamba3ScanData::InputDigest() const {
  std::string lines;
  const auto add = [&](const char* name, const auto& shape,
                       const std::string& digest) {
    lines += name;
    for (const int64_t extent : shape) lines += " " + std::to_string(extent);
    lines += " " + digest + "\n";
  };
  for (const ScanStorage& one : storage) {
    if (!one.there()) continue;
    add(one.name, one.tensor.view.shape, DigestTensor(one.tensor.const_view()));
  }
  if (inputs.segments.data != nullptr) {
    add("segments", inputs.segments.shape, DigestTensor(inputs.segments));
  }
  if (!inputs.cu_seqlens.empty()) add("cu_seqlens", inputs.cu_seqlens, "");
  return DigestText(lines);
}

std::string Mamba3ScanData::StorageDigest() const {
  std::string digests = segments.Digest();
  for (const ScanStorage& one : storage) digests += one.tensor.buffer.Digest();
  return DigestText(digests);
}

ScanShape TokenShape(const Mamba3ScanCase& c, int64_t heads, int64_t ranks,
                     int64_t channels) {
  const Mamba3ScanProblem& p = c.problem;
  const int64_t positions = p.length * ranks;
  const int64_t row = channels + c.pad;
  ScanShape shape;
  shape.shape = {p.batch, heads, positions, channels};
  shape.strides =
      c.layout == ScanLayout::kBthp
          ? std::array{positions * heads * row, row, heads * row, int64_t{1}}
          : std::array{heads * positions * row, positions * row, row,
                       int64_t{1}};
  // Ranks of a token lie side by side in front of its heads in either layout.
  return shape;
}

ScanShape TimeShape(const Mamba3ScanCase& c) {
  const Mamba3ScanProblem& p = c.problem;
  ScanShape shape;
  shape.shape = {p.batch, p.heads, p.length, 1};
  const int64_t row =
      (c.layout == ScanLayout::kBthp ? p.length : p.heads) + c.pad;
  shape.strides = c.layout == ScanLayout::kBthp
                      ? std::array{p.heads * row, row, int64_t{1}, int64_t{1}}
                      : std::array{p.length * row, int64_t{1}, row, int64_t{1}};
  return shape;
}

}  // namespace lockstep::verify
