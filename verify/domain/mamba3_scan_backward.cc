#include "verify/domain/mamba3_scan_backward.h"

#include <utility>

#include "verify/case/mamba3_scan_backward.h"
#include "verify/domain/draws/cotangent.h"
#include "verify/domain/draws/further.h"
#include "verify/domain/features.h"
#include "verify/domain/mamba3_scan.h"
#include "verify/domain/mamba3_scan_parts.h"
#include "verify/domain/reducer.h"

namespace lockstep::verify {
namespace {

// Names and their order are written into campaigns: append only.
constexpr const char* kOwnFeatures[] = {
    "grad_bf16", "grad_wider",  "dcarry",     "dy_normal", "dy_int",
    "dy_onehot", "dy_constant", "dy_special", "dy_tiny",   "dy_zero"};

const InheritedFeatures& ScanGradientFeatures() {
  static const InheritedFeatures kFeatures(Mamba3ScanFeatures(), {},
                                           kOwnFeatures);
  return kFeatures;
}

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
  std::vector<Case> sequence = DrawSmallScan(op, draw, options);
  for (Case& c : sequence) {
    Mamba3ScanBackwardCase* own = ScanGradientPart(&c);
    own->grad_lane = draw->OneIn(2) ? own->problem.lane : Lane::kF32;
    own->dy = DrawCotangent(draw, options.plain || options.ordinary);
    own->dcarry = draw->OneIn(2);
    c = NormalForm(c).value_or(EmptyCase(op));
  }
  if (options.plain) return sequence;
  sequence = WithFurther(draw, WithScanSizes(draw, std::move(sequence)));
  return WithServedScans(draw, options, std::move(sequence));
}

std::span<const char* const> Mamba3ScanBackwardFeatures() {
  return ScanGradientFeatures().names();
}

FeatureSet Mamba3ScanBackwardFeaturesOf(const Case& c) {
  const auto& scan = c.Get<Mamba3ScanBackwardCase>();
  std::vector<bool> own = {scan.grad_lane == Lane::kBf16,
                           scan.grad_lane != scan.problem.lane, scan.dcarry};
  const std::vector<bool> dy = CotangentFeatures(scan.dy);
  own.insert(own.end(), dy.begin(), dy.end());
  return ScanGradientFeatures().Of(Mamba3ScanFeaturesOf(c), own);
}

std::vector<std::vector<Case>> ReduceMamba3ScanBackward(
    std::span<const Case> sequence, size_t call) {
  std::vector<std::vector<Case>> smaller = ReduceMamba3(sequence, call);
  const auto own = ScanGradientReducer(sequence, call).All();
  smaller.insert(smaller.end(), own.begin(), own.end());
  return smaller;
}

}  // namespace lockstep::verify
