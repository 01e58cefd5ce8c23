#include "verify/case/attention_forward/scales.h"

#include <algorithm>
#include <array>
#include <cmath>
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
    return Status::Error(std::string(key) + ": " + FormatFillTerm(values) +
                         " is no distribution of scales; want const:X or "
                         "uniform:LO,HI");
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

// `scale` times the scale that all keys of a head share.
Status CheckFactor(const AttentionForwardCase& a) {
  if (!a.k_scale.any() || a.k_scale.layout.by_key()) return {};
  const FillTerm& values = a.k_scale.values;
  const double most =
      values.kind == FillKind::kConst ? values.a.value : values.b.value;
  const double factor = std::fabs(a.scale.value) * most * kLog2E;
  const double over = a.softcap ? std::min(1.0, a.softcap->value) : 1.0;
  if (factor / over <= LaneRowOf(Lane::kF32).largest) return {};
  return Status::Error("kscale: " + FormatNumber(Number{most}) +
                       " times scale=" + FormatNumber(a.scale) +
                       " leaves f32's range; want a smaller one");
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
  for (const ScaleSpec& spec : {c.k_scale, c.v_scale}) {
    if (!spec.any() || spec.values == ConstantScales(1).values) continue;
    return Status::Error(name +
                         ": scales other than 1 change its numbers; want "
                         "const:1, or tensor:1");
  }
  return {};
}

KeyScaleView ShapeOfScales(const AttentionForwardCase& c,
                           const ScaleSpec& spec) {
  KeyScaleView view;
  if (!spec.any()) return view;
  view.shape = ScaleShape(spec.layout, c.batch, c.kv_heads, c.kv_len);
  view.strides = DenseStrides(view.shape);
  return view;
}

}  // namespace lockstep::verify
