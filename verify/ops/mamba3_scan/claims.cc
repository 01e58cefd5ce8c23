#include "verify/ops/mamba3_scan/claims.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/ops/mamba3_scan/claim_sizes.h"
#include "verify/ops/mamba3_scan/laws.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {
namespace {

using std::to_string;

// Chunks of a run that are calls of their own; what is left is one more.
constexpr int64_t kMostChunks = 8;

// Steps that a run begins, or ends, with.
constexpr int64_t kMostSteps = 16;

// Makes calls of a larger one; lives as long as any of its parts.
class ScanParts : public ScanLaws {
 public:
  explicit ScanParts(const RunsTrial& whole) : ScanLaws(whole, 0) {}

  int64_t Runs() const { return Count(); }
  Result<LawCall> RunAlone(int64_t run) const {
    Result<LawCall> call = Alone(run, At(run), request());
    if (call.ok()) KeepRun(0, run, &call.value());
    return call;
  }
  Result<LawCall> Heads(int64_t first, int64_t end) const;
  Result<LawCall> Padded(int64_t padding, bool other) const;
  Result<LawCall> Tokens(int64_t begin, int64_t end, bool steps) const;
  std::string LineOf(int64_t batch, int64_t length) const {
    Case line = request();
    auto& scan = line.Get<Mamba3ScanCase>();
    scan.problem.batch = batch;
    scan.problem.length = length;
    scan.seg = {};
    scan.cu.clear();
    return MinimalLine(line);
  }
  // The same by the other op of the recurrence.
  Result<LawCall> AsScan() const {
    Result<LawCall> call = CallOn(request(), PickAll(trial().data()));
    if (!call.ok()) return call;
    RETURN_IF_ERROR(Become<Mamba3ScanTrial>(&call.value()));
    call->kept = AllLines(trial());
    return call;
  }
  using ScanLaws::ZerosAlike;
  int64_t Length() const { return problem().length; }
  int64_t LengthOf(int64_t run) const { return TokensOf(run); }
  const Mamba3ScanProblem& Problem() const { return problem(); }

 private:
  // The trial of the call becomes one of that kind.
  template <class T>
  static Status Become(LawCall* call) {
    const auto& made = static_cast<const RunsTrial&>(*call->trial);
    ASSIGN_OR_RETURN(Mamba3ScanData data,
                     PickScan(made.data(), PickAll(made.data()),
                              made.request().Get<Mamba3ScanCase>()));
    call->trial = std::make_unique<T>(made.request(), std::move(data));
    return {};
  }
};

// Heads first .. end - 1, which are whole groups, or one head of a group.
Result<LawCall> ScanParts::Heads(int64_t first, int64_t end) const {
  Case some = request();
  Mamba3ScanProblem& p = some.Get<Mamba3ScanCase>().problem;
  const int64_t group = problem().group();
  p.heads = end - first;
  p.groups = std::max<int64_t>(p.heads / group, 1);
  ScanPick pick = PickAll(trial().data());
  pick.heads.resize(static_cast<size_t>(p.heads));
  std::iota(pick.heads.begin(), pick.heads.end(), first);
  Result<LawCall> call = CallOn(some, pick);
  if (!call.ok()) return call;
  for (size_t t = 0; t < call->kept.size(); ++t) {
    const OutputSpec& own = trial().outputs()[t];
    const OutputSpec& spec = call->trial->outputs()[t];
    for (int64_t line = 0; line < spec.lines(); ++line) {
      auto at = LineIndex(spec, line, 0);
      bool partial = false;
      for (size_t i = 0; i < 3; ++i) {
        if (AxisOf(spec, i) == "h") at[i] += first;
        if (AxisOf(spec, i) == "g") {
          at[i] += first / group;
          partial |= p.heads % group != 0;
        }
      }
      // A gradient of a group is a sum over its heads.
      if (partial) continue;
      call->kept[t].push_back(
          {line, (at[0] * own.shape[1] + at[1]) * own.shape[2] + at[2]});
    }
  }
  return call;
}

// More tokens behind every row: y of those before them stays.
Result<LawCall> ScanParts::Padded(int64_t padding, bool other) const {
  Case longer = request();
  const int64_t length = problem().length;
  longer.Get<Mamba3ScanCase>().problem.length = length + padding;
  ScanPick pick = PickAll(trial().data());
  pick.tokens.clear();
  for (int64_t b = 0; b < problem().batch; ++b) {
    for (int64_t t = 0; t < length + padding; ++t) {
      const int64_t from = t < length ? t : (other ? t * 3 + 1 : t) % length;
      pick.tokens.push_back(b * length + from);
    }
  }
  Result<LawCall> call = CallOn(longer, pick);
  if (!call.ok()) return call;
  const int64_t per_token = problem().output_ranks() * problem().heads;
  for (int64_t b = 0; b < problem().batch; ++b) {
    for (int64_t n = 0; n < length * per_token; ++n) {
      call->kept[0].push_back(
          {b * (length + padding) * per_token + n, b * length * per_token + n});
    }
  }
  return call;
}

// Tokens begin .. end - 1 of the only run, from the carry of the call before.
Result<LawCall> ScanParts::Tokens(int64_t begin, int64_t end,
                                  bool steps) const {
  Case part = request();
  if (begin > 0) part.Get<Mamba3ScanCase>().carry = "thkv";
  Result<LawCall> call = Alone(0, {0, begin, end}, part);
  if (!call.ok()) return call;
  if (steps) {
    RETURN_IF_ERROR(Become<Mamba3StepTrial>(&call.value()));
  }
  if (begin > 0) {
    call->take = [made = call->trial.get()](const OutputSet& done) {
      static_cast<Mamba3ScanTrial*>(made)->TakeCarry(done);
    };
    call->taken = TakenCarries();
  }
  if (end == problem().length) KeepRun(0, 0, &call.value());
  call->kept[0].clear();
  for (int64_t head = 0; head < problem().heads; ++head) {
    KeepLines(0, head, head,
              static_cast<size_t>(begin * problem().output_ranks()),
              &call.value());
  }
  return call;
}

using Parts = std::shared_ptr<const ScanParts>;

Parts PartsOf(const Trial& whole) {
  return std::make_shared<ScanParts>(static_cast<const RunsTrial&>(whole));
}

std::vector<ClaimPart> RunParts(const Trial& whole, const ClaimSize&,
                                uint64_t) {
  const Parts parts = PartsOf(whole);
  const int64_t runs = parts->Runs();
  std::vector<ClaimPart> made;
  for (const int64_t run : std::set<int64_t>{0, runs / 2, runs - 1}) {
    if (parts->LengthOf(run) == 0) continue;
    made.push_back(
        {"run " + to_string(run) + " alone, and among " + to_string(runs),
         [parts, run] { return parts->RunAlone(run); },
         parts->LineOf(1, parts->LengthOf(run))});
  }
  return made;
}

std::vector<ClaimPart> GroupParts(const Trial& whole, const ClaimSize&,
                                  uint64_t) {
  const Parts parts = PartsOf(whole);
  const Mamba3ScanProblem& p = parts->Problem();
  const int64_t group = p.group();
  const std::string among = " alone, and among " + to_string(p.heads);
  std::vector<ClaimPart> made;
  const auto add = [&](const std::string& what, int64_t first, int64_t end) {
    made.push_back({what + among,
                    [parts, first, end] { return parts->Heads(first, end); }});
  };
  for (const int64_t g : std::set<int64_t>{0, p.groups / 2, p.groups - 1}) {
    const int64_t first = g * group;
    if (group > 1)
      add("the heads of group " + to_string(g), first, first + group);
    add("head " + to_string(first + group - 1), first + group - 1,
        first + group);
  }
  return made;
}

std::vector<ClaimPart> LaterParts(const Trial& whole, const ClaimSize& size,
                                  uint64_t) {
  const Parts parts = PartsOf(whole);
  std::vector<ClaimPart> made;
  for (const bool other : {false, true}) {
    made.push_back(
        {to_string(size.width) + (other ? " of padding with other values behind"
                                        : " of padding behind"),
         [parts, padding = size.width, other] {
           return parts->Padded(padding, other);
         },
         parts->LineOf(parts->Problem().batch, parts->Length() + size.width)});
  }
  return made;
}

ClaimPart TokensPart(const Parts& parts, int64_t begin, int64_t end,
                     bool steps) {
  return {
      "tokens " + to_string(begin) + " to " + to_string(end - 1) + " of " +
          to_string(parts->Length()) + (steps ? " by steps" : " as a chunk"),
      [parts, begin, end, steps] { return parts->Tokens(begin, end, steps); },
      parts->LineOf(1, end - begin), parts->ZerosAlike()};
}

// Chunks of that many tokens, and one for what is left: behind them, or ragged,
// before them.
std::vector<ClaimPart> TokenChunks(const Trial& whole, const ClaimSize& size,
                                   uint64_t) {
  const Parts parts = PartsOf(whole);
  const int64_t length = parts->Length();
  const int64_t chunks = std::min(kMostChunks, length / size.width);
  const int64_t first = size.ragged ? length - chunks * size.width : 0;
  std::vector<int64_t> edges = {0};
  if (first > 0) edges.push_back(first);
  for (int64_t n = 1; n <= chunks; ++n) {
    edges.push_back(first + n * size.width);
  }
  if (edges.back() < length) edges.push_back(length);
  std::vector<ClaimPart> made;
  for (size_t n = 1; n < edges.size(); ++n) {
    made.push_back(TokensPart(parts, edges[n - 1], edges[n], false));
  }
  return made;
}

// The last tokens by steps, behind what a scan of those before them leaves;
// the first ones by steps. `steps`: by mamba3_step, otherwise by scans of one
// token.
std::vector<ClaimPart> StepsBehind(const Trial& whole, bool steps) {
  const Parts parts = PartsOf(whole);
  const int64_t length = parts->Length();
  std::vector<ClaimPart> made;
  for (const bool last : {false, true}) {
    const int64_t first = last ? std::max<int64_t>(length - kMostSteps, 0) : 0;
    const int64_t end = last ? length : std::min(length, kMostSteps);
    if (last && first == 0) continue;
    if (first > 0) {
      made.push_back(TokensPart(parts, 0, first, false));
      made.back().compared = false;
    }
    for (int64_t t = first; !steps && t < end; ++t) {
      made.push_back(TokensPart(parts, t, t + 1, false));
    }
    if (steps) made.push_back(TokensPart(parts, first, end, true));
  }
  return made;
}

std::vector<ClaimPart> StepParts(const Trial& whole, const ClaimSize&,
                                 uint64_t) {
  return StepsBehind(whole, true);
}
std::vector<ClaimPart> ScanInstead(const Trial& whole, const ClaimSize&,
                                   uint64_t) {
  const Parts parts = PartsOf(whole);
  return {{to_string(parts->Length()) + " tokens by a scan, and by steps",
           [parts] { return parts->AsScan(); }}};
}
std::vector<ClaimPart> SingleTokenParts(const Trial& whole, const ClaimSize&,
                                        uint64_t) {
  return StepsBehind(whole, false);
}

int64_t TokensOfCase(const Case& c) {
  return c.Get<Mamba3ScanCase>().problem.length;
}
bool Always(const Case&) { return true; }
std::string Anything(const Case&) { return ""; }

// What every op of the recurrence has.
OpClaims RunsClaims() {
  OpClaims table{"tokens", &TokensOfCase, &Always, &ScanClaimWork, {}};
  const auto row = [&](Claim claim) -> OpClaim& {
    return table.claim[static_cast<size_t>(claim)];
  };
  row(Claim::kRepeat) = {.why_not = &Anything, .whole = &ScanOfLength};
  row(Claim::kSplit) = {.why_not = &Anything, .whole = &ScanOfLength};
  row(Claim::kBatch) = {&Anything, "runs",       &ScanBatches,
                        true,      &ScanOfBatch, &RunParts};
  row(Claim::kHeads) = {&Anything, "groups of heads", &ScanGroups,
                        false,     &ScanOfHeads,      &GroupParts};
  return table;
}

OpClaims ForwardClaims() {
  OpClaims table = RunsClaims();
  const auto row = [&](Claim claim) -> OpClaim& {
    return table.claim[static_cast<size_t>(claim)];
  };
  row(Claim::kPadding) = {&Anything, "tokens of padding", &ScanPaddings,
                          false,     &ScanOfRows,         &LaterParts};
  row(Claim::kChunk) = {&Anything, "tokens a chunk", &ScanChunks,
                        true,      &ScanOfOneRow,    &TokenChunks};
  row(Claim::kDecode) = {
      .why_not = &Anything, .whole = &ScanOfOneRow, .parts = &SingleTokenParts};
  return table;
}

}  // namespace

const OpClaims& Mamba3ScanClaims() {
  static const OpClaims kTable = [] {
    OpClaims table = ForwardClaims();
    table.claim[static_cast<size_t>(Claim::kDecode)].parts = &StepParts;
    return table;
  }();
  return kTable;
}

const OpClaims& SsdScanClaims() {
  static const OpClaims kTable = ForwardClaims();
  return kTable;
}

const OpClaims& Mamba3StepClaims() {
  static const OpClaims kTable = [] {
    OpClaims table = RunsClaims();
    // Rows alone make runs of a chain of steps.
    table.claim[static_cast<size_t>(Claim::kBatch)].ragged = false;
    table.claim[static_cast<size_t>(Claim::kDecode)] = {
        .why_not = &Anything, .whole = &ScanOfRows, .parts = &ScanInstead};
    return table;
  }();
  return kTable;
}

const OpClaims& Mamba3ScanBackwardClaims() {
  static const OpClaims kTable = RunsClaims();
  return kTable;
}

}  // namespace lockstep::verify
