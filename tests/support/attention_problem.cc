#include "tests/support/attention_problem.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "reference/attention_forward.h"
#include "reference/contract/attention_forward.h"
#include "reference/elementary.h"

namespace lockstep::test {
namespace {

constexpr uint32_t kPoison = 0x7fb5a5a5u;  // a NaN nobody computes

size_t Size(const std::array<int64_t, 4>& shape) {
  return static_cast<size_t>(shape[0] * shape[1] * shape[2] * shape[3]);
}

std::array<int64_t, 4> QShape(const AttentionForwardProblem& p) {
  return {p.batch, p.q_heads, p.q_len, p.head_dim};
}
std::array<int64_t, 4> KShape(const AttentionForwardProblem& p) {
  return {p.batch, p.kv_heads, p.kv_len, p.head_dim};
}
std::array<int64_t, 4> VShape(const AttentionForwardProblem& p) {
  return {p.batch, p.kv_heads, p.kv_len, p.value_dim};
}
std::array<int64_t, 4> OShape(const AttentionForwardProblem& p) {
  return {p.batch, p.q_heads, p.q_len, p.value_dim};
}

std::vector<float> Normal(std::mt19937& rng, size_t count, float scale) {
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(count);
  for (float& x : values) x = normal(rng);
  return values;
}

// Stretches of equal ids; ids come back, so segments need not be contiguous.
std::vector<int32_t> RandomIds(std::mt19937& rng, int64_t count) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  int32_t id = 0;
  for (int32_t& x : ids) {
    if (Draw(rng, 0, 15) == 0) id = static_cast<int32_t>(Draw(rng, 0, 3));
    x = id;
  }
  return ids;
}

LaneView Fp8View(Lane lane, const std::vector<float>& values,
                 std::vector<uint8_t>& bytes,
                 const std::array<int64_t, 4>& shape) {
  bytes.clear();
  for (const float x : values) bytes.push_back(NearestFp8(lane, x));
  return {bytes.data(), lane, shape, DenseStrides(shape)};
}

std::array<int64_t, 3> ShapeOfKeys(const KeyScales& scales,
                                   const AttentionForwardProblem& p) {
  return ScaleShape(scales, p.batch, p.kv_heads, p.kv_len);
}
std::array<int64_t, 3> ShapeOfQueries(const KeyScales& scales,
                                      const AttentionForwardProblem& p) {
  return ScaleShape(scales, p.batch, p.q_heads, p.q_len);
}

KeyScaleView ScaleView(const KeyScales& scales,
                       const std::vector<float>& values,
                       const std::array<int64_t, 3>& shape) {
  if (!scales.any()) return {};
  return {values.data(), shape, DenseStrides(shape)};
}

}  // namespace

LaneView ViewOf(Lane lane, const std::vector<float>& values,
                std::vector<uint16_t>& narrow,
                const std::array<int64_t, 4>& shape) {
  if (lane == Lane::kF32) {
    return {values.data(), lane, shape, DenseStrides(shape)};
  }
  narrow.clear();
  for (const float x : values) {
    const auto upper = static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16);
    narrow.push_back(lane == Lane::kF16 ? reference::RoundToF16(x).bits
                                        : upper);
  }
  return {narrow.data(), lane, shape, DenseStrides(shape)};
}

void MakeF16(Instance& instance) {
  AttentionForwardProblem& p = instance.problem;
  p.lane = Lane::kF16;
  if (p.p_lane == Lane::kBf16) p.p_lane = Lane::kF16;
  p.order = ProductOrder::kChain;
}

uint8_t NearestFp8(Lane lane, float x) {
  const auto value = [lane](int byte) {
    const auto bits = static_cast<uint8_t>(byte);
    return lane == Lane::kE4m3 ? ToFloat(E4m3{bits}) : ToFloat(E5m2{bits});
  };
  const auto sign = static_cast<uint8_t>(std::signbit(x) ? 0x80 : 0);
  if (std::isnan(x)) return sign | 0x7f;
  if (std::isinf(x) && lane == Lane::kE5m2) return sign | 0x7c;
  int below = 0;  // magnitudes ascend with their bytes
  int above = lane == Lane::kE4m3 ? 0x7e : 0x7b;
  while (above - below > 1) {
    const int middle = (below + above) / 2;
    (value(middle) <= std::fabs(x) ? below : above) = middle;
  }
  const bool up = value(above) - std::fabs(x) < std::fabs(x) - value(below);
  return sign | static_cast<uint8_t>(up ? above : below);
}

namespace {

KeyScales RandomScales(std::mt19937& rng) {
  KeyScales scales;
  scales.layout = static_cast<ScaleLayout>(Draw(rng, 0, 4));
  constexpr int64_t kBlocks[] = {1, 2, 7, 16, 48, 300};
  if (scales.layout == ScaleLayout::kBlock)
    scales.block = kBlocks[Draw(rng, 0, 5)];
  return scales;
}

std::vector<float> ScaleValues(std::mt19937& rng, const KeyScales& scales,
                               const std::array<int64_t, 3>& shape) {
  std::vector<float> values;
  if (!scales.any()) return values;
  const int reach = Draw(rng, 0, 3) == 0 ? 60 : 3;
  for (int64_t n = shape[0] * shape[1] * shape[2]; n > 0; --n) {
    const auto exponent = static_cast<int>(Draw(rng, -reach, reach - 1));
    const auto x = static_cast<float>(Draw(rng, 1 << 20, (1 << 21) - 1));
    values.push_back(std::ldexp(x, exponent - 20));
  }
  return values;
}

}  // namespace

void MakeFp8Keys(std::mt19937& rng, Instance& instance) {
  AttentionForwardProblem& p = instance.problem;
  p.order = ProductOrder::kChain;
  p.kv_lane = Draw(rng, 0, 1) ? Lane::kE4m3 : Lane::kE5m2;
  p.k_scales = RandomScales(rng);
  p.v_scales = RandomScales(rng);
  // Times 2^60 it is still a number of f32.
  if (p.k_scales.shared()) p.scale *= 0x1p-10;
  instance.k_scale = ScaleValues(rng, p.k_scales, ShapeOfKeys(p.k_scales, p));
  instance.v_scale = ScaleValues(rng, p.v_scales, ShapeOfKeys(p.v_scales, p));
}

void MakeFp8Queries(std::mt19937& rng, Instance& instance) {
  AttentionForwardProblem& p = instance.problem;
  p.q_lane = Draw(rng, 0, 2) == 0 ? Lane::kE5m2 : Lane::kE4m3;
  p.q_scales = RandomScales(rng);
  if (p.q_scales.shared()) p.scale *= 0x1p-20;
  instance.q_scale =
      ScaleValues(rng, p.q_scales, ShapeOfQueries(p.q_scales, p));
}

void PlantSpecial(std::mt19937& rng, std::vector<float>& values) {
  if (Draw(rng, 0, 7) != 0) return;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {std::numeric_limits<float>::quiet_NaN(),
                                kInfinity, -kInfinity, 3e38f, 1e-41f};
  values[static_cast<size_t>(
      Draw(rng, 0, static_cast<int64_t>(values.size()) - 1))] =
      kSpecial[Draw(rng, 0, 4)];
}

int64_t Draw(std::mt19937& rng, int64_t least, int64_t most) {
  const auto span = static_cast<uint64_t>(most - least + 1);
  return least + static_cast<int64_t>(rng() % span);
}

Outputs::Outputs(const AttentionForwardProblem& p)
    : problem(p),
      o(Size(OShape(p)), kPoison),
      lse(static_cast<size_t>(p.batch * p.q_heads * p.q_len),
          std::bit_cast<float>(kPoison)) {}

AttentionForwardOutputs Outputs::View() {
  const auto shape = OShape(problem);
  const std::array<int64_t, 3> rows{shape[0], shape[1], shape[2]};
  return {{o.data(), problem.lane, shape, DenseStrides(shape)},
          {lse.data(), rows, DenseStrides(rows)}};
}

std::vector<uint32_t> Outputs::Bits() const {
  std::vector<uint32_t> bits;
  const auto* halves = reinterpret_cast<const uint16_t*>(o.data());
  for (size_t i = 0; i < o.size(); ++i) {
    bits.push_back(problem.lane == Lane::kF32 ? o[i] : halves[i]);
  }
  for (const float x : lse) bits.push_back(std::bit_cast<uint32_t>(x));
  return bits;
}

void Instance::Fill(std::mt19937& rng, float q_spread, float v_spread) {
  q = Normal(rng, Size(QShape(problem)), q_spread);
  k = Normal(rng, Size(KShape(problem)), 1.0f);
  v = Normal(rng, Size(VShape(problem)), v_spread);
  sink = Normal(rng, static_cast<size_t>(problem.q_heads), 3.0f);
  q_seg = RandomIds(rng, problem.batch * problem.q_len);
  kv_seg = RandomIds(rng, problem.batch * problem.kv_len);
}

AttentionForwardInputs Instance::Inputs() {
  AttentionForwardInputs in;
  const AttentionForwardProblem& p = problem;
  in.q = p.q_lane ? Fp8View(*p.q_lane, q, q_bytes_, QShape(p))
                  : ViewOf(p.lane, q, q_narrow_, QShape(p));
  if (p.kv_lane) {
    in.k = Fp8View(*p.kv_lane, k, k_bytes_, KShape(p));
    in.v = Fp8View(*p.kv_lane, v, v_bytes_, VShape(p));
  } else {
    in.k = ViewOf(p.lane, k, k_narrow_, KShape(p));
    in.v = ViewOf(p.lane, v, v_narrow_, VShape(p));
  }
  in.k_scale = ScaleView(p.k_scales, k_scale, ShapeOfKeys(p.k_scales, p));
  in.v_scale = ScaleView(p.v_scales, v_scale, ShapeOfKeys(p.v_scales, p));
  in.q_scale = ScaleView(p.q_scales, q_scale, ShapeOfQueries(p.q_scales, p));
  in.valid_q = valid_q;
  in.valid_kv = valid_kv;
  if (p.sink) in.sink = {sink.data(), {p.q_heads}, {1}};
  if (p.segments) {
    in.q_seg = {q_seg.data(), {p.batch, p.q_len}, {p.q_len, 1}};
    in.kv_seg = {kv_seg.data(), {p.batch, p.kv_len}, {p.kv_len, 1}};
  }
  if (!dense.empty()) {
    const std::array<int64_t, 4> shape{1, 1, p.q_len, p.kv_len};
    in.dense_masks.push_back({dense.data(), shape, DenseStrides(shape)});
  }
  return in;
}

std::vector<uint32_t> Instance::RunReference() {
  Outputs outputs(problem);
  const AttentionForwardInputs in = Inputs();
  const Status status =
      reference::AttentionForward(problem, in, outputs.View());
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs.Bits();
}

std::vector<uint32_t> Instance::RunOptimized(
    const optimized::Caps& caps,
    optimized::AttentionForwardExecution* execution) {
  Outputs outputs(problem);
  const Result<optimized::Plan> plan = optimized::MakePlan(problem, caps);
  EXPECT_TRUE(plan.ok()) << plan.message();
  const AttentionForwardInputs in = Inputs();
  const Status status = optimized::AttentionForward(problem, in, plan.value(),
                                                    outputs.View(), execution);
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs.Bits();
}

Status Instance::RunPlan(const optimized::Plan& plan) {
  Outputs outputs(problem);
  const AttentionForwardInputs in = Inputs();
  return optimized::AttentionForward(problem, in, plan, outputs.View(),
                                     nullptr);
}

MaskExpr RandomTerm(std::mt19937& rng) {
  MaskExpr mask;
  switch (Draw(rng, 0, 5)) {
    case 1:
      mask.kind = MaskExpr::Kind::kCausal;
      break;
    case 2:
      mask.kind = MaskExpr::Kind::kWindow;
      mask.left = Draw(rng, -1, 40);
      mask.right = Draw(rng, -1, 20);
      break;
    case 3:
      mask.kind = MaskExpr::Kind::kChunked;
      mask.chunk = Draw(rng, 1, 50);
      break;
    case 4:
      mask.kind = MaskExpr::Kind::kPrefix;
      mask.prefix = {Draw(rng, 0, 80)};
      break;
    case 5:
      mask.kind = MaskExpr::Kind::kSink;
      mask.tokens = Draw(rng, 0, 9);
      break;
    default:
      break;
  }
  return mask;
}

MaskExpr RandomMask(std::mt19937& rng) {
  MaskExpr mask = RandomTerm(rng);
  for (int64_t more = Draw(rng, 0, 2); more > 0; --more) {
    MaskExpr joined;
    joined.kind = Draw(rng, 0, 1) ? MaskExpr::Kind::kAnd : MaskExpr::Kind::kOr;
    joined.children.push_back(std::move(mask));
    joined.children.push_back(RandomTerm(rng));
    mask = std::move(joined);
  }
  return mask;
}

Instance RandomInstance(std::mt19937& rng) {
  Instance instance;
  AttentionForwardProblem& p = instance.problem;
  p.batch = Draw(rng, 1, 2);
  p.kv_heads = Draw(rng, 1, 2);
  p.q_heads = p.kv_heads * Draw(rng, 1, 3);
  p.q_len = Draw(rng, 1, 70);
  p.kv_len = Draw(rng, 1, 150);
  p.head_dim = Draw(rng, 1, 40);
  p.value_dim = Draw(rng, 1, 40);
  p.lane = Draw(rng, 0, 1) ? Lane::kF32 : Lane::kBf16;
  p.p_lane = Draw(rng, 0, 1) ? Lane::kF32 : Lane::kBf16;
  // Not drawn: what a seed gives beside it stays.
  if (p.lane == Lane::kBf16 && p.p_lane == Lane::kBf16 && p.q_len % 2 != 0) {
    p.order = ProductOrder::kAmx;
  }
  p.scale = 1.0 / std::sqrt(static_cast<double>(p.head_dim));
  constexpr double kCaps[] = {0.5, 2, 30, 50, 1e4};
  if (Draw(rng, 0, 1)) p.softcap = kCaps[Draw(rng, 0, 4)];
  p.align.kind = static_cast<Alignment::Kind>(Draw(rng, 0, 2));
  p.align.offset = Draw(rng, -30, 30);
  p.masks = {RandomMask(rng)};
  while (Draw(rng, 0, 3) == 0 &&
         static_cast<int64_t>(p.masks.size()) != p.q_heads) {
    p.masks.clear();
    for (int64_t h = 0; h < p.q_heads; ++h) p.masks.push_back(RandomMask(rng));
  }
  p.segments = Draw(rng, 0, 2) == 0;
  p.sink = Draw(rng, 0, 2) == 0;
  constexpr float kSpreads[] = {0.1f, 1.0f, 4.0f, 30.0f};
  instance.Fill(rng, kSpreads[Draw(rng, 0, 3)],
                Draw(rng, 0, 9) == 0 ? 1e37f : 1.0f);
  for (auto* values : {&instance.q, &instance.k, &instance.v}) {
    PlantSpecial(rng, *values);
  }
  for (float& x : instance.sink) {
    if (Draw(rng, 0, 4) == 0) x = 100.0f;
    if (Draw(rng, 0, 6) == 0) x = -std::numeric_limits<float>::infinity();
  }
  if (Draw(rng, 0, 2) == 0) {
    for (int64_t b = 0; b < p.batch; ++b) {
      instance.valid_q.push_back(Draw(rng, 0, p.q_len));
      instance.valid_kv.push_back(Draw(rng, 0, p.kv_len));
    }
  }
  return instance;
}

}  // namespace lockstep::test
