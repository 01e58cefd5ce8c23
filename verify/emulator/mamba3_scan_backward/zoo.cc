// The zoo of correct kernels of a scan's gradients.
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"
#include "verify/emulator/zoo.h"

namespace lockstep::verify {
namespace {

// Collects variants; every one starts from the arithmetic of a built-in
// profile.
class ScanGradBuilder {
 public:
  ScanGradVariant& Add(const char* name, const char* base, int64_t chunk,
                       const std::string& description) {
    ScanGradVariant variant;
    for (const NumericProfile& profile : BuiltinProfiles()) {
      if (profile.name == base) variant.scan.numeric = profile;
    }
    NumericProfile& numeric = variant.scan.numeric;
    numeric.name = name;
    numeric.description = "gradients: " + description;
    variant.scan.chunk = numeric.scan->chunk = chunk;
    variants_.push_back(std::move(variant));
    return variants_.back();
  }
  std::vector<ScanGradVariant> Take() const {
    return {variants_.begin(), variants_.end()};
  }

 private:
  std::deque<ScanGradVariant> variants_;  // references stay good
};

ScanNumeric& NumericOf(ScanGradVariant& variant) {
  return *variant.scan.numeric.scan;
}

void AddF32(ScanGradBuilder* zoo) {
  zoo->Add("scan-grad", "scan-f32", 4, "f32, states again in chunks of 4");
  zoo->Add("scan-grad-chunk1", "scan-f32", 1, "f32, all states kept");
  zoo->Add("scan-grad-chunk64", "scan-f32", 64,
           "f32, states again in chunks of 64");
  zoo->Add("scan-grad-run-grid", "scan-f32", 8,
           "f32, chunks of every run's own")
      .scan.grid_of_runs = true;
  zoo->Add("scan-grad-pairs", "scan-f32", 8,
           "f32, a chunk's cotangents by pairs of tokens")
      .pairs = true;
  zoo->Add("scan-grad-pairs64", "scan-f32", 64, "f32, the same in chunks of 64")
      .pairs = true;
  zoo->Add("scan-grad-split", "scan-f32", 4,
           "f32, sums over heads and runs in three parts")
      .parts = 3;
  zoo->Add("scan-grad-descending", "scan-f32", 4,
           "f32, sums over channels and states in descending order")
      .scan.backward = true;
  zoo->Add("scan-grad-muladd", "scan-f32", 4, "f32, products and sums apart")
      .scan.fused = false;
  NumericOf(zoo->Add("scan-grad-turns", "scan-f32", 4, "f32, angles in turns"))
      .angle_form = AngleForm::kTurns;
  NumericOf(zoo->Add("scan-grad-unreduced", "scan-f32", 4,
                     "f32, angles never reduced"))
      .angle_form = AngleForm::kUnreduced;
}

void AddBf16(ScanGradBuilder* zoo) {
  zoo->Add("scan-grad-bf16-lane", "scan-f32", 4, "f32 between bf16 tensors")
      .scan.numeric.lane = Lane::kBf16;
  zoo->Add("scan-grad-siso", "siso-bf16-a32", 4,
           "bf16 operands, states and cotangents, chunks of 4");
  auto& wide = zoo->Add("scan-grad-siso-pairs", "siso-bf16-a32", 16,
                        "the same by pairs of tokens, chunks of 16");
  wide.pairs = true;
  zoo->Add("scan-grad-siso-a16", "siso-bf16-a16", 8,
           "the same, angles stored in bf16");
  auto& partial = zoo->Add("scan-grad-siso-partial", "siso-bf16-a32", 4,
                           "the same, dq and dk of a head in bf16");
  NumericOf(partial).grad_partial = NumberType::kBf16;
  partial.parts = 2;
  zoo->Add("scan-grad-mimo", "mimo-bf16", 4,
           "MIMO, bf16 operands and parameters");
}

}  // namespace

std::span<const ScanGradVariant> ScanGradZoo() {
  static const std::vector<ScanGradVariant> kZoo = [] {
    ScanGradBuilder zoo;
    AddF32(&zoo);
    AddBf16(&zoo);
    return zoo.Take();
  }();
  return kZoo;
}

Result<ScanGradVariant> FindScanGradVariant(std::string_view name) {
  return FindInZoo(name, ScanGradZoo(), " of a scan's gradients");
}

}  // namespace lockstep::verify
