// What the operands of the products that make gradients are rounded to.
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

// By the second token's a: the gradient that its q leaves in the first state.
Result<Numbers> DecayedQueries(ScanGradKernel* kernel, const Numbers& a) {
  ScanGradQuestion question;
  question.tokens = 2;
  question.heads = kScanHeads;
  question.q = [](int64_t, int64_t t, int64_t n) {
    return t == 1 && n == 0 ? 1.0 : 0.0;
  };
  question.dy = question.q;
  question.a = OfHead(a, 1);
  question.from_carry = true;
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  Numbers x;
  for (const Rows& h : answer.dinit_h) x.push_back(double{h[0][0]});
  return x;
}

}  // namespace

void AskGradDecayed(ScanGradKernel* kernel) {
  if (kernel->read == nullptr) {
    kernel->CannotTell("scan.decayed", &kernel->scan().decayed, kBehindAngles);
    return;
  }
  const Numbers a = Arguments(351, false);
  const auto came = DecayedQueries(kernel, a);
  if (!kernel->Answered("scan.decayed", came)) return;
  Numbers exps;
  for (const double x : a) exps.push_back(ExpDouble(x));
  const RoundingModel* model =
      Arrived(exps, came.value(), kernel->lane(),
              0x1p-18 + 2 * kernel->profile.exp_rel, 0x1p-22);
  if (model == nullptr) {
    kernel->Say("scan.decayed", Word::kCannotTell,
                Format("a q of 1 with a decay of e^%.6g left %.9g", a[0],
                       came.value()[0]));
    return;
  }
  const bool f32 = model->type == NumberType::kF32;
  if (f32 && kernel->scan().query == NumberType::kF32) model = kernel->read;
  if (f32 && model->type == NumberType::kF32 &&
      kernel->read->type != NumberType::kF32) {
    kernel->Say("scan.decayed", Word::kAssumed,
                "q is rounded before it decays, and no product of both is");
    return;
  }
  kernel->TakeType("scan.decayed", *model, &kernel->scan().decayed,
                   Format("%zu cotangents of a decayed q were numbers of %s",
                          a.size(), model->text));
}

namespace {

// Near numbers in the first two channels of a state, a pair a coordinate.
ScanElement InTwoChannels(const std::vector<NearPair>& pairs) {
  return [&pairs](int64_t, int64_t p, int64_t n) {
    const NearPair& pair = pairs[static_cast<size_t>(n)];
    return p == 0 ? pair.first : p == 1 ? pair.second : 0.0;
  };
}
ScanElement TheirDifference(double gain) {
  return [gain](int64_t, int64_t, int64_t c) {
    return c == 0 ? gain : c == 1 ? -gain : 0.0;
  };
}

// What dq or dk of one token has of these.
void TakeAnswers(const Rows& gradient, double gain,
                 std::vector<NearPair>* pairs) {
  for (size_t n = 0; n < pairs->size(); ++n) {
    (*pairs)[n].answer = double{gradient[0][n]} / gain;
  }
}

}  // namespace

void AskGradState(ScanGradKernel* kernel) {
  auto pairs = NearNumbers(kScanState, 401);
  ScanGradQuestion question;
  question.carry_h = InTwoChannels(pairs);
  question.dy = TheirDifference(kernel->gain());
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.state", answer)) return;
  TakeAnswers(answer->dq[0], kernel->gain(), &pairs);
  SayPairs(kernel, "scan.state", "states", pairs, 0x1p-22,
           kernel->GroupRounding(), &kernel->scan().state);
}

void AskGradStateCotangent(ScanGradKernel* kernel) {
  auto pairs = NearNumbers(kScanState, 441);
  ScanGradQuestion question;
  question.dcarry_h = InTwoChannels(pairs);
  question.v = TheirDifference(kernel->gain());
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.grad_state", answer)) return;
  TakeAnswers(answer->dk[0], kernel->gain(), &pairs);
  SayPairs(kernel, "scan.grad_state", "cotangents of states", pairs, 0x1p-22,
           kernel->GroupRounding(), &kernel->scan().grad_state);
}

namespace {

// How a gate changes dy, and what type the cotangent behind it is rounded to.
struct OutputFit {
  const RoundingModel* gate = nullptr;  // null: none explains the answers
  const RoundingModel* d_o = nullptr;
};
bool ExplainsOutput(const RoundingModel& gate, const RoundingModel& d_o,
                    const Numbers& silu, const Numbers& came, double margin) {
  const bool fine = gate.type == NumberType::kF32;
  size_t told = 0;
  for (size_t i = 0; i < silu.size(); ++i) {
    if (NearBorder(gate, silu[i], margin)) continue;
    const double x =
        kEightBits * double{RoundedBy(gate, static_cast<float>(silu[i]))};
    const double off = fine ? margin : 0x1p-23;
    if (NearBorder(d_o, x, off)) continue;
    ++told;
    const double wanted = RoundedBy(d_o, static_cast<float>(x));
    const double most = d_o.type == NumberType::kF32 ? 2 * off : 0x1p-22;
    if (!(std::fabs(came[i] - wanted) <= most * std::fabs(wanted))) {
      return false;
    }
  }
  return told >= silu.size() / 4;
}
OutputFit FitOutput(const Numbers& silu, const Numbers& came, Lane lane,
                    double margin) {
  for (const RoundingModel& gate : RoundingModels()) {
    if (gate.how == Rounding::kTruncate || gate.type == NumberType::kTf32) {
      continue;
    }
    for (const RoundingModel* d_o : ModelsBeside(lane)) {
      if (ExplainsOutput(gate, *d_o, silu, came, margin)) return {&gate, d_o};
    }
  }
  return {};
}

}  // namespace

void AskGradOutput(ScanGradKernel* kernel) {
  const auto z = Doubles(DrawnNumbers(kScanValues, 8, 451));
  ScanGradQuestion question;
  question.q = FirstCoordinate();
  question.dy = Always(kEightBits);
  question.z = [&z](int64_t, int64_t, int64_t c) {
    return z[static_cast<size_t>(c)];
  };
  question.from_carry = true;
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.grad_do", answer)) return;
  Numbers silu, came;
  for (size_t c = 0; c < z.size(); ++c) {
    silu.push_back(z[c] * Sigmoid(z[c]));
    came.push_back(double{answer->dinit_h[0][c][0]});
  }
  const double margin = 0x1p-20 + 2 * kernel->scan().sigmoid_rel;
  const OutputFit fit = FitOutput(silu, came, kernel->lane(), margin);
  if (fit.gate == nullptr) {
    kernel->Say("scan.grad_do", Word::kCannotTell,
                Format("a dy of %.9g behind a gate of %.9g became %.9g",
                       kEightBits, silu[0], came[0]));
    return;
  }
  kernel->TakeType("scan.gate", *fit.gate, &kernel->scan().gate,
                   Format("%zu cotangents behind a gate had a gate of %s",
                          z.size(), fit.gate->text));
  kernel->TakeType("scan.grad_do", *fit.d_o, &kernel->scan().grad_do,
                   Format("%zu cotangents behind a gate were numbers of %s",
                          z.size(), fit.d_o->text));
}

void AskGradPartial(ScanGradKernel* kernel) {
  // Of 8 bits, so that no operand is rounded; their products have 16.
  std::vector<NearPair> pairs;
  for (const float x : DrawnNumbers(kScanState, 8, 461)) {
    pairs.push_back({double{x}, double{x} + 0x1p-7, 0});
  }
  ScanGradQuestion question;
  question.heads = 2;
  question.one_group = true;
  question.carry_h = [&pairs](int64_t h, int64_t p, int64_t n) {
    const NearPair& pair = pairs[static_cast<size_t>(n)];
    return p != 0 ? 0.0 : h == 0 ? pair.first : pair.second;
  };
  question.dy = [](int64_t h, int64_t, int64_t c) {
    return c != 0 ? 0.0 : h == 0 ? kEightBits : -kEightBits;
  };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.grad_partial", answer)) return;
  for (size_t n = 0; n < pairs.size(); ++n) {
    pairs[n] = {kEightBits * pairs[n].first, kEightBits * pairs[n].second,
                double{answer->dq[0][0][n]}};
  }
  const RoundingModel* model =
      FitPairs(pairs, kernel->lane(), 0x1p-22, 2 * kernel->OutRounding());
  kernel->coarse_heads = model == nullptr || model->type != NumberType::kF32;
  SayPairs(kernel, "scan.grad_partial", "heads' dq", pairs, 0x1p-22,
           kernel->OutRounding(), &kernel->scan().grad_partial);
}

}  // namespace lockstep::verify
