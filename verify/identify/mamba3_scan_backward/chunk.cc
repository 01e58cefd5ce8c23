// How long a chunk of the state, and of its cotangent, is.
#include <cstddef>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/identify/mamba3_scan/chunk.h"
#include "verify/identify/mamba3_scan_backward/kernel.h"

namespace lockstep::verify {
namespace {

// Of every head: the gradient of an initial state, and da of the last token,
// which is the product of the state before it and of a cotangent of 1.
Result<std::vector<Numbers>> NumbersBehind(
    ScanGradKernel* kernel, const std::vector<TwoDecays>& of_heads,
    int64_t tokens) {
  ScanGradQuestion question;
  question.tokens = tokens;
  question.heads = static_cast<int64_t>(of_heads.size());
  question.a = DecaysOf(of_heads);
  question.carry_h = question.dcarry_h = [](int64_t, int64_t p, int64_t n) {
    return p == 0 && n == 0 ? 1 : 0;
  };
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  std::vector<Numbers> numbers(2);
  for (size_t h = 0; h < of_heads.size(); ++h) {
    numbers[0].push_back(double{answer.dinit_h[h][0][0]});
    numbers[1].push_back(double{answer.da[h].back()});
  }
  return numbers;
}

// The cotangent is a sum of dy, by channel, and the state one of k, by
// coordinate, in a channel of its own. Only the last token reads that.
Result<bool> SumsInOrder(ScanGradKernel* kernel, int64_t apart) {
  constexpr int64_t kOwn = kScanValues - 1;
  const int64_t last = TokensOfThree(apart) - 1;
  const ScanElement terms = ThreeTerms(apart);
  ScanGradQuestion question;
  question.tokens = last + 1;
  question.q = FirstCoordinate();
  question.k = terms;
  question.v = [](int64_t, int64_t, int64_t c) { return c == kOwn ? 1 : 0; };
  question.dy = [&](int64_t h, int64_t t, int64_t c) {
    return c != kOwn ? terms(h, t, c) : t == last ? 1.0 : 0.0;
  };
  question.from_carry = true;
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  bool in_order = true;
  for (int64_t c = 0; c < kOwn; ++c) {
    const auto at = static_cast<size_t>(c);
    in_order = in_order && answer.dinit_h[0][at][0] == LeftOfThree(c, false) &&
               answer.dq[0].back()[at] == LeftOfThree(c, true);
  }
  return in_order;
}

float Product(double x, double y, double z) {
  return static_cast<float>(x) *
         (static_cast<float>(y) * static_cast<float>(z));
}

// The first token has a k and a v, the last a q and a do. dv and dk read the
// cotangent of the state, q do, and dq reads the state, k v. `of_state`: dq,
// by coordinate; else dv, by channel, and dk, by coordinate.
Result<bool> ReadsTheState(ScanGradKernel* kernel, int64_t apart,
                           bool of_state) {
  const auto q = Doubles(DrawnNumbers(kScanState, 24, 471));
  const auto d_o = Doubles(DrawnNumbers(kScanValues, 24, 472));
  const auto k = Doubles(DrawnNumbers(kScanState, 24, 473));
  const auto v = Doubles(DrawnNumbers(kScanValues, 24, 474));
  const auto at = [](const Numbers& x, int64_t token, bool first_alone) {
    return [&x, token, first_alone](int64_t, int64_t t, int64_t c) {
      const bool other = t != token || (first_alone && c > 0);
      return other ? 0.0 : x[static_cast<size_t>(c)];
    };
  };
  ScanGradQuestion question;
  question.tokens = apart + 1;
  question.q = at(q, apart, of_state);
  question.dy = at(d_o, apart, of_state);
  question.k = at(k, 0, !of_state);
  question.v = at(v, 0, true);
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  bool reads = true;
  for (size_t i = 0; i < q.size(); ++i) {
    if (of_state) {
      reads = reads && answer.dq[0].back()[i] == Product(d_o[0], k[i], v[0]);
      continue;
    }
    reads = reads && answer.dv[0][0][i] == Product(k[0], q[0], d_o[i]) &&
            answer.dk[0][0][i] == Product(v[0], q[i], d_o[0]);
  }
  return reads;
}

Result<bool> MeetByState(ScanGradKernel* kernel, int64_t apart) {
  const auto in_order = SumsInOrder(kernel, apart);
  if (!in_order.ok() || !in_order.value()) return in_order;
  const auto cotangent = ReadsTheState(kernel, apart, false);
  if (!cotangent.ok() || !cotangent.value()) return cotangent;
  return ReadsTheState(kernel, apart, true);
}

}  // namespace

void AskGradChunk(ScanGradKernel* kernel) {
  LearnChunk(kernel,
             {[kernel](const std::vector<TwoDecays>& of_heads, int64_t tokens) {
                return NumbersBehind(kernel, of_heads, tokens);
              },
              [kernel](int64_t apart) { return MeetByState(kernel, apart); }});
}

}  // namespace lockstep::verify
