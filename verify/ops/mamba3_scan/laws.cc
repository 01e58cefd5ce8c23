#include "verify/ops/mamba3_scan/laws.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "verify/base/compare.h"
#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/inputs/fill.h"

namespace lockstep::verify {
namespace {

// Runs of a case that are scanned alone.
constexpr int64_t kSeparateRuns = 4;

Mamba3ScanCase& ScanOf(Case* c) { return c->Get<Mamba3ScanCase>(); }

}  // namespace

ScanLaws::ScanLaws(const RunsTrial& trial, uint64_t salt)
    : trial_(trial),
      p_(trial.data().problem),
      runs_(trial.runs()),
      request_(trial.request()),
      salt_(salt) {
  // Runs change places, and the inputs are there already.
  ScanOf(&request_).poison.reset();
}

bool ScanLaws::Isolates() const {
  const Mamba3ScanCase& scan = trial_.request().Get<Mamba3ScanCase>();
  return Several() && RunsOf(1) > 0 && !scan.poison && !ProbeOf(scan);
}

bool ScanLaws::Encodes() const {
  return p_.batch == 1 && RunsOf(1) == Count() &&
         !trial_.request().Has<Mamba3StepCase>();
}

int64_t ScanLaws::RunsOf(int64_t tokens) const {
  return std::count_if(runs_.begin(), runs_.end(), [&](const auto& run) {
    return run.end - run.first >= tokens;
  });
}

int64_t ScanLaws::DrawRun(int64_t tokens) const {
  int64_t run = Draw(LawDraw::kRun, Count());
  while (TokensOf(run) < tokens) run = (run + 1) % Count();
  return run;
}

int64_t ScanLaws::Draw(LawDraw what, int64_t n) const {
  const auto word =
      CounterGenerator(1, salt_).Draw(static_cast<uint32_t>(what), 0)[0];
  return static_cast<int64_t>(word % static_cast<uint64_t>(n));
}

LawCall ScanLaws::CallOn(const Case& request, Mamba3ScanData data) const {
  LawCall call;
  call.trial = trial_.MakeAnother(request, std::move(data));
  call.kept.resize(trial_.outputs().size());
  return call;
}

Result<LawCall> ScanLaws::CallOn(const Case& request,
                                 const ScanPick& pick) const {
  ASSIGN_OR_RETURN(
      Mamba3ScanData data,
      PickScan(trial_.data(), pick, request.Get<Mamba3ScanCase>()));
  return CallOn(request, std::move(data));
}

Law ScanLaws::OneCall(bool structural, LawCall call) {
  Law law;
  law.structural = structural;
  law.calls.push_back(std::move(call));
  return law;
}

void ScanLaws::KeepLines(size_t t, int64_t here, int64_t own, size_t from,
                         LawCall* call) const {
  const auto lines = call->trial->Lines(t, here);
  const auto others = trial_.Lines(t, own);
  for (size_t n = 0; n < lines.size() && from + n < others.size(); ++n) {
    call->kept[t].push_back({lines[n], others[from + n]});
  }
}

void ScanLaws::KeepRun(int64_t here, int64_t own, LawCall* call) const {
  const int64_t rows = trial_.RowsPerRun();
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t t = 0; t < call->kept.size(); ++t) {
      KeepLines(t, here * rows + row, own * rows + row, 0, call);
    }
  }
}

// A NaN in one run reaches no other run.
Result<Law> ScanLaws::Isolation() const {
  const int64_t poisoned = DrawRun(1);
  ASSIGN_OR_RETURN(Mamba3ScanData data,
                   PickScan(trial_.data(), PickAll(trial_.data()),
                            request_.Get<Mamba3ScanCase>()));
  PoisonScanRun(CounterGenerator(request_.gen, request_.seed), poisoned, &data);
  LawCall call = CallOn(request_, std::move(data));
  for (int64_t run = 0; run < Count(); ++run) {
    if (run != poisoned) KeepRun(run, run, &call);
  }
  return OneCall(true, std::move(call));
}

// Runs by offsets and runs by segment ids are the same runs.
Result<Law> ScanLaws::Encoding() const {
  Case other = request_;
  Mamba3ScanCase& scan = ScanOf(&other);
  scan.seg = {};
  scan.cu.clear();
  if (p_.runs == Mamba3ScanProblem::Runs::kCuSeqlens) {
    scan.seg.kind = Segments::Kind::kRuns;
    scan.seg.rows.resize(1);
    int32_t id = 0;
    for (const auto& run : runs_) {
      scan.seg.rows[0].push_back({id++, run.end - run.first});
    }
  } else {
    scan.cu = {0};
    for (const auto& run : runs_) scan.cu.push_back(run.end);
  }
  ASSIGN_OR_RETURN(LawCall call, CallOn(other, PickAll(trial_.data())));
  for (int64_t run = 0; run < Count(); ++run) {
    KeepRun(run, run, &call);
  }
  Law law = OneCall(true, std::move(call));
  law.may_be_refused = true;
  return law;
}

// Ids are names: neighbours that a narrower type, f32 or a magnitude would take
// for one, from one end of their range to the other.
Result<Law> ScanLaws::Relabel() const {
  constexpr int32_t kIds[] = {16777216,        16777217,   16842753,
                              16843009,        2147483647, -2147483647,
                              -2147483647 - 1, -1,         1};
  Case named = request_;
  Mamba3ScanCase& scan = ScanOf(&named);
  scan.seg.kind = Segments::Kind::kRuns;
  scan.seg.rows.clear();
  scan.seg.rows.resize(static_cast<size_t>(p_.batch));
  auto next = static_cast<size_t>(Draw(LawDraw::kIds, std::size(kIds)));
  for (const auto& run : runs_) {
    scan.seg.rows[static_cast<size_t>(run.row)].push_back(
        {kIds[next++ % std::size(kIds)], run.end - run.first});
  }
  ASSIGN_OR_RETURN(LawCall call, CallOn(named, PickAll(trial_.data())));
  for (int64_t run = 0; run < Count(); ++run) {
    KeepRun(run, run, &call);
  }
  return OneCall(true, std::move(call));
}

Result<LawCall> ScanLaws::Alone(int64_t run, const reference::Run& at,
                                Case request) const {
  Mamba3ScanCase& scan = ScanOf(&request);
  scan.problem.batch = 1;
  scan.problem.length = at.end - at.first;
  scan.seg = {};
  scan.cu.clear();
  ScanPick pick = PickAll(trial_.data());
  pick.tokens.clear();
  for (int64_t t = at.first; t < at.end; ++t) {
    pick.tokens.push_back(at.row * p_.length + t);
  }
  pick.runs = {run};
  return CallOn(request, pick);
}

// A run of a pack is the run alone.
Result<Law> ScanLaws::Separate() const {
  Law law;
  law.may_be_refused = true;  // another length
  const int64_t most = std::min(kSeparateRuns, Count());
  const int64_t first = Draw(LawDraw::kRun, Count());
  for (int64_t n = 0; n < most; ++n) {
    const int64_t run = (first + n * Count() / most) % Count();
    if (TokensOf(run) == 0) continue;
    ASSIGN_OR_RETURN(LawCall call, Alone(run, At(run), request_));
    KeepRun(0, run, &call);
    law.calls.push_back(std::move(call));
  }
  return law;
}

// The runs in another order, row by row. With one run a row the rows move.
std::vector<std::vector<int64_t>> ScanLaws::Reordered() const {
  const bool rows_only = Count() == p_.batch;
  const int64_t turn = rows_only ? 1 + Draw(LawDraw::kRows, p_.batch - 1)
                                 : Draw(LawDraw::kRows, p_.batch);
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(p_.batch));
  for (int64_t run = 0; run < Count(); ++run) {
    const int64_t row = (At(run).row + p_.batch - turn) % p_.batch;
    rows[static_cast<size_t>(row)].push_back(run);
  }
  for (auto& row : rows) {
    const auto size = static_cast<int64_t>(row.size());
    if (size < 2) continue;
    const int64_t by = 1 + Draw(LawDraw::kRuns, size - 1);
    std::rotate(row.begin(), row.begin() + by, row.end());
  }
  return rows;
}

// Rows and the runs of a row may come in any order.
Result<Law> ScanLaws::Order() const {
  Case other = request_;
  Mamba3ScanCase& scan = ScanOf(&other);
  scan.seg.rows.clear();
  if (!scan.cu.empty()) scan.cu = {0};
  ScanPick pick = PickAll(trial_.data());
  pick.tokens.clear();
  pick.runs.clear();
  for (const std::vector<int64_t>& row : Reordered()) {
    std::vector<SegmentRun> ids;
    for (const int64_t run : row) {
      for (int64_t t = At(run).first; t < At(run).end; ++t) {
        pick.tokens.push_back(At(run).row * p_.length + t);
      }
      pick.runs.push_back(run);
      ids.push_back({static_cast<int32_t>(ids.size()), TokensOf(run)});
      if (!scan.cu.empty()) scan.cu.push_back(scan.cu.back() + TokensOf(run));
    }
    if (scan.seg.kind != Segments::Kind::kNone) scan.seg.rows.push_back(ids);
  }
  ASSIGN_OR_RETURN(LawCall call, CallOn(other, pick));
  for (int64_t run = 0; run < Count(); ++run) {
    KeepRun(run, pick.runs[static_cast<size_t>(run)], &call);
  }
  return OneCall(false, std::move(call));
}

// Mamba-2 carries h alone: a k or v that is not finite makes the next token's
// state NaN (0 * inf), which only a call that holds both tokens can know.
bool ScanLaws::CarryIsWhole(int64_t row, int64_t token) const {
  if (!request_.Get<Mamba3ScanCase>().ssd) return true;
  for (const ScanTensor tensor : {ScanTensor::kK, ScanTensor::kV}) {
    const LaneView x = trial_.data().at(tensor).tensor.const_view();
    for (int64_t h = 0; h < x.shape[1]; ++h) {
      for (int64_t c = 0; c < x.shape[3]; ++c) {
        const uint32_t bits = ElementBits(x, {row, h, token, c});
        if (!std::isfinite(ElementValue(x.lane, bits))) return false;
      }
    }
  }
  return true;
}

std::vector<TakenInput> ScanLaws::TakenCarries() const {
  std::vector<TakenInput> taken;
  for (const OutputSpec& spec : trial_.outputs()) {
    if (!spec.name.starts_with("carry_")) continue;
    taken.push_back({"init_" + spec.name.substr(6), spec.name});
  }
  return taken;
}

std::vector<bool> ScanLaws::ZerosAlike() const {
  const bool ssd = request_.Get<Mamba3ScanCase>().ssd;
  std::vector<bool> alike;
  for (const OutputSpec& spec : trial_.outputs()) {
    alike.push_back(ssd && spec.name.starts_with("carry_"));
  }
  return alike;
}

ScanPick ScanLaws::MovedHeads() const {
  const int64_t size = p_.group();
  const int64_t by_head = size > 1 ? 1 + Draw(LawDraw::kHeads, size - 1) : 0;
  const int64_t by_group = size > 1 ? Draw(LawDraw::kGroups, p_.groups)
                                    : 1 + Draw(LawDraw::kGroups, p_.groups - 1);
  ScanPick pick = PickAll(trial_.data());
  for (int64_t head = 0; head < p_.heads; ++head) {
    const int64_t group = (head / size + by_group) % p_.groups;
    pick.heads[static_cast<size_t>(head)] =
        group * size + (head % size + by_head) % size;
  }
  return pick;
}

}  // namespace lockstep::verify
