// The laws of a scan's gradients: a cotangent reaches earlier tokens only, runs
// are apart (a foreign run's cotangents reach nothing here), a run may be
// walked in parts, the last one first, and gradients are linear in the
// cotangents.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "reference/mamba3_scan.h"
#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/ops/mamba3_scan/laws.h"
#include "verify/ops/mamba3_scan/slice.h"
#include "verify/ops/mamba3_scan_backward/trial.h"
#include "verify/ops/scale.h"

namespace lockstep::verify {
namespace {

using T = ScanTensor;

class BackwardLaws : public ScanLaws {
 public:
  using ScanLaws::ScanLaws;

  bool Always() const { return true; }
  bool Apart() const { return problem().length > 1; }

  Result<Law> Reach() const;
  Result<Law> Split() const;
  Result<Law> Scale() const;
  Result<Law> Heads() const;

 private:
  Result<Mamba3ScanData> Copy(const Case& request) const {
    return PickScan(trial().data(), PickAll(trial().data()),
                    request.Get<Mamba3ScanCase>());
  }
  // The tokens of a call on part of a run: those from `from` on of the case's.
  void KeepTokens(int64_t run, int64_t from, LawCall* call) const;
  Result<LawCall> LastPart(int64_t run, int64_t cut) const;
};

// Other cotangents of y before a cut change nothing from it on.
Result<Law> BackwardLaws::Reach() const {
  const int64_t cut = 1 + Draw(LawDraw::kCut, problem().length - 1);
  ASSIGN_OR_RETURN(Mamba3ScanData data, Copy(request()));
  const LaneTensor& dy = data.at(T::kDy).tensor;
  const int64_t ranks = problem().output_ranks();
  const LaneView given = trial().data().at(T::kDy).tensor.const_view();
  ForElements(dy.view.shape, [&](const ::lockstep::verify::At& at) {
    if (at[2] >= cut * ranks) return;
    const int64_t last = problem().length * ranks - 1;
    SetElement(dy.view, at,
               ElementBits(given, {at[0], at[1], last - at[2], at[3]}));
  });
  LawCall call = CallOn(request(), std::move(data));
  for (size_t t = 0; t < call.kept.size(); ++t) {
    const OutputSpec& spec = trial().outputs()[t];
    if (PlaceOf(spec) != GradientPlace::kToken) continue;
    for (int64_t line = 0; line < spec.lines(); ++line) {
      const int64_t at = LineIndex(spec, line, 0)[spec.down];
      if (at >= cut * (spec.shape[spec.down] / problem().length)) {
        call.kept[t].push_back({line, line});
      }
    }
  }
  return OneCall(true, std::move(call));
}

void BackwardLaws::KeepTokens(int64_t run, int64_t from, LawCall* call) const {
  const auto& there = call->trial->outputs();
  for (size_t t = 0; t < call->kept.size(); ++t) {
    const OutputSpec& spec = trial().outputs()[t];
    if (PlaceOf(spec) != GradientPlace::kToken) continue;
    for (int64_t line = 0; line < there[t].lines(); ++line) {
      auto at = LineIndex(there[t], line, 0);
      at[0] = At(run).row;
      at[spec.down] += from * (spec.shape[spec.down] / problem().length);
      call->kept[t].push_back(
          {line, (at[0] * spec.shape[1] + at[1]) * spec.shape[2] + at[2]});
    }
  }
}

// From the cut on, from the carry that the reference leaves in front of it.
Result<LawCall> BackwardLaws::LastPart(int64_t run, int64_t cut) const {
  Case part = request();
  part.Get<Mamba3ScanCase>().carry = "thkv";
  Result<LawCall> call = Alone(run, {At(run).row, cut, At(run).end}, part);
  if (!call.ok()) return call;
  const auto* made =
      static_cast<const Mamba3ScanBackwardTrial*>(call->trial.get());
  const auto data = [&](T tensor) {
    return made->data().at(tensor).tensor.view;
  };
  const ScanSlice slice =
      SliceRun(trial().data().problem, trial().data().inputs,
               {At(run).row, At(run).first, cut}, run);
  const int64_t ranks = problem().output_ranks();
  const std::array<int64_t, 4> shape = {1, slice.problem.length * ranks,
                                        problem().heads, problem().head_dim};
  ASSIGN_OR_RETURN(LaneTensor y, AllocateLaneTensor(problem().lane, shape,
                                                    DenseStrides(shape), 0));
  const auto& s = y.view.strides;
  Mamba3ScanOutputs out;
  out.y = {
      y.view.data,
      problem().lane,
      {1, slice.problem.length, ranks, problem().heads, problem().head_dim},
      {s[0], s[1] * ranks, s[1], s[2], s[3]}};
  const auto view = [&](T tensor) {
    const MutableLaneView x = data(tensor);
    return TensorView<float, 4>{static_cast<float*>(x.data), x.shape,
                                x.strides};
  };
  const auto flat = [&](T tensor) {
    const TensorView<float, 4> x = view(tensor);
    return TensorView<float, 3>{x.data,
                                {x.shape[0], x.shape[1], x.shape[3]},
                                {x.strides[0], x.strides[1], x.strides[3]}};
  };
  out.carry.theta.shape = {1, problem().heads, 0};
  if (problem().angles > 0) out.carry.theta = flat(T::kCarryTheta);
  out.carry.h = view(T::kCarryH);
  out.carry.k = view(T::kCarryK);
  out.carry.v = flat(T::kCarryV);
  reference::ComputeMamba3Scan(slice.problem, slice.inputs, out);
  return call;
}

// A run in two calls, the second of its first part, whose carry has the
// gradient of the last part's as its cotangent.
Result<Law> BackwardLaws::Split() const {
  const int64_t run = DrawRun(2);
  const int64_t before = 1 + Draw(LawDraw::kCut, TokensOf(run) - 1);
  const int64_t cut = At(run).first + before;
  ASSIGN_OR_RETURN(LawCall last, LastPart(run, cut));
  KeepTokens(run, cut, &last);
  Case part = request();
  part.Get<Mamba3ScanBackwardCase>().dcarry = true;
  ASSIGN_OR_RETURN(LawCall first,
                   Alone(run, {At(run).row, At(run).first, cut}, part));
  KeepTokens(run, At(run).first, &first);
  for (size_t t = 0; t < first.kept.size(); ++t) {
    if (PlaceOf(trial().outputs()[t]) != GradientPlace::kCarry) continue;
    for (int64_t row = 0; row < trial().RowsPerRun(); ++row) {
      KeepLines(t, row, run * trial().RowsPerRun() + row, 0, &first);
    }
  }
  first.take = [made = first.trial.get()](const OutputSet& done) {
    static_cast<Mamba3ScanBackwardTrial*>(made)->TakeCarry(done);
  };
  for (const OutputSpec& spec : last.trial->outputs()) {
    if (!spec.name.starts_with("dinit_")) continue;
    first.taken.push_back({"dcarry_" + spec.name.substr(6), spec.name});
  }
  Law law;
  law.may_be_refused = true;  // other lengths
  law.calls.push_back(std::move(last));
  law.calls.push_back(std::move(first));
  return law;
}

// Cotangents times a power of two: so is every gradient.
Result<Law> BackwardLaws::Scale() const {
  const auto exponent =
      -1 - static_cast<int>(Draw(LawDraw::kScale, kMostHalvings));
  ASSIGN_OR_RETURN(Mamba3ScanData data, Copy(request()));
  for (const T tensor : {T::kDy, T::kDTheta, T::kDH, T::kDK, T::kDV}) {
    if (!ScaleTensor(data.at(tensor).tensor, exponent)) return Law();
  }
  LawCall call = CallOn(request(), std::move(data));
  ASSIGN_OR_RETURN(const bool normal, StaysNormal(*call.trial));
  if (!normal) return Law();
  for (size_t t = 0; t < call.kept.size(); ++t) {
    for (int64_t n = 0; n < trial().outputs()[t].lines(); ++n) {
      call.kept[t].push_back({n, n});
    }
  }
  Law law = OneCall(false, std::move(call));
  law.exponents.assign(trial().outputs().size(), exponent);
  return law;
}

// A group's sum over its heads is in their order.
Result<Law> BackwardLaws::Heads() const {
  const ScanPick pick = MovedHeads();
  ASSIGN_OR_RETURN(LawCall call, CallOn(request(), pick));
  for (size_t t = 0; t < call.kept.size(); ++t) {
    const OutputSpec& spec = trial().outputs()[t];
    if (OfGroups(spec) && problem().group() > 1) continue;
    for (int64_t line = 0; line < spec.lines(); ++line) {
      auto at = LineIndex(spec, line, 0);
      for (size_t i = 0; i < 3; ++i) {
        const std::string_view axis = AxisOf(spec, i);
        if (axis != "h" && axis != "g") continue;
        at[i] = pick.heads[static_cast<size_t>(at[i])];
      }
      call.kept[t].push_back(
          {line, (at[0] * spec.shape[1] + at[1]) * spec.shape[2] + at[2]});
    }
  }
  return OneCall(false, std::move(call));
}

constexpr LawRow<BackwardLaws> kLaws[] = {
    {"reach", &BackwardLaws::Apart, &BackwardLaws::Reach},
    {"separate", &BackwardLaws::Several, &BackwardLaws::Separate},
    {"split", &BackwardLaws::Splits, &BackwardLaws::Split},
    {"isolation", &BackwardLaws::Isolates, &BackwardLaws::Isolation},
    {"order", &BackwardLaws::Several, &BackwardLaws::Order},
    {"scale", &BackwardLaws::Always, &BackwardLaws::Scale},
    {"encoding", &BackwardLaws::Encodes, &BackwardLaws::Encoding},
    {"heads", &BackwardLaws::HasHeads, &BackwardLaws::Heads},
    {"relabel", &BackwardLaws::HasIds, &BackwardLaws::Relabel},
};

}  // namespace

std::vector<std::string> Mamba3ScanBackwardTrial::LawNames() const {
  if (rows() > kLawWork / RowCost()) return {};
  return NamesOfLaws(kLaws, BackwardLaws(*this, 0));
}

Result<Law> Mamba3ScanBackwardTrial::MakeLaw(const std::string& name,
                                             uint64_t salt) const {
  return MakeLawOf(kLaws, BackwardLaws(*this, salt), name);
}

}  // namespace lockstep::verify
