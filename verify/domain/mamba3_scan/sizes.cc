// The sizes of a scan: how they are changed, and those of real models.
#include <algorithm>
#include <optional>

#include "verify/domain/mamba3_scan_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

struct ScanWidths {
  int64_t n, p;
};

// Multiply-adds of a scan with a wide state, and of one with many tokens.
constexpr int64_t kMostWideWork = 1 << 17;
constexpr int64_t kMostLongWork = 1 << 18;

// The last run of every row reaches to the end.
void SetTokensAndRuns(int64_t length, Mamba3ScanCase* c) {
  SetTokens(length, c);
  ExtendRuns(&c->seg, length);
  if (!c->cu.empty()) c->cu.back() = length;
}

// A whole state, or half of it, is turned as before.
void SetModelWidths(const ScanWidths& widths, Mamba3ScanCase* c) {
  const Mamba3ScanProblem before = c->problem;
  const bool whole = before.angles == before.state_dim / 2;
  const bool turned = before.angles > 0;
  SetState(widths.n, c);
  if (turned) c->problem.angles = whole ? widths.n / 2 : widths.n / 4;
  c->problem.head_dim = widths.p;
}

// Halves what is largest of the rest until the case is cheap enough.
void Afford(bool lengthy, Mamba3ScanCase* c) {
  Mamba3ScanProblem& p = c->problem;
  const int64_t most = lengthy ? kMostLongWork : kMostWideWork;
  while (WorkOf(p) > most) {
    const int64_t length = lengthy ? 1 : p.length;
    const int64_t width = lengthy ? p.head_dim : 1;
    const int64_t largest =
        std::max({length, width, p.batch, p.heads, p.ranks});
    if (largest == 1) return;
    const int64_t half = (largest + 1) / 2;
    if (largest == length) {
      SetTokensAndRuns(half, c);
    } else if (largest == width) {
      p.head_dim = half;
    } else if (largest == p.heads) {
      p.heads = half;
      p.groups = 1;
    } else if (largest == p.ranks) {
      p.ranks = half;
    } else {
      p.batch = half;
      const auto rows = static_cast<size_t>(half);
      if (c->seg.rows.size() > rows) c->seg.rows.resize(rows);
    }
  }
}

}  // namespace

int64_t WorkOf(const Mamba3ScanProblem& p) {
  return p.batch * p.length * p.heads * p.state_dim * p.head_dim * p.ranks;
}

void SetTokens(int64_t length, Mamba3ScanCase* c) {
  c->problem.length = length;
  ResizeRuns(&c->seg, length);
  for (int64_t& end : c->cu) end = std::min(end, length);
}

void SetState(int64_t n, Mamba3ScanCase* c) {
  c->problem.state_dim = n;
  c->problem.angles = std::min(c->problem.angles, n / 2);
}

std::vector<Case> WithScanSizes(Draw* draw, std::vector<Case> sequence) {
  const bool wide = draw->OneIn(12);
  const bool lengthy = !wide && draw->OneIn(40);
  const auto& first = sequence[0].Get<Mamba3ScanCase>();
  const bool probe = std::any_of(
      first.fill.begin(), first.fill.end(),
      [](const FillTerm& term) { return term.kind == FillKind::kProbe; });
  // A step's tokens are calls.
  const bool step = sequence[0].Has<Mamba3StepCase>();
  if ((!wide && !lengthy) || probe || (lengthy && step)) return sequence;
  const auto widths = draw->Of<ScanWidths>({{16, 64},
                                            {64, 64},
                                            {128, 64},
                                            {256, 64},
                                            {128, 80},
                                            {128, 128},
                                            {256, 128}});
  const auto length =
      draw->Of<int64_t>({257, 300, 384, 511, 512, 513, 777, 1024, 1025});
  const std::vector<Case> before = sequence;
  for (Case& c : sequence) {
    auto& scan = c.Get<Mamba3ScanCase>();
    if (wide) SetModelWidths(widths, &scan);
    if (lengthy) SetTokensAndRuns(length, &scan);
    Afford(lengthy, &scan);
    const std::optional<Case> legal = NormalForm(c);
    if (!legal) return before;
    c = *legal;
  }
  return sequence;
}

}  // namespace lockstep::verify
