#include "verify/emulator/mamba3_scan/zoo.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "verify/emulator/zoo.h"

namespace lockstep::verify {
namespace {

// Collects variants; every one starts from a built-in profile.
class ScanBuilder {
 public:
  ScanVariant& Add(const std::string& name, const char* base, int64_t chunk,
                   const std::string& description) {
    ScanVariant variant;
    for (const NumericProfile& profile : BuiltinProfiles()) {
      if (profile.name == base) variant.numeric = profile;
    }
    variant.numeric.name = name;
    variant.numeric.description = description;
    variant.chunk = chunk;
    if (variant.numeric.scan->form == ScanForm::kChunked) {
      variant.numeric.scan->chunk = chunk;
    }
    variants_.push_back(std::move(variant));
    return variants_.back();
  }
  std::vector<ScanVariant> Take() const {
    return {variants_.begin(), variants_.end()};
  }

 private:
  std::deque<ScanVariant> variants_;  // references stay good
};

void AddF32(ScanBuilder* zoo) {
  zoo->Add("scan", "scan-f32", 4, "f32, chunks of 4 on the row's grid");
  for (const int64_t chunk : {1, 2, 3, 5, 7, 8, 16, 64, 256}) {
    const std::string length = std::to_string(chunk);
    zoo->Add("scan-chunk" + length, "scan-f32", chunk,
             "f32, chunks of " + length);
  }
  zoo->Add("scan-bf16-lane", "scan-f32", 4, "f32 between bf16 tensors")
      .numeric.lane = Lane::kBf16;
  zoo->Add("scan-segment", "scan-f32", 4, "f32, decays by segment sums")
      .numeric.scan->decay = DecayForm::kSegment;
  zoo->Add("scan-run-grid", "scan-f32", 4, "f32, chunks of every run's own")
      .grid_of_runs = true;
  zoo->Add("scan-backward", "scan-f32", 4, "f32, state in descending order")
      .backward = true;
  zoo->Add("scan-muladd", "scan-f32", 4, "f32, products and sums apart").fused =
      false;
  zoo->Add("scan-turns", "scan-f32", 8, "f32, angles in turns")
      .numeric.scan->angle_form = AngleForm::kTurns;
  zoo->Add("scan-unreduced", "scan-f32", 8, "f32, angles never reduced")
      .numeric.scan->angle_form = AngleForm::kUnreduced;
  for (const bool turns : {false, true}) {
    auto& tokens = zoo->Add(
        turns ? "scan-recurrent-turns" : "scan-recurrent", "scan-f32", 1,
        turns ? "f32, token by token, turns" : "f32, token by token");
    tokens.numeric.scan->form = ScanForm::kRecurrent;
    tokens.numeric.scan->decay = DecayForm::kProduct;
    if (turns) tokens.numeric.scan->angle_form = AngleForm::kTurns;
  }
}

// Conventions apart from the arithmetic.
void AddOthers(ScanBuilder* zoo) {
  auto& ssd = zoo->Add("ssd", "scan-f32", 8, "f32, Mamba-2: reads no tau");
  ssd.ssd = true;
  auto& public_ssd =
      zoo->Add("ssd-bf16", "siso-bf16-a32", 64, "bf16, Mamba-2: reads no tau");
  public_ssd.ssd = true;
  public_ssd.grid_of_runs = true;
  for (const bool halves : {false, true}) {
    zoo->Add(halves ? "scan-halves" : "scan-neighbours", "scan-f32", 4,
             halves ? "f32, angles turn i and i + n/2 in any variant"
                    : "f32, angles turn 2i and 2i + 1 in any variant")
        .numeric.scan->pairing =
        halves ? Pairing::kHalves : Pairing::kNeighbours;
  }
  zoo->Add("siso-a32-halves", "siso-bf16-a32", 16,
           "SISO, angles turn i and i + n/2")
      .numeric.scan->pairing = Pairing::kHalves;
  zoo->Add("scan-empty-runs", "scan-f32", 4,
           "f32, runs without tokens export anything")
      .numeric.scan->empty_run = EmptyRun::kUnspecified;
}

// Masks that multiply, and operands of matrix units.
void AddMatrices(ScanBuilder* zoo) {
  for (const bool ssd : {false, true}) {
    auto& masked = zoo->Add(ssd ? "ssd-masked" : "scan-masked", "scan-f32", 8,
                            ssd ? "f32, Mamba-2, masked by a factor 0"
                                : "f32, masked by a factor 0");
    masked.mask_multiplies = true;
    masked.numeric.masked_nan_safe = MaskedNan::kNo;
    masked.ssd = ssd;
  }
  for (const bool cut : {false, true}) {
    ScanNumeric& tf32 =
        *zoo->Add(cut ? "scan-tf32-cut" : "scan-tf32", "scan-f32", 8,
                  cut ? "f32 tensors, TF32 operands that are cut off"
                      : "f32 tensors, TF32 operands rounded to nearest")
             .numeric.scan;
    tf32.query = tf32.scaled = tf32.score = tf32.state = tf32.decayed =
        NumberType::kTf32;
    if (cut) tf32.operand_round = OperandRound::kTruncate;
  }
  ScanNumeric& half =
      *zoo->Add("scan-f16", "scan-f32", 8, "f32 tensors, scores, reads in f16")
           .numeric.scan;
  half.score = half.state = NumberType::kF16;
}

// Kernels of f16 tensors; operands of matrix units are f16, too.
void AddF16(ScanBuilder* zoo) {
  zoo->Add("scan-f16-lane", "scan-f32", 4, "f32 between f16 tensors")
      .numeric.lane = Lane::kF16;
  auto& tokens = zoo->Add("scan-f16-recurrent", "scan-f32", 1,
                          "f32 between f16 tensors, token by token");
  tokens.numeric.lane = Lane::kF16;
  tokens.numeric.scan->form = ScanForm::kRecurrent;
  tokens.numeric.scan->decay = DecayForm::kProduct;
  zoo->Add("siso-f16", "siso-f16-a32", 4, "SISO in f16, chunks of 4");
  zoo->Add("siso-f16-chunk16", "siso-f16-a32", 16, "the same, chunks of 16");
  zoo->Add("siso-f16-chunk64", "siso-f16-a32", 64, "the same, chunks of 64")
      .grid_of_runs = true;
  zoo->Add("siso-f16-segment", "siso-f16-a32", 8, "the same, segment sums")
      .numeric.scan->decay = DecayForm::kSegment;
  zoo->Add("siso-f16-backward", "siso-f16-a32", 8, "the same, descending sums")
      .backward = true;
  zoo->Add("mimo-f16", "mimo-f16", 4, "MIMO in f16, chunks of 4");
  zoo->Add("mimo-f16-chunk16", "mimo-f16", 16, "the same, chunks of 16")
      .grid_of_runs = true;
  auto& ssd =
      zoo->Add("ssd-f16", "siso-f16-a32", 64, "f16, Mamba-2: reads no tau");
  ssd.ssd = ssd.grid_of_runs = true;
  auto& step = zoo->Add("step-f16", "step-bf16read", 1,
                        "decoding, the state read in f16");
  step.numeric.lane = Lane::kF16;
  step.numeric.scan->query = step.numeric.scan->state = NumberType::kF16;
}

void AddBf16(ScanBuilder* zoo) {
  zoo->Add("siso-a16", "siso-bf16-a16", 4, "public SISO kernel, chunks of 4");
  zoo->Add("siso-a16-chunk64", "siso-bf16-a16", 64, "the same, chunks of 64")
      .grid_of_runs = true;
  zoo->Add("siso-a32", "siso-bf16-a32", 4, "SISO, angles in f32, chunks of 4");
  zoo->Add("siso-a32-chunk16", "siso-bf16-a32", 16, "the same, chunks of 16");
  zoo->Add("siso-a32-chunk64", "siso-bf16-a32", 64, "the same, chunks of 64")
      .grid_of_runs = true;
  zoo->Add("siso-a32-segment", "siso-bf16-a32", 8, "the same, segment sums")
      .numeric.scan->decay = DecayForm::kSegment;
  zoo->Add("mimo", "mimo-bf16", 4, "public MIMO kernel, chunks of 4");
  zoo->Add("mimo-chunk16", "mimo-bf16", 16, "the same, chunks of 16")
      .grid_of_runs = true;
  zoo->Add("mimo-backward", "mimo-bf16", 8, "the same, descending sums")
      .backward = true;
  zoo->Add("step-f32", "step-f32state", 1, "decoding, f32 state");
  zoo->Add("step-bf16", "step-bf16read", 1, "decoding, the state read in bf16");
}

}  // namespace

std::span<const ScanVariant> ScanZoo() {
  static const std::vector<ScanVariant> kZoo = [] {
    ScanBuilder zoo;
    AddF32(&zoo);
    AddBf16(&zoo);
    AddMatrices(&zoo);
    AddOthers(&zoo);
    AddF16(&zoo);
    return zoo.Take();
  }();
  return kZoo;
}

Result<ScanVariant> FindScanVariant(std::string_view name) {
  return FindInZoo(name, ScanZoo(), " of a scan");
}

}  // namespace lockstep::verify
