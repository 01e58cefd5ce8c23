// Simpler scans: what shrinking tries.
#include <algorithm>
#include <utility>

#include "verify/case/mamba3_scan/case.h"
#include "verify/domain/mamba3_scan.h"
#include "verify/domain/mamba3_scan_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

Mamba3ScanCase* ScanPart(Case* c) { return &c->Get<Mamba3ScanCase>(); }

// The first tokens are cut off.
void CutLength(int64_t length, Mamba3ScanCase* c) {
  const int64_t cut = c->problem.length - length;
  for (auto& row : c->seg.rows) std::reverse(row.begin(), row.end());
  ResizeRuns(&c->seg, length);
  for (auto& row : c->seg.rows) std::reverse(row.begin(), row.end());
  for (int64_t& end : c->cu) end = std::max<int64_t>(end - cut, 0);
  c->problem.length = length;
}

class ScanReducer : SequenceReducer<&ScanPart> {
 public:
  ScanReducer(std::span<const Case> sequence, size_t number)
      : SequenceReducer(sequence, number), c_(call().Get<Mamba3ScanCase>()) {}

  std::vector<std::vector<Case>> All() {
    Extents();
    Parts();
    Runs();
    Sources();
    TryShards();
    TrySeeds();
    return Take();
  }

 private:
  using Scan = Mamba3ScanCase;

  void Extents() {
    const Mamba3ScanProblem& p = c_.problem;
    for (const int64_t n : Below(p.length, 1)) {
      Try([n](Scan* c) { SetTokens(n, c); });
      Try([n](Scan* c) { CutLength(n, c); });
    }
    for (const int64_t n : Below(p.batch, 1)) {
      Try([n](Scan* c) {
        c->problem.batch = n;
        const auto rows = static_cast<size_t>(n);
        if (c->seg.rows.size() > rows) c->seg.rows.resize(rows);
      });
    }
    for (const auto& [heads, groups] :
         {std::pair{1, 1}, std::pair{2, 1}, std::pair{2, 2}, std::pair{4, 2}}) {
      if (heads > p.heads || (heads == p.heads && groups >= p.groups)) continue;
      Try([h = heads, g = groups](Scan* c) {
        c->problem.heads = h;
        c->problem.groups = g;
      });
    }
    for (const int64_t n : Below(p.state_dim, 1)) {
      Try([n](Scan* c) { SetState(n, c); });
    }
    for (const int64_t n : Below(p.head_dim, 1)) {
      Try([n](Scan* c) { c->problem.head_dim = n; });
    }
    for (const int64_t n : Below(p.ranks, 1)) {
      Try([n](Scan* c) { c->problem.ranks = n; });
    }
    for (const int64_t n : Below(p.angles, 0)) {
      Try([n](Scan* c) { c->problem.angles = n; });
    }
  }

  void Parts() {
    Try([](Scan* c) {
      c->fill = {FillTerm{FillKind::kNormal, kFillAll, {1.0}}};
    });
    Try([](Scan* c) {
      c->problem.variant = Mamba3ScanProblem::Variant::kSiso;
      c->problem.ranks = 1;
      c->problem.reduce = false;
    });
    Try([](Scan* c) { c->problem.lane = Lane::kF32; });
    Try([](Scan* c) { c->problem.rotated_lane = Lane::kF32; });
    Try([](Scan* c) { c->problem.reduce = false; });
    Try([](Scan* c) { c->problem.gate = false; });
    Try([](Scan* c) { c->problem.bias = true; });
    Try([](Scan* c) { c->problem.skip = true; });
    Try([](Scan* c) { c->norm.reset(); });
    Try([](Scan* c) { c->carry.clear(); });
    Try([](Scan* c) { c->layout = ScanLayout::kBthp; });
    Try([](Scan* c) { c->pad = 0; });
    Try([](Scan* c) { c->poison.reset(); });
    Try([](Scan* c) {
      if (c->poison) c->poison = 0;
    });
  }

  void Runs() {
    Try([](Scan* c) {
      c->seg = {};
      c->cu.clear();
    });
    if (c_.seg.rows.size() > 1) {
      Try([](Scan* c) { c->seg.rows.resize(1); });
    }
    for (size_t b = 0; b < c_.seg.rows.size(); ++b) {
      for (const auto& runs : SmallerRuns(c_.seg.rows[b])) {
        Try([&, b](Scan* c) {
          if (b < c->seg.rows.size()) c->seg.rows[b] = runs;
        });
      }
    }
    for (size_t i = 1; i + 1 < c_.cu.size(); ++i) {
      Try([i](Scan* c) {
        if (i + 1 >= c->cu.size()) return;
        c->cu.erase(c->cu.begin() + static_cast<int64_t>(i));
      });
    }
  }

  void Sources() {
    Try([](Scan* c) { c->a = c->dt = c->tau = c->rate = std::nullopt; });
    for (const auto source : {&Scan::a, &Scan::dt, &Scan::tau, &Scan::rate}) {
      Try([source](Scan* c) { (c->*source).reset(); });
    }
    Try([](Scan* c) { c->regime = ScanRegime::kTypical; });
    for (size_t n = 0; n < c_.fill.size() && c_.fill.size() > 1; ++n) {
      Try([n](Scan* c) {
        if (n >= c->fill.size()) return;
        c->fill.erase(c->fill.begin() + static_cast<int64_t>(n));
      });
    }
  }

  const Mamba3ScanCase& c_;
};

}  // namespace

std::vector<std::vector<Case>> ReduceMamba3(std::span<const Case> sequence,
                                            size_t call) {
  return ScanReducer(sequence, call).All();
}

}  // namespace lockstep::verify
