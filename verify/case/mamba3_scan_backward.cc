#include "verify/case/mamba3_scan_backward.h"

#include <string_view>

#include "verify/case/keys.h"
#include "verify/case/mamba3_scan/probe.h"

namespace lockstep::verify {
namespace {

using Back = Mamba3ScanBackwardCase;

constexpr CaseKey ScanGradKey() {
  CaseKey key = keys::LaneKey<&Back::grad_lane>("grad");
  // Frameworks give a gradient the type of what it is the gradient of.
  key.set_default = [](Case& c) {
    c.Get<Back>().grad_lane = c.Get<Back>().problem.lane;
  };
  return key;
}

const CaseKey kScanGradientKeys[] = {
    ScanGradKey(),
    CotangentKey<&Back::dy>("dy"),
    keys::BoolKey<&Back::dcarry>("dcarry", &keys::Set<false, &Back::dcarry>),
};

}  // namespace

std::span<const CaseKey> Mamba3ScanBackwardKeys() {
  static const std::vector<CaseKey> kWithGradients = [] {
    std::vector<CaseKey> keys;
    for (const CaseKey& key : Mamba3ScanKeys()) {
      if (key.name == std::string_view("gen")) {
        keys.insert(keys.end(), std::begin(kScanGradientKeys),
                    std::end(kScanGradientKeys));
      }
      keys.push_back(key);
    }
    return keys;
  }();
  return kWithGradients;
}

Mamba3ScanBackwardProblem ToBackwardProblem(const Back& c) {
  return {ToProblem(c), c.grad_lane, c.dcarry};
}

// Of the scan's probes, those whose sums are of impulses. The others hold the
// state of every token within bf16's integers, which says nothing of the
// products of two of them.
std::string WhyNotMamba3ScanBackwardProbe(ProbeKind probe, const Case& c) {
  const auto problem = ToProblem(c.Get<Mamba3ScanCase>());
  std::string why = WhyNotScanProbe(probe, problem);
  if (!why.empty()) return why;
  if (ScanProbeOfIntegers(probe) || probe == ProbeKind::kSpin) {
    return "it says nothing of gradients";
  }
  // A norm's gradient is a difference of what nearly cancels; a gate at +-64
  // has no slope.
  if (problem.norm_epsilon) return "there is an output norm";
  return problem.gate ? "there is a gate" : "";
}

Status ValidateMamba3ScanBackward(const Case& c) {
  const Back& back = c.Get<Back>();
  if (const auto probe = ProbeOf(back)) {
    const std::string why = WhyNotMamba3ScanBackwardProbe(*probe, c);
    if (!why.empty()) {
      return Status::Error(std::string("fill probe:") + ProbeName(*probe) +
                           ": " + why);
    }
  }
  Status status = ValidateMamba3Scan(c);
  if (status.ok()) status = Validate(ToBackwardProblem(back));
  return status.ok() ? CheckCotangent("dy", back.dy) : status;
}

// A gradient for every input beside it, and the cotangents.
int64_t Mamba3ScanBackwardBytes(const Case& c) {
  int64_t bytes = 0;
  const int64_t once = Mamba3ScanBytes(c);
  const bool over = __builtin_mul_overflow(once, int64_t{4}, &bytes);
  return over ? INT64_MAX : bytes;
}

}  // namespace lockstep::verify
