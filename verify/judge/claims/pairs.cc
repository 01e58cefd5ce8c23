#include "verify/judge/claims/pairs.h"

#include <utility>

#include "verify/base/status_macros.h"
#include "verify/judge/invariance.h"

namespace lockstep::verify {
namespace {

// The same case in other buffers.
OtherCall Moved(const Candidate& candidate, const LargerCall& larger,
                int64_t shift) {
  OtherCall call;
  call.what = "run again, buffers moved by " + std::to_string(shift);
  call.how = candidate.traits().fixed;
  call.how.check = "alignment";
  call.how.shift = shift;
  // Another process lays them out itself.
  if (candidate.traits().apart) return call;
  call.make = [&larger, shift]() -> Result<LawCall> {
    ASSIGN_OR_RETURN(std::unique_ptr<Trial> trial,
                     larger.open(larger.request, shift));
    LawCall made;
    made.kept = AllLines(*trial);
    made.trial = std::move(trial);
    return made;
  };
  return call;
}

// Other and more numbers, which what is kept from call to call would show.
OtherCall Between(const Candidate& candidate, const LargerCall& larger) {
  OtherCall call;
  call.what = "a longer call on other numbers";
  call.how = candidate.traits().fixed;
  call.compared = false;
  call.make = [&larger]() -> Result<LawCall> {
    ASSIGN_OR_RETURN(std::unique_ptr<Trial> trial,
                     larger.open(larger.longer, 0));
    LawCall made;
    made.kept.resize(trial->outputs().size());
    made.trial = std::move(trial);
    return made;
  };
  return call;
}

}  // namespace

std::vector<OtherCall> RepeatCalls(const Candidate& candidate,
                                   const LargerCall& larger, int64_t runs) {
  const bool placed = !CannotTry(candidate, "alignment");
  OtherCall again;
  again.what = "run again";
  again.how = candidate.traits().fixed;
  std::vector<OtherCall> calls = {again, Between(candidate, larger), again};
  calls.back().what = "run again after a longer call on other numbers";
  for (const int64_t shift : kShifts) {
    if (placed) calls.push_back(Moved(candidate, larger, shift));
  }
  for (Variation& how : candidate.Variations(larger.trial)) {
    if (how.check != "addresses" && how.check != "contents") continue;
    const std::string what = how.check == "addresses"
                                 ? "run again at other addresses"
                                 : "run again where other numbers lay before";
    calls.push_back({what, "", nullptr, std::move(how)});
  }
  for (int64_t n = 4; n < runs; ++n) calls.push_back(again);
  return calls;
}

std::vector<OtherCall> SplitCalls(const Candidate& candidate,
                                  const Trial& larger) {
  std::vector<OtherCall> calls;
  const Introduction kernel = candidate.Introduce();
  for (const int splits : kernel.splits) {
    Variation how = candidate.traits().fixed;
    how.check = "splits";
    how.splits = splits;
    calls.push_back({"with splits = " + std::to_string(splits), "", nullptr,
                     std::move(how)});
  }
  for (Variation& how : candidate.Variations(larger)) {
    if (how.check != "threads") continue;
    calls.push_back(
        {"by " + std::to_string(how.threads.value_or(1)) + " threads", "",
         nullptr, std::move(how)});
  }
  return calls;
}

}  // namespace lockstep::verify
