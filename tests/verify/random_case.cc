#include "tests/verify/random_case.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "verify/case/attention_forward/case.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// mt19937_64 is fully specified; the library's distributions are not.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t Bits() { return engine_(); }
  int64_t In(int64_t low, int64_t high) {
    return low +
           static_cast<int64_t>(Bits() % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int64_t n) { return In(1, n) == 1; }

  Number Real() {
    switch (In(0, 7)) {
      case 0:
        return {static_cast<double>(In(-1000, 1000))};
      case 1:
        return {std::numeric_limits<double>::quiet_NaN()};
      case 2:
        return {-std::numeric_limits<double>::infinity()};
      case 3:
        return {static_cast<double>(In(1, 999)) / 1000};
      default:
        break;
    }
    const double x = std::bit_cast<double>(Bits());
    return {std::isfinite(x) ? x : 0.5};
  }

 private:
  std::mt19937_64 engine_;
};

MaskExpr RandomTerm(Random& random, std::vector<DenseSource>* dense) {
  using Kind = MaskExpr::Kind;
  MaskExpr term;
  term.kind = static_cast<Kind>(random.In(0, static_cast<int>(Kind::kDense)));
  switch (term.kind) {
    case Kind::kWindow:
      term.left = random.OneIn(3) ? kUnlimited : random.In(0, 99);
      term.right = random.OneIn(3) ? kUnlimited : random.In(0, 99);
      break;
    case Kind::kChunked:
      term.chunk = random.In(-1, 64);
      break;
    case Kind::kPrefix:
      for (int64_t n = random.In(1, 3); n > 0; --n) {
        term.prefix.push_back(random.In(-1, 64));
      }
      break;
    case Kind::kSink:
      term.tokens = random.In(-1, 9);
      break;
    case Kind::kDense: {
      DenseSource source;
      source.kind = static_cast<DenseSource::Kind>(random.In(0, 5));
      if (source.from_file()) {
        source.path = "dir/mask,1.safetensors";
        if (random.OneIn(2)) source.digest = std::string(32, 'b');
      } else if (source.listed()) {
        source.draw = static_cast<DenseSource::ListDraw>(random.In(0, 2));
      } else {
        source.density = random.Real();
      }
      if (source.listed()) source.entries = random.In(-1, 9);
      if (source.kind == DenseSource::Kind::kBlocks) {
        source.block_q = random.In(-1, 9);
        source.block_k = random.In(-1, 9);
      }
      if (source.kind == DenseSource::Kind::kBlockFile) {
        term.block_q = source.block_q = random.In(-1, 9);
        term.block_k = source.block_k = random.In(-1, 9);
      }
      term.dense = dense->size();
      dense->push_back(std::move(source));
      break;
    }
    default:
      break;
  }
  return term;
}

// Canonical trees: And and Or alternate.
MaskExpr RandomMask(Random& random, std::vector<DenseSource>* dense, int depth,
                    std::optional<MaskExpr::Kind> above = {}) {
  if (depth == 0 || random.OneIn(2)) return RandomTerm(random, dense);
  MaskExpr mask;
  mask.kind = random.OneIn(2) ? MaskExpr::Kind::kAnd : MaskExpr::Kind::kOr;
  if (above) {
    mask.kind = *above == MaskExpr::Kind::kAnd ? MaskExpr::Kind::kOr
                                               : MaskExpr::Kind::kAnd;
  }
  for (int64_t n = random.In(2, 4); n > 0; --n) {
    mask.children.push_back(RandomMask(random, dense, depth - 1, mask.kind));
  }
  return mask;
}

Segments RandomSegments(Random& random) {
  Segments segments;
  segments.kind = static_cast<Segments::Kind>(random.In(0, 2));
  if (segments.kind != Segments::Kind::kRuns) return segments;
  for (int64_t rows = random.In(1, 3); rows > 0; --rows) {
    std::vector<SegmentRun> runs;
    const bool counted = random.OneIn(2);
    for (int64_t n = random.In(1, 4); n > 0; --n) {
      auto id = static_cast<int32_t>(runs.size());
      if (!counted) id = static_cast<int32_t>(random.In(-9, 9));
      if (!runs.empty() && runs.back().id == id) continue;
      runs.push_back({id, random.In(1, 50)});
    }
    segments.rows.push_back(std::move(runs));
  }
  return segments;
}

FillTerm RandomFillTerm(Random& random) {
  const auto families = FillFamilies();
  const FillFamily& family = families[static_cast<size_t>(
      random.In(0, static_cast<int64_t>(families.size()) - 1))];
  FillTerm term;
  term.kind = family.kind;
  if (random.OneIn(2)) {
    term.tensors = static_cast<uint8_t>(random.In(1, kFillAll));
  }
  if (family.numbers > 0) term.a = random.Real();
  if (family.numbers > 1) term.b = random.Real();
  if (family.kind == FillKind::kProbe) {
    term.tensors = kFillAll;
    term.probe = Probes()[static_cast<size_t>(random.In(
                              0, static_cast<int64_t>(Probes().size()) - 1))]
                     .kind;
  }
  if (family.kind == FillKind::kCaps || family.kind == FillKind::kDrift ||
      family.kind == FillKind::kLow || family.kind == FillKind::kPeak) {
    term.tensors = kFillAll;
  }
  if (family.kind == FillKind::kFile) {
    term.path = "data/captured/x+y.safetensors";
    term.digest = std::string(32, 'a');
  }
  return term;
}

std::vector<int64_t> RandomCounts(Random& random) {
  std::vector<int64_t> counts;
  for (int64_t n = random.In(1, 3); n > 0; --n) {
    counts.push_back(random.In(-1, 40));
  }
  return counts;
}

std::optional<std::array<int64_t, 4>> RandomStrides(Random& random) {
  if (random.OneIn(2)) return {};
  std::array<int64_t, 4> strides{};
  for (int64_t& stride : strides) stride = random.In(0, 5000);
  return strides;
}

void RandomPayload(Random& random, AttentionForwardCase* a) {
  if (random.OneIn(2)) a->align.kind = Alignment::Kind::kBottomRight;
  if (random.OneIn(3)) {
    a->align = {Alignment::Kind::kOffset, random.In(-50, 50)};
  }
  a->q_seg = RandomSegments(random);
  a->kv_seg = RandomSegments(random);
  a->valid_q = random.OneIn(2) ? std::vector{a->q_len} : RandomCounts(random);
  a->valid_kv = random.OneIn(2) ? std::vector{a->kv_len} : RandomCounts(random);
  a->layout = static_cast<Layout>(random.In(0, 2));
  if (random.OneIn(3)) {
    a->strides = {RandomStrides(random), RandomStrides(random),
                  RandomStrides(random), RandomStrides(random)};
  }
  if (random.OneIn(2)) {
    a->fill.clear();
    for (int64_t n = random.In(1, 3); n > 0; --n) {
      a->fill.push_back(RandomFillTerm(random));
    }
  }
  if (random.OneIn(3)) {
    FillTerm sink;
    sink.kind = static_cast<FillKind>(random.In(0, 3));
    sink.a = random.Real();
    if (sink.kind == FillKind::kUniform || sink.kind == FillKind::kInt) {
      sink.b = random.Real();
    }
    a->sinklogit = sink;
  }
}

}  // namespace

Case RandomCase(uint64_t seed) {
  Random random(seed);
  AttentionForwardCase a;
  a.batch = random.In(1, 3);
  a.kv_heads = random.In(0, 3);
  a.q_heads = random.OneIn(2) ? a.kv_heads : random.In(1, 6);
  a.q_len = random.In(-1, 129);
  a.kv_len = random.In(1, 129);
  a.head_dim = random.In(-1, 256);
  a.value_dim = random.OneIn(2) ? a.head_dim : random.In(1, 256);
  a.lane = random.OneIn(2) ? Lane::kF32 : Lane::kBf16;
  a.p_lane = random.OneIn(2) ? Lane::kF32 : Lane::kBf16;
  a.scale = random.Real();
  if (a.head_dim > 0 && random.OneIn(2)) {
    a.scale.value = 1.0 / std::sqrt(static_cast<double>(a.head_dim));
  }
  if (random.OneIn(2)) a.softcap = random.Real();
  a.mask = RandomMask(random, &a.dense, 3);
  // In ascending order, so that dense indices are those of the text.
  for (int64_t head = 0; head < 4; ++head) {
    if (!random.OneIn(5)) continue;
    a.head_mask[head] = RandomMask(random, &a.dense, 2);
  }
  RandomPayload(random, &a);
  Case c = EmptyCase(*Ops()[0]);
  c.Get<AttentionForwardCase>() = std::move(a);
  if (random.OneIn(5)) c.gen = random.Bits();
  if (random.OneIn(2)) c.seed = random.Bits();
  c.expect = static_cast<Expect>(random.In(0, 3));
  return c;
}

}  // namespace lockstep::verify
