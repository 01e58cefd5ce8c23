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
  zoo->Add("scan-grad-chunk1", "scan-f32", 1,
           "f32, all states kept, an exp of 20 bits")
      .scan.numeric.exp_rel = 0x1p-20;
  NumericOf(zoo->Add("scan-grad-chunk64", "scan-f32", 64,
                     "f32, states again in chunks of 64, a sigmoid of 20 bits"))
      .sigmoid_rel = 0x1p-20;
  auto& own = zoo->Add("scan-grad-run-grid", "scan-f32", 8,
                       "f32, by pairs, chunks of every run's own");
  own.scan.grid_of_runs = own.pairs = true;
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
  auto& scores = zoo->Add("scan-grad-siso-scores", "siso-bf16-a32", 16,
                          "the same, dv and dk by products of two tokens");
  scores.pairs = scores.scores = true;
  zoo->Add("scan-grad-siso-a16", "siso-bf16-a16", 8,
           "the same, angles stored in bf16");
  auto& partial = zoo->Add("scan-grad-siso-partial", "siso-bf16-a32", 4,
                           "the same, dq and dk of a head in bf16");
  NumericOf(partial).grad_partial = NumberType::kBf16;
  partial.parts = 2;
  zoo->Add("scan-grad-mimo", "mimo-bf16", 4,
           "MIMO, bf16 operands and parameters");
}

void AddF16(ScanGradBuilder* zoo) {
  zoo->Add("scan-grad-f16-lane", "scan-f32", 4, "f32 between f16 tensors")
      .scan.numeric.lane = Lane::kF16;
  zoo->Add("scan-grad-siso-f16", "siso-f16-a32", 4,
           "f16 operands, states and cotangents, chunks of 4");
  zoo->Add("scan-grad-siso-f16-pairs", "siso-f16-a32", 16,
           "the same by pairs of tokens, chunks of 16")
      .pairs = true;
  auto& scores = zoo->Add("scan-grad-siso-f16-scores", "siso-f16-a32", 16,
                          "the same, dv and dk by products of two tokens");
  scores.pairs = scores.scores = true;
  auto& partial = zoo->Add("scan-grad-siso-f16-partial", "siso-f16-a32", 4,
                           "the same, dq and dk of a head in f16");
  NumericOf(partial).grad_partial = NumberType::kF16;
  partial.parts = 2;
  zoo->Add("scan-grad-mimo-f16", "mimo-f16", 4,
           "MIMO, f16 operands and parameters");
}

// What a kernel may also choose: functions, decays, operands of matrix units.
void AddMore(ScanGradBuilder* zoo) {
  ScanGradVariant& coarse = zoo->Add("scan-grad-coarse", "scan-f32", 4,
                                     "f32, hardware tanh, exp and sigmoid");
  coarse.scan.numeric.tanh_rel = 0x1.1p-11;
  coarse.scan.numeric.exp_rel = 0x1p-18;
  NumericOf(coarse).sigmoid_rel = NumericOf(coarse).trig_abs = 0x1p-18;
  for (const bool cut : {false, true}) {
    ScanNumeric& tf32 = NumericOf(
        zoo->Add(cut ? "scan-grad-tf32-cut" : "scan-grad-tf32", "scan-f32", 8,
                 cut ? "f32 tensors, TF32 operands that are cut off"
                     : "f32 tensors, TF32 operands rounded to nearest"));
    tf32.query = tf32.key = tf32.state = tf32.decayed = tf32.grad_do =
        tf32.grad_state = NumberType::kTf32;
    if (cut) tf32.operand_round = OperandRound::kTruncate;
  }
  auto& halves = zoo->Add("scan-grad-split-partial", "scan-f32", 8,
                          "f32, dq and dk of a head in bf16, in two parts");
  NumericOf(halves).grad_partial = NumberType::kBf16;
  halves.parts = 2;
  auto& weights = zoo->Add("scan-grad-params", "scan-f32", 4,
                           "f32, biases, psi and phi in bf16");
  NumericOf(weights).param = NumberType::kBf16;
  NumericOf(weights).dt = NumberType::kBf16;
  auto& carried = zoo->Add("scan-grad-f16", "scan-f32", 8,
                           "f32, states and cotangents read in f16");
  NumericOf(carried).state = NumericOf(carried).grad_state = NumberType::kF16;
  auto& descending =
      zoo->Add("scan-grad-siso-descending", "siso-bf16-a32", 8,
               "bf16 operands, by pairs, descending sums, no fused products");
  descending.pairs = descending.scan.backward = true;
  descending.scan.fused = false;
  auto& mimo = zoo->Add("scan-grad-mimo-split", "mimo-bf16", 16,
                        "MIMO by pairs, chunks of 16, sums in three parts");
  mimo.pairs = true;
  mimo.parts = 3;
}

}  // namespace

std::span<const ScanGradVariant> ScanGradZoo() {
  static const std::vector<ScanGradVariant> kZoo = [] {
    ScanGradBuilder zoo;
    AddF32(&zoo);
    AddBf16(&zoo);
    AddMore(&zoo);
    AddF16(&zoo);
    return zoo.Take();
  }();
  return kZoo;
}

Result<ScanGradVariant> FindScanGradVariant(std::string_view name) {
  return FindInZoo(name, ScanGradZoo(), " of a scan's gradients");
}

}  // namespace lockstep::verify
