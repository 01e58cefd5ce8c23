// What angles turn: q and k, by the gradients of a carry and of v.
#include <algorithm>
#include <array>
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/emulator/mamba3_scan/turns.h"
#include "verify/identify/mamba3_scan_backward/kernel.h"

namespace lockstep::verify {
namespace {

// The error of a sine or cosine, as long as none is learned.
constexpr double kRoughTrig = 0x1p-13, kFineTrig = 0x1p-14;

// One dy in the first channel of a token.
ScanElement FirstChannel(double x) {
  return [x](int64_t, int64_t, int64_t c) { return c == 0 ? x : 0; };
}

constexpr int64_t kTurnedHeads = 8;

// Angles near an eighth of a turn, one for each head and angle.
double SomeTurns(int64_t h, int64_t s) {
  static const auto kDrawn =
      DrawnNumbers(static_cast<size_t>(kTurnedHeads * kScanAngles), 20, 302);
  const double x = kDrawn[static_cast<size_t>(h * kScanAngles + s)];
  return 0.05 + 0.15 * (x - 1);
}
ScanElement Turned() {
  return [](int64_t h, int64_t, int64_t s) {
    return double{static_cast<float>(SomeTurns(h, s))};
  };
}

// Cosines and sines of those angles as that type has them.
struct Turn {
  double cosine = 0, sine = 0;
};
Turn TurnOf(const RoundingModel& angle, int64_t h, int64_t s) {
  Turn turn;
  const double turns = double{static_cast<float>(SomeTurns(h, s))};
  TurnsToSinCos(TurnsIn(angle, turns), &turn.sine, &turn.cosine);
  return turn;
}
Numbers TurnsOf(const RoundingModel& angle) {
  Numbers all;
  for (int64_t h = 0; h < kTurnedHeads; ++h) {
    for (int64_t s = 0; s < kScanAngles; ++s) {
      const Turn turn = TurnOf(angle, h, s);
      all.push_back(turn.cosine);
      all.push_back(turn.sine);
    }
  }
  return all;
}

Numbers TurnedCoordinates(const ScanGradKernel& kernel,
                          const ScanGradAnswer& answer) {
  Numbers all;
  for (const Rows& h : answer.dinit_h) {
    for (int64_t s = 0; s < kScanAngles; ++s) {
      for (const int64_t n : {kernel.First(s), kernel.Second(s)}) {
        all.push_back(double{h[0][static_cast<size_t>(n)]} / kEightBits);
      }
    }
  }
  return all;
}

double LargestError(const Numbers& x, const Numbers& came) {
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = std::fabs(came[i] - x[i]);
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

// The type that sines and cosines of these angles have; null: none.
const RoundingModel* ReadAs(const Numbers& x, const Numbers& came, Lane lane) {
  const bool plain = LargestError(x, came) <= kRoughTrig;
  if (plain) return &RoundingModels().front();
  const RoundingModel* model = Arrived(x, came, lane, kRoughTrig, 0x1p-20);
  return model != nullptr && model->type == NumberType::kF32 ? nullptr : model;
}

void SayTrig(ScanGradKernel* kernel, double largest, size_t count) {
  // What f32 angles and products may add.
  constexpr double kNoise = 0x1p-21;
  double* trig = &kernel->scan().trig_abs;
  for (const double value : {*trig, 0x1p-20, 0x1p-18, 0x1p-16}) {
    if (!(largest - kNoise <= value) || value < *trig) continue;
    *trig = value;
    kernel->Say("scan.trig_abs", Word::kSeen,
                Format("%zu sines and cosines: the largest error was %.3g",
                       count, largest));
    return;
  }
  kernel->Say("scan.trig_abs", Word::kCannotTell,
              Format("errors up to %.3g of sines and cosines exceed %g",
                     largest, 0x1p-16));
}

}  // namespace

void AskGradRotation(ScanGradKernel* kernel) {
  ScanGradQuestion question;
  question.heads = kTurnedHeads;
  question.q = kernel->FirstOfEach();
  question.carry_theta = Turned();
  question.dy = FirstChannel(kEightBits);
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.angle", answer)) return;
  const Numbers came = TurnedCoordinates(*kernel, answer.value());
  for (const RoundingModel& angle : RoundingModels()) {
    if (angle.how == Rounding::kTruncate || angle.type == NumberType::kTf32) {
      continue;
    }
    const Numbers x = TurnsOf(angle);
    const RoundingModel* read = ReadAs(x, came, kernel->lane());
    if (read == nullptr) continue;
    kernel->angle = &angle;
    kernel->read = read;
    kernel->TakeType(
        "scan.angle", angle, &kernel->scan().angle,
        Format("%zu turned coordinates of q were sin and cos of an angle in %s",
               came.size(), angle.name));
    const bool fine =
        read->type == NumberType::kF32 && angle.type == NumberType::kF32;
    if (fine) SayTrig(kernel, LargestError(x, came), came.size());
    return;
  }
  kernel->Say("scan.angle", Word::kCannotTell,
              Format("a q of 1 at %.6g turns read %.9g, and its cotangent came "
                     "with 8 bits more",
                     SomeTurns(0, 0), came[0]));
}

void AskGradQuery(ScanGradKernel* kernel) {
  if (kernel->read == nullptr) {
    kernel->CannotTell("scan.query", &kernel->scan().query, kBehindAngles);
    return;
  }
  ScanGradQuestion question;
  question.heads = kTurnedHeads;
  question.q = kernel->FirstOfEach();
  question.carry_theta = Turned();
  question.dy = FirstChannel(1);
  question.carry_h = [kernel](int64_t, int64_t p, int64_t n) {
    for (int64_t s = 0; p == 0 && s < kScanAngles; ++s) {
      if (n == kernel->Second(s)) return 1.0;
    }
    return 0.0;
  };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.query", answer)) return;
  Numbers x, came;
  for (int64_t h = 0; h < kTurnedHeads; ++h) {
    for (int64_t s = 0; s < kScanAngles; ++s) {
      x.push_back(TurnOf(*kernel->angle, h, s).cosine);
      came.push_back(double{answer->dinit_theta[static_cast<size_t>(h)]
                                               [static_cast<size_t>(s)]} /
                     kTwoPi);
    }
  }
  const RoundingModel* model =
      Arrived(x, came, kernel->lane(), kFineTrig, 0x1p-20);
  if (model == nullptr) {
    kernel->Say("scan.query", Word::kCannotTell,
                Format("a q of %.9g gave a gradient of the angle of %.9g", x[0],
                       came[0]));
    return;
  }
  kernel->TakeType(
      "scan.query", *model, &kernel->scan().query,
      Format("%zu gradients of angles had a q of %s", x.size(), model->text));
}

namespace {

// f32 tensors: elements of 24 bits that no angle turns.
Result<std::vector<NearPair>> PlainKeys(ScanGradKernel* kernel) {
  auto pairs = NearNumbers(kScanValues / 2, 411);
  ScanGradQuestion question;
  question.k = [&](int64_t, int64_t, int64_t n) {
    const NearPair& pair = pairs[static_cast<size_t>(n / 2)];
    return n % 2 == 0 ? pair.first : pair.second;
  };
  question.dcarry_h = [](int64_t, int64_t p, int64_t n) {
    return n == 2 * p ? 1.0 : n == 2 * p + 1 ? -1.0 : 0.0;
  };
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  for (size_t p = 0; p < pairs.size(); ++p) {
    pairs[p].answer = double{answer.dv[0][0][p]};
  }
  return pairs;
}

// For tensors of 16 bits, the pairs are cosines and sines of angles near an
// eighth of a turn.
Result<std::vector<NearPair>> TurnedKeys(ScanGradKernel* kernel) {
  constexpr int64_t kFew = 4;
  ScanGradQuestion question;
  question.heads = kFew;
  question.k = kernel->FirstOfEach();
  question.carry_theta = Turned();
  question.dcarry_h = [kernel](int64_t, int64_t p, int64_t n) {
    if (p >= kScanAngles) return 0.0;
    return n == kernel->First(p) ? 1.0 : n == kernel->Second(p) ? -1.0 : 0.0;
  };
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  std::vector<NearPair> pairs;
  for (int64_t h = 0; h < kFew; ++h) {
    for (int64_t s = 0; s < kScanAngles; ++s) {
      const Turn turn = TurnOf(*kernel->angle, h, s);
      pairs.push_back(
          {turn.cosine, turn.sine,
           double{
               answer.dv[static_cast<size_t>(h)][0][static_cast<size_t>(s)]}});
    }
  }
  return pairs;
}

}  // namespace

void AskGradKey(ScanGradKernel* kernel) {
  const bool narrow = kernel->lane() != Lane::kF32;
  if (narrow && kernel->angle == nullptr) return;
  const auto pairs = narrow ? TurnedKeys(kernel) : PlainKeys(kernel);
  if (!kernel->Answered("scan.key", pairs)) return;
  const double margin =
      narrow ? 0x1p-18 + 2 * kernel->scan().trig_abs : 0x1p-22;
  SayPairs(kernel, "scan.key", "keys", pairs.value(), margin,
           kernel->OutRounding(), &kernel->scan().key);
}

}  // namespace lockstep::verify
