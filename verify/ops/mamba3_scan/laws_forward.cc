// The laws of a scan's own outputs: what comes later changes nothing before, a
// run may be scanned in parts, heads are alike.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/ops/mamba3_scan/laws.h"

namespace lockstep::verify {

// Other tokens from a cut on change nothing before it.
Result<Law> ForwardLaws::Causality() const {
  const int64_t cut = 1 + Draw(LawDraw::kCut, problem().length - 1);
  ScanPick pick = PickAll(trial().data());
  for (int64_t& token : pick.tokens) {
    const int64_t t = token % problem().length;
    if (t >= cut) token += t % cut - t;
  }
  ASSIGN_OR_RETURN(LawCall call, CallOn(request(), pick));
  const int64_t per_token = problem().output_ranks() * problem().heads;
  for (int64_t b = 0; b < problem().batch; ++b) {
    for (int64_t line = 0; line < cut * per_token; ++line) {
      const int64_t at = b * problem().length * per_token + line;
      call.kept[0].push_back({at, at});
    }
  }
  for (int64_t row = 0; row < trial().rows(); ++row) {
    if (runs()[static_cast<size_t>(row / problem().heads)].end > cut) continue;
    for (size_t t = 1; t < call.kept.size(); ++t) {
      KeepLines(t, row, row, 0, &call);
    }
  }
  return OneCall(true, std::move(call));
}

// A run in two calls, the second from the carry of the first.
Result<Law> ForwardLaws::Split() const {
  const int64_t run = DrawRun(2);
  const int64_t before = 1 + Draw(LawDraw::kCut, TokensOf(run) - 1);
  const int64_t cut = At(run).first + before;
  if (!CarryIsWhole(At(run).row, cut - 1)) return Law();
  const int64_t row = At(run).row;
  ASSIGN_OR_RETURN(LawCall first,
                   Alone(run, {row, At(run).first, cut}, request()));
  Case from_carry = request();
  from_carry.Get<Mamba3ScanCase>().carry = "thkv";
  ASSIGN_OR_RETURN(LawCall second,
                   Alone(run, {row, cut, At(run).end}, from_carry));
  KeepRun(0, run, &second);
  second.kept[0].clear();
  for (int64_t head = 0; head < problem().heads; ++head) {
    const int64_t own = run * problem().heads + head;
    KeepLines(0, head, own, 0, &first);
    KeepLines(0, head, own,
              static_cast<size_t>(before * problem().output_ranks()), &second);
  }
  second.take = [trial = second.trial.get()](const OutputSet& done) {
    static_cast<Mamba3ScanTrial*>(trial)->TakeCarry(done);
  };
  second.taken = TakenCarries();
  Law law;
  law.may_be_refused = true;  // other lengths, and a carry
  law.zeros_alike = ZerosAlike();
  law.calls.push_back(std::move(first));
  law.calls.push_back(std::move(second));
  return law;
}

Result<Law> ForwardLaws::Heads() const {
  const ScanPick pick = MovedHeads();
  ASSIGN_OR_RETURN(LawCall call, CallOn(request(), pick));
  for (int64_t row = 0; row < trial().rows(); ++row) {
    const int64_t own = row - row % problem().heads +
                        pick.heads[static_cast<size_t>(row % problem().heads)];
    for (size_t t = 0; t < call.kept.size(); ++t) {
      KeepLines(t, row, own, 0, &call);
    }
  }
  return OneCall(false, std::move(call));
}

}  // namespace lockstep::verify
