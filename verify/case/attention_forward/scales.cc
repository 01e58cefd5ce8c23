#include "verify/case/attention_forward/scales.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "verify/base/status_macros.h"
#include "verify/case/fill.h"

namespace lockstep::verify {
namespace {

constexpr std::string_view kScaleLayouts[] = {"none", "tensor", "head", "token",
                                              "block"};

Status CheckScaleRange(const char* key, const ScaleSpec& spec) {
  if (!spec.any()) return {};
  const FillTerm& values = spec.values;
  const bool one = values.kind == FillKind::kConst;
  if (!one && values.kind != FillKind::kUniform) {
    return Status::Error(
        std::string(key) + ": " + FormatFillTerm(values) +
        " is not a distribution of scales; want const:X or uniform:LO,HI");
  }
  RETURN_IF_ERROR(ValidateFillTerm(values));
  for (const Number& end : {values.a, one ? values.a : values.b}) {
    const auto x = static_cast<float>(end.value);
    if (kLeastKeyScale <= x && x <= kLargestKeyScale) continue;
    return Status::Error(std::string(key) + ": " + FormatNumber(end) +
                         " is out of range; want 2^-60..2^60");
  }
  return {};
}

// The largest scale that all keys, or queries, of a head share; else 1.
double MostShared(const ScaleSpec& spec) {
  if (!spec.layout.shared()) return 1;
  const FillTerm& values = spec.values;
  return values.kind == FillKind::kConst ? values.a.value : values.b.value;
}

// `scale` times the scales that all keys, and all queries, of a head share.
Status CheckFactor(const AttentionForwardCase& a) {
  const double of_k = MostShared(a.k_scale);
  const double of_q = MostShared(a.q_scale);
  const double factor = std::fabs(a.scale.value) * of_k * of_q * kLog2E;
  const double over = a.softcap ? std::min(1.0, a.softcap->value) : 1.0;
  if ((of_k == 1 && of_q == 1) ||
      factor / over <= LaneRowOf(Lane::kF32).largest) {
    return {};
  }
  std::string text;
  if (of_k != 1) text = "kscale: " + FormatNumber(Number{of_k});
  if (of_q != 1) {
    text += (text.empty() ? "qscale: " : " times qscale: ") +
            FormatNumber(Number{of_q});
  }
  return Status::Error(
      text + " times scale=" + FormatNumber(a.scale) + " leaves f32's range" +
      (a.softcap ? " with cap=" + FormatNumber(*a.softcap) : "") +
      "; want a smaller one");
}

Result<int64_t> ParseBlock(Scanner& in) {
  const size_t start = in.position();
  ASSIGN_OR_RETURN(const int64_t keys, in.Int());
  if (keys < 1 || keys > kMaxScaleBlock) {
    return in.ErrorAt(start, "a block of " + std::to_string(keys) +
                                 " keys is out of range; want 1.." +
                                 std::to_string(kMaxScaleBlock));
  }
  if (in.Accept(':')) return keys;
  return in.Error("expected ':' and a distribution, found " + Quote(in.Rest()));
}

}  // namespace

double TypicalScale(const ScaleSpec& spec) {
  if (!spec.any()) return 1;
  const FillTerm& values = spec.values;
  if (values.kind == FillKind::kConst) return values.a.value;
  return (values.a.value + values.b.value) / 2;
}

ScaleSpec ConstantScales(double scale) {
  ScaleSpec spec;
  spec.layout.layout = ScaleLayout::kTensor;
  spec.values.kind = FillKind::kConst;
  spec.values.a.value = scale;
  return spec;
}

Result<std::optional<Lane>> ParseFp8Lane(Scanner& in) {
  constexpr std::string_view kWords[] = {"none", kLaneRows[kWideLanes].name,
                                         kLaneRows[kWideLanes + 1].name};
  for (size_t n = 0; n < std::size(kWords); ++n) {
    if (!in.AcceptWord(kWords[n])) continue;
    if (n == 0) return std::optional<Lane>();
    return std::optional(static_cast<Lane>(kWideLanes + n - 1));
  }
  return in.Error("expected " + ListNames(kWords) + ", found " +
                  Quote(in.Rest()));
}

Status RefuseFp8Lane(Scanner& in) {
  for (size_t n = kWideLanes; n < kLaneRows.size(); ++n) {
    const std::string name = kLaneRows[n].name;
    const size_t at = in.position();
    if (!in.AcceptWord(name)) continue;
    return in.ErrorAt(at, name +
                              " is a lane of q, k and v alone; want f32, bf16 "
                              "or f16 here, and kvlane=" +
                              name + " beside it, with qlane= for q");
  }
  return {};
}

Result<ScaleSpec> ParseScales(Scanner& in) {
  ScaleSpec spec;
  size_t n = 0;
  while (n < std::size(kScaleLayouts) && !in.AcceptWord(kScaleLayouts[n])) ++n;
  if (n == std::size(kScaleLayouts)) {
    return in.Error("expected " + ListNames(kScaleLayouts) + ", found " +
                    Quote(in.Rest()));
  }
  spec.layout.layout = static_cast<ScaleLayout>(n);
  if (!spec.any()) return spec;
  if (!in.Accept(':')) {
    return in.Error("expected ':' behind " + std::string(kScaleLayouts[n]) +
                    ", found " + Quote(in.Rest()));
  }
  if (spec.layout.layout == ScaleLayout::kTensor) {
    spec.values = ConstantScales(1).values;
    ASSIGN_OR_RETURN(spec.values.a, in.Real());
    return spec;
  }
  if (spec.layout.layout == ScaleLayout::kBlock) {
    ASSIGN_OR_RETURN(spec.layout.block, ParseBlock(in));
  }
  ASSIGN_OR_RETURN(spec.values, ParseSingleFill(in, "scales"));
  return spec;
}

std::string FormatScales(const ScaleSpec& spec) {
  const std::string name(
      kScaleLayouts[static_cast<size_t>(spec.layout.layout)]);
  if (!spec.any()) return name;
  if (spec.layout.layout == ScaleLayout::kTensor) {
    return name + ":" + FormatNumber(spec.values.a);
  }
  const std::string block = spec.layout.layout == ScaleLayout::kBlock
                                ? ":" + std::to_string(spec.layout.block)
                                : "";
  return name + block + ":" + FormatFillTerm(spec.values);
}

Status CheckScales(const Case& c) {
  const auto& a = c.Get<AttentionForwardCase>();
  RETURN_IF_ERROR(CheckScaleRange("kscale", a.k_scale));
  RETURN_IF_ERROR(CheckScaleRange("vscale", a.v_scale));
  RETURN_IF_ERROR(CheckScaleRange("qscale", a.q_scale));
  RETURN_IF_ERROR(CheckFactor(a));
  if (a.kv_lane && a.layout == Layout::kVarlen) {
    return Status::Error(
        "layout=varlen with kvlane=: ragged batches have no fp8; "
        "want another layout");
  }
  if (!a.kv_lane || !c.shard) return {};
  return Status::Error(
      "shard= with kvlane=: shards of keys and values in fp8 are not judged; "
      "want shard=none");
}

Status CheckScalesOfProbe(const std::string& name,
                          const AttentionForwardCase& c) {
  for (const ScaleSpec& spec : {c.k_scale, c.v_scale, c.q_scale}) {
    if (!spec.any() || spec.values == ConstantScales(1).values) continue;
    return Status::Error(name +
                         ": scales other than 1 change its numbers; want "
                         "const:1, or tensor:1");
  }
  return {};
}

void DropScales(AttentionForwardProblem* problem,
                AttentionForwardInputs* inputs) {
  problem->q_scales = problem->k_scales = problem->v_scales = {};
  inputs->q_scale = inputs->k_scale = inputs->v_scale = {};
}

void SetShapesOfScales(const AttentionForwardCase& c,
                       AttentionForwardInputs* inputs) {
  const auto shape_of = [&](const ScaleSpec& spec, int64_t heads,
                            int64_t length) {
    KeyScaleView view;
    if (!spec.any()) return view;
    view.shape = ScaleShape(spec.layout, c.batch, heads, length);
    view.strides = DenseStrides(view.shape);
    return view;
  };
  inputs->k_scale = shape_of(c.k_scale, c.kv_heads, c.kv_len);
  inputs->v_scale = shape_of(c.v_scale, c.kv_heads, c.kv_len);
  inputs->q_scale = shape_of(c.q_scale, c.q_heads, c.q_len);
}

}  // namespace lockstep::verify
