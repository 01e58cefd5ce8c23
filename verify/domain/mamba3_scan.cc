#include "verify/domain/mamba3_scan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/draws/further.h"
#include "verify/domain/mamba3_scan_parts.h"
#include "verify/domain/reducer.h"
#include "verify/inputs/mamba3_scan.h"

namespace lockstep::verify {
namespace {

// Multiply-adds of the state: a thousand such cases a second.
constexpr int64_t kMostWork = 12'000;

using enum FillKind;

FillTerm Term(FillKind kind, double a = 0, double b = 0) {
  return {.kind = kind, .a = {a}, .b = {b}};
}

void DrawShape(Draw* draw, const DomainOptions& options, bool step,
               Mamba3ScanCase* c) {
  Mamba3ScanProblem& p = c->problem;
  const auto heads = draw->Of<std::pair<int64_t, int64_t>>(
      {{1, 1}, {1, 1}, {2, 1}, {2, 2}, {4, 2}, {3, 3}, {6, 2}});
  p.batch = draw->OneIn(5) ? draw->In(2, 3) : 1;
  p.heads = heads.first;
  p.groups = heads.second;
  p.length = step ? draw->In(1, 6) : DrawLength(draw, options.tile_kv);
  const bool mimo = draw->OneIn(2);
  p.variant = mimo ? Mamba3ScanProblem::Variant::kMimo
                   : Mamba3ScanProblem::Variant::kSiso;
  p.ranks = mimo ? draw->In(1, 4) : 1;
  p.state_dim = draw->Of<int64_t>({4, 2, 6, 8, 8, 10, 16, 18, 32});
  if (!mimo && draw->OneIn(5)) p.state_dim -= 1;
  p.angles = draw->Of<int64_t>({p.state_dim / 4, p.state_dim / 2, 0, 1});
  p.angles = std::min(p.angles, p.state_dim / 2);
  if (c->ssd) p.angles = 0;
  p.head_dim = draw->Of<int64_t>({1, 2, 3, 5, 8, 9, 16, 17, 33});
  while (WorkOf(p) > kMostWork) {
    int64_t& longest = p.length > p.head_dim ? p.length : p.head_dim;
    longest = (longest + 1) / 2;
  }
}

void DrawParts(Draw* draw, const DomainOptions& options, Mamba3ScanCase* c) {
  Mamba3ScanProblem& p = c->problem;
  const bool bf16 = draw->OneIn(2);
  p.lane = options.lane.value_or(bf16 ? Lane::kBf16 : Lane::kF32);
  const Lane narrow = p.lane == Lane::kF16 ? p.lane : Lane::kBf16;
  p.rotated_lane = draw->OneIn(6) ? narrow : Lane::kF32;
  p.bias = !draw->OneIn(4);
  p.skip = !draw->OneIn(4);
  p.gate = draw->OneIn(2);
  p.reduce = p.mimo() && draw->OneIn(2);
  if (draw->OneIn(5)) c->norm = Number{draw->Of({1e-5, 0.1, 1e-3})};
  if (draw->OneIn(2)) c->carry = "thkv";
}

// Runs of one row: around the edge of chunks, of one token, alternating ids.
std::vector<SegmentRun> DrawRuns(Draw* draw, int64_t length, int64_t edge) {
  std::vector<SegmentRun> runs;
  int32_t id = 0;
  for (int64_t at = 0; at < length;) {
    const int64_t run =
        draw->Of<int64_t>({1, 2, 3, edge - 1, edge, edge + 1, length});
    runs.push_back({id, std::clamp<int64_t>(run, 1, length - at)});
    at += runs.back().length;
    id = draw->OneIn(2) ? id + 1 : (id == 0 ? 7 : 0);
    if (id == runs.back().id) ++id;
  }
  return runs;
}

void DrawRunsOf(Draw* draw, const DomainOptions& options, Mamba3ScanCase* c) {
  const Mamba3ScanProblem& p = c->problem;
  if (!draw->OneIn(2)) return;
  if (p.batch > 1 || draw->OneIn(2)) {
    c->seg.kind = Segments::Kind::kRuns;
    const int64_t rows = draw->OneIn(2) ? p.batch : 1;
    for (int64_t b = 0; b < rows; ++b) {
      c->seg.rows.push_back(DrawRuns(draw, p.length, options.tile_kv));
    }
    return;
  }
  c->cu = {0};
  for (const SegmentRun& run : DrawRuns(draw, p.length, options.tile_kv)) {
    if (draw->OneIn(6)) c->cu.push_back(c->cu.back());
    c->cu.push_back(c->cu.back() + run.length);
  }
}

void DrawSources(Draw* draw, const DomainOptions& options, Mamba3ScanCase* c) {
  using enum ScanRegime;
  c->regime = draw->Of({kTypical, kShort, kLong, kStrong});
  if (draw->OneIn(3)) {
    c->rate = draw->Of({Term(kSigns, 3), Term(kNormal, 0.2), Term(kConst, 0)});
  }
  if (options.plain || !draw->OneIn(3)) return;
  if (draw->OneIn(3)) {
    c->a = draw->Of({Term(kConst, 0), Term(kUniform, -3, 0), Term(kConst, -80),
                     Term(kConst, -1e30)});
  }
  if (draw->OneIn(3)) {
    c->dt = draw->Of({Term(kConst, 0), Term(kUniform, 0, 2), Term(kConst, 1)});
  }
  if (draw->OneIn(3)) {
    c->tau = draw->Of({Term(kSigns, 20), Term(kConst, 0), Term(kConst, 200)});
  }
}

// Tells whether the probe proves something on the case, so that it is drawn.
bool Proves(ProbeKind kind, const Mamba3ScanCase& c) {
  const Mamba3ScanProblem& p = c.problem;
  if (c.norm || p.ranks > 4) return false;
  return kind != ProbeKind::kTurns || (p.angles > 0 && p.length <= 4096);
}

// Probe inputs, where they prove something.
bool DrawProbe(Draw* draw, Mamba3ScanCase* c) {
  FillTerm term = Term(kProbe);
  // Those of integers, and any behind a gate, say nothing of gradients.
  const bool gradients =
      dynamic_cast<const Mamba3ScanBackwardCase*>(c) != nullptr;
  if (gradients && c->problem.gate) return false;
  term.probe = gradients ? draw->Of({ProbeKind::kHalves, ProbeKind::kTurns})
                         : draw->Of({ProbeKind::kIntegrate, ProbeKind::kForget,
                                     ProbeKind::kHalves, ProbeKind::kTurns});
  if (!Proves(term.probe, *c)) return false;
  c->a = c->dt = c->tau = c->rate = std::nullopt;
  c->fill = {term};
  return true;
}

void DrawFill(Draw* draw, const DomainOptions& options, Mamba3ScanCase* c) {
  const bool mild = options.plain || options.ordinary;
  if (!options.plain && draw->OneIn(10) && DrawProbe(draw, c)) return;
  const FillTerm normal = Term(kNormal, 1);
  switch (draw->In(0, mild ? 5 : 11)) {
    case 0:
    case 1:
    case 2:
      return;
    case 3:
      c->fill = {Term(kInt, -3, 3)};
      return;
    case 4:
      c->fill = {normal, Term(kZero, draw->Of({0.3, 1.0}))};
      return;
    case 5:
      c->fill = {Term(kNormal, draw->Of({4., 0.01}))};
      return;
    case 6:
      c->fill = {Term(kUniform, 0, 1)};
      return;
    case 7:
      c->fill = {normal, Term(kSubnormal, draw->Of({0.2, 1.0}))};
      return;
    case 8:
      c->fill = {normal, Term(kTiny, 0.3)};
      return;
    case 9:
      c->fill = {normal, Term(kHuge, 0.1)};
      return;
    case 10:
      c->fill = {normal, Term(kSpecial, draw->Of({0.02, 0.2}))};
      return;
    default:
      c->poison = 0;
  }
}

// The case again, with something changed that a kernel may have kept.
Case NextScanCall(Draw* draw, Case c) {
  auto& scan = c.Get<Mamba3ScanCase>();
  switch (draw->In(0, 3)) {
    case 0:
      return c;
    case 1:
      scan.carry = scan.carry.empty() ? "thkv" : "";
      break;
    case 2:
      scan.seg = {};
      scan.cu.clear();
      scan.poison.reset();
      break;
    default:
      break;
  }
  c.seed += 1;
  return c;
}

}  // namespace

std::vector<Case> DrawMamba3(const OpRow& op, Draw* draw,
                             const DomainOptions& options) {
  std::vector<Case> sequence = DrawSmallScan(op, draw, options);
  if (options.plain) return sequence;
  sequence = WithFurther(draw, WithScanSizes(draw, std::move(sequence)));
  return WithServedScans(draw, options, std::move(sequence));
}

std::vector<Case> DrawSmallScan(const OpRow& op, Draw* draw,
                                const DomainOptions& options) {
  Case c = EmptyCase(op);
  auto& scan = c.Get<Mamba3ScanCase>();
  const bool step = c.Has<Mamba3StepCase>();
  DrawShape(draw, options, step, &scan);
  DrawParts(draw, options, &scan);
  if (!step) DrawRunsOf(draw, options, &scan);
  DrawSources(draw, options, &scan);
  DrawFill(draw, options, &scan);
  if (!options.plain && draw->OneIn(3)) {
    scan.layout = draw->Of({ScanLayout::kBhtp, ScanLayout::kBthp});
    scan.pad = draw->Of<int64_t>({0, 1, 3, 16});
  }
  c.seed = static_cast<uint64_t>(draw->In(0, 1 << 20));
  c = NormalForm(c).value_or(EmptyCase(op));
  std::vector<Case> sequence = {c};
  if (!options.plain && draw->OneIn(12)) {
    const std::optional<Case> next = NormalForm(NextScanCall(draw, c));
    if (next) sequence.push_back(*next);
  }
  return sequence;
}

}  // namespace lockstep::verify
