// What products of two tokens are rounded to: those of q and k in dv, those of
// do and v in dk.
#include <cstddef>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/identify/mamba3_scan_backward/kernel.h"

namespace lockstep::verify {
namespace {

// One token meets two later ones. All numbers have 8 bits, so that no operand
// and no state's cotangent is rounded, and their products have 16.
struct Meeting {
  Numbers own, later, last;  // by head
};

Meeting DrawnMeeting(uint64_t seed) {
  Meeting drawn = {Doubles(DrawnNumbers(kScanHeads, 8, seed)),
                   Doubles(DrawnNumbers(kScanHeads, 8, seed + 1)),
                   {}};
  for (const double x : drawn.later) drawn.last.push_back(x + 0x1p-7);
  return drawn;
}

// The later tokens' numbers of each head, in the first coordinate or channel.
ScanElement OfLater(const Meeting& drawn) {
  return [&drawn](int64_t h, int64_t t, int64_t c) {
    const auto at = static_cast<size_t>(h);
    if (c != 0 || t == 0) return 0.0;
    return t == 1 ? drawn.later[at] : drawn.last[at];
  };
}
// What takes their difference.
ScanElement Apart(double gain) {
  return [gain](int64_t, int64_t t, int64_t c) {
    if (c != 0 || t == 0) return 0.0;
    return t == 1 ? gain : -gain;
  };
}

// Two products with one token: q k, told by dv, or do v, told by dk.
Result<std::vector<NearPair>> ProductsOfTwo(ScanGradKernel* kernel,
                                            bool of_keys) {
  const Meeting drawn = DrawnMeeting(of_keys ? 511 : 521);
  const double gain = kernel->gain();
  ScanGradQuestion question;
  question.tokens = 3;
  question.heads = kScanHeads;
  (of_keys ? question.k : question.v) = OfHead(drawn.own, 0);
  question.q = of_keys ? OfLater(drawn) : Apart(gain);
  question.dy = of_keys ? Apart(gain) : OfLater(drawn);
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  const std::vector<Rows>& told = of_keys ? answer.dv : answer.dk;
  std::vector<NearPair> pairs;
  for (size_t h = 0; h < drawn.own.size(); ++h) {
    pairs.push_back({drawn.own[h] * drawn.later[h],
                     drawn.own[h] * drawn.last[h],
                     double{told[h][0][0]} / gain});
  }
  return pairs;
}

}  // namespace

void AskGradScore(ScanGradKernel* kernel) {
  const auto of_keys = ProductsOfTwo(kernel, true);
  const auto of_values = ProductsOfTwo(kernel, false);
  if (!of_keys.ok() || !of_values.ok()) {
    kernel->Say("scan.score", Word::kAssumed,
                of_keys.ok() ? of_values.message() : of_keys.message());
    return;
  }
  // The coarser of both counts.
  const double out = kernel->OutRounding();
  const RoundingModel* model =
      FitPairs(of_keys.value(), kernel->lane(), 0x1p-22, 2 * out);
  const bool fine = model != nullptr && model->type == NumberType::kF32;
  SayPairs(kernel, "scan.score", fine ? "products do v" : "products q k",
           fine ? of_values.value() : of_keys.value(), 0x1p-22,
           fine ? kernel->GroupRounding() : out, &kernel->scan().score);
}

}  // namespace lockstep::verify
