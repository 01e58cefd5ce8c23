#include "verify/domain/mamba3_scan_backward.h"

#include <iterator>

#include "verify/case/mamba3_scan_backward.h"
#include "verify/domain/cotangent.h"
#include "verify/domain/mamba3_scan.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// Names and their order are written into campaigns: append only.
constexpr const char* kOwnFeatures[] = {
    "grad_bf16", "grad_wider",  "dcarry",     "dy_normal", "dy_int",
    "dy_onehot", "dy_constant", "dy_special", "dy_tiny",   "dy_zero"};

Mamba3ScanBackwardCase* ScanGradientPart(Case* c) {
  return &c->Get<Mamba3ScanBackwardCase>();
}

class ScanGradientReducer : SequenceReducer<&ScanGradientPart> {
 public:
  using SequenceReducer::SequenceReducer;
  std::vector<std::vector<Case>> All() {
    Try([](Part* c) {
      c->dy = OrdinaryCotangent();
      c->dcarry = false;
      c->problem.lane = c->grad_lane = Lane::kF32;
    });
    Try([](Part* c) { c->dcarry = false; });
    Try([](Part* c) { c->dy = OrdinaryCotangent(); });
    Try([](Part* c) { c->dy.resize(1); });
    Try([](Part* c) { c->problem.lane = c->grad_lane = Lane::kF32; });
    // The default: the lane.
    Try([](Part* c) { c->grad_lane = c->problem.lane; });
    return Take();
  }
};

}  // namespace

std::vector<Case> DrawMamba3ScanBackward(const OpRow& op, Draw* draw,
                                         const DomainOptions& options) {
  std::vector<Case> sequence = DrawMamba3(op, draw, options);
  for (Case& c : sequence) {
    Mamba3ScanBackwardCase* own = ScanGradientPart(&c);
    own->grad_lane = draw->OneIn(2) ? own->problem.lane : Lane::kF32;
    own->dy = DrawCotangent(draw, options.tame);
    own->dcarry = draw->OneIn(2);
    c = NormalForm(c).value_or(EmptyCase(op));
  }
  return sequence;
}

std::span<const char* const> Mamba3ScanBackwardFeatures() {
  static const std::vector<const char*> kAllFeatures = [] {
    const auto scan = Mamba3ScanFeatures();
    std::vector<const char*> names(scan.begin(), scan.end());
    names.insert(names.end(), std::begin(kOwnFeatures), std::end(kOwnFeatures));
    return names;
  }();
  return kAllFeatures;
}

FeatureSet Mamba3ScanBackwardFeaturesOf(const Case& c) {
  FeatureSet set = Mamba3ScanFeaturesOf(c);
  const auto& own = c.Get<Mamba3ScanBackwardCase>();
  set.has.insert(set.has.end(),
                 {own.grad_lane == Lane::kBf16,
                  own.grad_lane != own.problem.lane, own.dcarry});
  const std::vector<bool> dy = CotangentFeatures(own.dy);
  set.has.insert(set.has.end(), dy.begin(), dy.end());
  return set;
}

std::vector<std::vector<Case>> ReduceMamba3ScanBackward(
    std::span<const Case> sequence, size_t call) {
  std::vector<std::vector<Case>> smaller = ReduceMamba3(sequence, call);
  const auto own = ScanGradientReducer(sequence, call).All();
  smaller.insert(smaller.end(), own.begin(), own.end());
  return smaller;
}

}  // namespace lockstep::verify
