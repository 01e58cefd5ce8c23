#include "verify/domain/attention_merge.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "verify/case/attention_merge/case.h"
#include "verify/domain/draws/cotangent.h"
#include "verify/domain/draws/further.h"
#include "verify/domain/draws/served.h"
#include "verify/domain/features.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// Names and their order are written into campaigns: append only.
constexpr const char* kFeatures[] = {
    "one_part",      "two_parts",     "many_parts",  "parts_64",
    "several_heads", "several_rows",  "one_channel", "lane_bf16",
    "out_differs",   "base_2",        "layout_shnd", "layout_snhd",
    "layout_nshd",   "letters",       "empty_parts", "blank_rows",
    "nan",           "posinf",        "lse_normal",  "lse_equal",
    "lse_int",       "lse_wide",      "lse_huge",    "fill_special",
    "fill_poison",   "fill_int",      "fill_huge",   "size_parts_128",
    "size_dv_128",   "size_rows_512", "lane_f16"};

// What decoding in parts, ring attention and shared prefixes merge.
constexpr const char* kServed[] = {
    "s={2..8} h=4 n={1..3} dv={64|128} base={e|2} empty={0|0.3}",
    "s={16..64} h=2 n=1 dv=64 base={e|2} empty={0|0.5}",
    "s=2 h=2 n={1..40} dv={64|128} base={e|2}",
    "s=2 h=2 n={9..40} dv=64 lse=uniform:-60,60",
    "s={2..8} h={4|16} n=1 dv=512 base=2 empty={0|0.3}",
    "s={2|4} h=4 n={1..9} dv=128 layout={snhd|nshd} out=f32"};

AttentionMergeCase* MergePart(Case* c) { return &c->Get<AttentionMergeCase>(); }

FillTerm MergeTerm(FillKind kind, double a = 0, double b = 0) {
  return {.kind = kind, .a = {a}, .b = {b}};
}

// Natural or binary: near each other, equal, far apart, far from 0.
std::vector<FillTerm> DrawLse(Draw* draw, bool mild) {
  using enum FillKind;
  switch (draw->In(0, mild ? 7 : 10)) {
    case 0:
      return {MergeTerm(kConst, draw->Of({0.0, 5.0, -700.0, 300.0}))};
    case 1:
      return {MergeTerm(kInt, -3, 3)};
    case 2:
      return {MergeTerm(kInt, -40, 40)};
    case 3:
      return {MergeTerm(kUniform, 900, 1000)};
    case 4:
      return {MergeTerm(kUniform, -1000, 1000)};
    case 5:  // some weights are subnormal
      return {MergeTerm(kUniform, -120, 0)};
    case 8:
      return {MergeTerm(kNormal, 2),
              MergeTerm(kSpecial, draw->Of({0.05, 0.3}))};
    case 9:
      return {MergeTerm(kNormal, 2), MergeTerm(kHuge, 0.2)};
    case 10:
      return {MergeTerm(kNormal, 1), MergeTerm(kTiny, 0.3),
              MergeTerm(kZero, 0.3)};
    default:
      return {MergeTerm(kNormal, draw->Of({0.1, 2.0, 20.0}))};
  }
}

double DrawLetter(Draw* draw, bool mild) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double value =
      draw->Of({0.0, 1.0, -1.0, 5.5, -300.0, 90.0, -97.0, -145.0, -kInfinity});
  if (mild || !draw->OneIn(5)) return value;
  return draw->Of({kInfinity, std::nan(""), 3e38, -3e38, -0.0});
}

void DrawMarks(Draw* draw, bool mild, AttentionMergeCase* c) {
  if (draw->OneIn(3)) c->empty = {draw->Of({0.1, 0.5, 1.0})};
  if (draw->OneIn(6)) c->blank = {draw->Of({0.2, 0.6})};
  if (mild) return;
  if (draw->OneIn(10)) c->nan = {0.1};
  if (draw->OneIn(10)) c->posinf = {0.1};
}

int64_t DrawParts(Draw* draw) {
  return draw->OneIn(12) ? draw->Of<int64_t>({16, 31, 33, 64, 65, 128})
                         : draw->In(1, 9);
}

Case DrawOne(const OpRow& op, Draw* draw, const DomainOptions& options) {
  Case c = EmptyCase(op);
  AttentionMergeCase* merge = MergePart(&c);
  const bool mild = options.plain || options.ordinary;
  merge->parts = DrawParts(draw);
  merge->heads = draw->Of<int64_t>({1, 1, 2, 3, 4});
  merge->rows = draw->In(1, 9);
  merge->value_dim = draw->In(1, 20);
  if (draw->OneIn(8)) merge->value_dim = draw->Of<int64_t>({64, 72, 128, 256});
  if (draw->OneIn(40)) merge->rows = draw->In(257, 700);
  merge->lane = options.lane.value_or(draw->Of({Lane::kF32, Lane::kBf16}));
  merge->out_lane = draw->OneIn(4) ? Lane::kF32 : merge->lane;
  merge->base = draw->Of({LseBase::kE, LseBase::kTwo});
  merge->layout = options.plain
                      ? MergeLayout::kShnd
                      : draw->Of({MergeLayout::kShnd, MergeLayout::kShnd,
                                  MergeLayout::kSnhd, MergeLayout::kNshd});
  merge->fill = DrawCotangent(draw, mild);
  merge->lse = DrawLse(draw, mild);
  if (draw->OneIn(4) && merge->parts <= 9) {
    for (int64_t s = 0; s < merge->parts; ++s) {
      merge->letters.push_back({DrawLetter(draw, mild)});
    }
  }
  DrawMarks(draw, mild, merge);
  if (!mild && draw->OneIn(3)) {
    merge->fill.push_back(MergeTerm(FillKind::kPoison));
  }
  c.seed = static_cast<uint64_t>(draw->In(0, 1 << 20));
  return NormalForm(c).value_or(EmptyCase(op));
}

class MergeFeatures : FeatureFinder<kFeatures> {
 public:
  FeatureSet Of(const AttentionMergeCase& c) {
    Shapes(c);
    Numbers(c);
    for (const FillTerm& term : c.fill) SetFill(term.kind);
    return std::move(found());
  }

 private:
  void Shapes(const AttentionMergeCase& c) {
    Set("one_part", c.parts == 1);
    Set("two_parts", c.parts == 2);
    Set("many_parts", c.parts > 8);
    Set("parts_64", c.parts >= 64);
    Set("several_heads", c.heads > 1);
    Set("several_rows", c.rows > 1);
    Set("one_channel", c.value_dim == 1);
    Set("lane_bf16", c.lane == Lane::kBf16);
    Set("lane_f16", c.lane == Lane::kF16);
    Set("out_differs", c.lane != c.out_lane);
    Set("base_2", c.base == LseBase::kTwo);
    Set("layout_shnd", c.layout == MergeLayout::kShnd);
    Set("layout_snhd", c.layout == MergeLayout::kSnhd);
    Set("layout_nshd", c.layout == MergeLayout::kNshd);
    Set("size_parts_128", c.parts >= 128);
    Set("size_dv_128", c.value_dim >= 128);
    Set("size_rows_512", c.rows >= 512);
  }

  void Numbers(const AttentionMergeCase& c) {
    Set("letters", !c.letters.empty());
    Set("empty_parts", c.empty.value > 0);
    Set("blank_rows", c.blank.value > 0);
    Set("nan", c.nan.value > 0);
    Set("posinf", c.posinf.value > 0);
    for (const FillTerm& term : c.lse) {
      Set("lse_normal", term.kind == FillKind::kNormal);
      Set("lse_equal", term.kind == FillKind::kConst);
      Set("lse_int", term.kind == FillKind::kInt);
      Set("lse_wide", term.kind == FillKind::kUniform);
      Set("lse_huge", term.kind == FillKind::kHuge);
    }
  }
};

class MergeReducer : SequenceReducer<&MergePart> {
 public:
  using SequenceReducer::SequenceReducer;
  std::vector<std::vector<Case>> All() {
    const auto& merge = call().Get<AttentionMergeCase>();
    Try([](Part* c) {
      c->lane = c->out_lane = Lane::kF32;
      c->layout = MergeLayout::kShnd;
      c->base = LseBase::kE;
    });
    Try([](Part* c) { c->empty = c->blank = c->nan = c->posinf = Number{}; });
    for (const auto member :
         {&Part::parts, &Part::heads, &Part::rows, &Part::value_dim}) {
      for (const int64_t value : Below(merge.*member, 1)) {
        Try([&](Part* c) {
          c->*member = value;
          if (member != &Part::parts || c->letters.empty()) return;
          c->letters.resize(static_cast<size_t>(value));
        });
      }
    }
    Letters(merge);
    for (const auto member :
         {&Part::empty, &Part::blank, &Part::nan, &Part::posinf}) {
      Try([&](Part* c) { c->*member = Number{}; });
      Try([&](Part* c) {
        if ((c->*member).value > 0) (c->*member).value = 1;
      });
    }
    Try([](Part* c) { c->fill = Part().fill; });
    Try([](Part* c) { c->fill.resize(1); });
    Try([](Part* c) { c->lse = Part().lse; });
    Try([](Part* c) { c->lse.resize(1); });
    Try([](Part* c) { c->lane = c->out_lane = Lane::kF32; });
    Try([](Part* c) { c->out_lane = c->lane; });
    Try([](Part* c) { c->layout = MergeLayout::kShnd; });
    Try([](Part* c) { c->base = LseBase::kE; });
    TrySeeds();
    return Take();
  }

 private:
  // Without one of them, or with a plain one.
  void Letters(const AttentionMergeCase& merge) {
    Try([](Part* c) { c->letters.clear(); });
    for (size_t n = 0; n < merge.letters.size(); ++n) {
      Try([&](Part* c) {
        if (n >= c->letters.size() || c->letters.size() < 2) return;
        c->letters.erase(c->letters.begin() + static_cast<int64_t>(n));
        --c->parts;
      });
      Try([&](Part* c) {
        if (n < c->letters.size()) c->letters[n] = Number{};
      });
    }
  }
};

}  // namespace

std::vector<Case> DrawAttentionMerge(const OpRow& op, Draw* draw,
                                     const DomainOptions& options) {
  std::vector<Case> sequence = {DrawOne(op, draw, options)};
  if (options.plain) return sequence;
  // A kernel that keeps something from call to call.
  if (draw->OneIn(10)) sequence.push_back(DrawOne(op, draw, options));
  sequence = WithFurther(draw, std::move(sequence));
  sequence = WithF16(draw, options, std::move(sequence));
  return WithServed(draw, options, kServed, std::move(sequence));
}

std::span<const char* const> AttentionMergeFeatures() { return kFeatures; }

FeatureSet AttentionMergeFeaturesOf(const Case& c) {
  return MergeFeatures().Of(c.Get<AttentionMergeCase>());
}

std::vector<std::vector<Case>> ReduceAttentionMerge(
    std::span<const Case> sequence, size_t call) {
  return MergeReducer(sequence, call).All();
}

std::optional<Case> FurtherMerge(const Case& c, uint64_t number, int64_t n) {
  if (n < 0) return std::nullopt;
  Case further = c;
  AttentionMergeCase* merge = MergePart(&further);
  further.seed = (number + static_cast<uint64_t>(n)) % (uint64_t{1} << 32);
  merge->letters.clear();
  const std::vector<FillTerm> levels[] = {
      {MergeTerm(FillKind::kUniform, -60, 60)},
      {MergeTerm(FillKind::kConst, 1000)},
      {MergeTerm(FillKind::kUniform, -3000, -2900)},
      {MergeTerm(FillKind::kNormal, 0.01)}};
  merge->lse = levels[(number + static_cast<uint64_t>(n)) % 4];
  merge->empty = {n % 2 == 0 ? 0.25 : 0.0};
  return further;
}

std::optional<Case> ShortMerge(const Case& c, uint64_t) {
  if (c.Get<AttentionMergeCase>().rows < kLongAxis) return std::nullopt;
  return SmallMerge(c, 32);
}

std::optional<Case> SmallMerge(const Case& c, int64_t side) {
  if (c.Get<AttentionMergeCase>().rows <= side || NamesFiles(c)) {
    return std::nullopt;
  }
  Case small = c;
  MergePart(&small)->rows = TwinLength(MergePart(&small)->rows, side);
  return small;
}

}  // namespace lockstep::verify
