// The law `shard` of scans: tokens cut in time, each shard from the carries
// that the one before has left.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/ops/mamba3_scan/laws.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/ops/shards.h"

namespace lockstep::verify {
namespace {

// A run of the whole, as far as a shard has it.
struct ShardRun {
  int64_t run = 0;    // of the whole
  int64_t first = 0;  // tokens of its batch row
  int64_t end = 0;
};

class ScanShards : public ScanLaws {
 public:
  ScanShards(const Mamba3ScanTrial& trial, int64_t count)
      : ScanLaws(trial, 0), count_(count) {}

  using ScanLaws::ZerosAlike;
  // Why no kernel can go on from there; empty: a kernel can.
  std::string WhyNot() const;
  ShardRange Tokens(int64_t n) const {
    return RangeOfShard(n, count_, problem().length);
  }
  Result<LawCall> Call(int64_t n) const;

 private:
  std::vector<ShardRun> RunsIn(int64_t n) const;
  Case RequestOf(const std::vector<ShardRun>& runs, int64_t n) const;
  void Keep(const std::vector<ShardRun>& runs, int64_t n, LawCall* call) const;
  void GoOn(const std::vector<ShardRun>& runs, int64_t n, LawCall* call) const;

  int64_t count_;
};

// Mamba-2's carry is h alone.
std::string ScanShards::WhyNot() const {
  for (int64_t n = 1; n < count_ && !Tokens(n).empty(); ++n) {
    const int64_t begin = Tokens(n).begin;
    for (const reference::Run& run : runs()) {
      const bool cut = run.first < begin && begin < run.end;
      if (!cut || CarryIsWhole(run.row, begin - 1)) continue;
      return "k or v before token " + std::to_string(begin) +
             " is not finite, and a carry of Mamba-2 is its state alone";
    }
  }
  return "";
}

// A run without tokens lies in the shard that its place belongs to; one behind
// the last token, in the last shard that has tokens.
std::vector<ShardRun> ScanShards::RunsIn(int64_t n) const {
  const auto [begin, end] = Tokens(n);
  const bool last = end == problem().length;
  std::vector<ShardRun> found;
  for (int64_t run = 0; run < Count(); ++run) {
    const reference::Run& at = At(run);
    const int64_t first = std::max(at.first, begin);
    const int64_t until = std::min(at.end, end);
    const bool nothing = at.first == at.end;
    const bool here =
        nothing ? at.first >= begin && (at.first < end || last) : first < until;
    if (here) found.push_back({run, first, std::max(first, until)});
  }
  return found;
}

Case ScanShards::RequestOf(const std::vector<ShardRun>& runs, int64_t n) const {
  const auto [begin, end] = Tokens(n);
  Case request = this->request();
  Mamba3ScanCase& scan = request.Get<Mamba3ScanCase>();
  scan.problem.length = end - begin;
  if (n > 0) scan.carry = "thkv";
  if (problem().runs == Mamba3ScanProblem::Runs::kCuSeqlens) {
    scan.cu = {0};
    for (const ShardRun& run : runs) scan.cu.push_back(run.end - begin);
  }
  if (problem().runs != Mamba3ScanProblem::Runs::kSegments) return request;
  scan.seg.kind = Segments::Kind::kRuns;
  scan.seg.rows.assign(static_cast<size_t>(problem().batch), {});
  for (const ShardRun& run : runs) {
    auto& row = scan.seg.rows[static_cast<size_t>(At(run.run).row)];
    row.push_back({static_cast<int32_t>(row.size()), run.end - run.first});
  }
  return request;
}

// Each shard's tokens, and the carries of runs that end in it.
void ScanShards::Keep(const std::vector<ShardRun>& runs, int64_t n,
                      LawCall* call) const {
  const int64_t rows = trial().RowsPerRun();
  for (size_t here = 0; here < runs.size(); ++here) {
    const reference::Run& whole = At(runs[here].run);
    const auto before = static_cast<size_t>((runs[here].first - whole.first) *
                                            problem().output_ranks());
    const size_t kept = whole.end <= Tokens(n).end ? call->kept.size() : 1;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = static_cast<int64_t>(here) * rows + row;
      const int64_t own = runs[here].run * rows + row;
      for (size_t t = 0; t < kept; ++t) {
        KeepLines(t, at, own, t == 0 ? before : 0, call);
      }
    }
  }
}

// A run is the first axis of every part of a carry.
std::span<float> RunOf(const LaneTensor& carry, int64_t run) {
  const int64_t width = carry.view.strides[0];
  return {static_cast<float*>(carry.view.data) + run * width,
          static_cast<size_t>(width)};
}

// A run that begins here has the case's own carry, or zeros; another goes on
// with what the shard before has left.
void ScanShards::GoOn(const std::vector<ShardRun>& runs, int64_t n,
                      LawCall* call) const {
  const std::vector<ShardRun> before = RunsIn(n - 1);
  std::vector<int64_t> from;  // its place there; -1: it begins here
  // A file of answers can be handed over as it is, and not run by run.
  bool as_it_is = runs.size() == before.size();
  for (const ShardRun& run : runs) {
    const auto source =
        std::find_if(before.begin(), before.end(),
                     [&](const ShardRun& one) { return one.run == run.run; });
    from.push_back(source == before.end() ? -1 : source - before.begin());
    as_it_is = as_it_is && from.back() == std::ssize(from) - 1;
  }
  if (as_it_is) call->taken = TakenCarries();
  call->take = [from = std::move(from), whole = &trial().data(),
                made = static_cast<const Mamba3ScanTrial*>(call->trial.get())](
                   const OutputSet& answer) {
    size_t t = 0;  // behind y, outputs and carry have one order
    for (auto tensor = static_cast<size_t>(ScanTensor::kCarryTheta);
         tensor <= static_cast<size_t>(ScanTensor::kCarryV); ++tensor) {
      const ScanStorage& carry = made->data().storage[tensor];
      if (!carry.there()) continue;
      // A kernel that hands over another shard's answer may have fewer runs.
      const LaneTensor& left = answer.tensors[++t];
      for (int64_t run = 0; run < std::ssize(from); ++run) {
        const int64_t source = from[static_cast<size_t>(run)];
        const std::span<float> to = RunOf(carry.tensor, run);
        if (0 <= source && source < left.view.shape[0]) {
          std::ranges::copy(RunOf(left, source), to.begin());
        } else if (source >= 0 || !whole->storage[tensor].there()) {
          std::ranges::fill(to, 0.0f);
        }
      }
    }
  };
}

Result<LawCall> ScanShards::Call(int64_t n) const {
  const std::vector<ShardRun> runs = RunsIn(n);
  const auto [begin, end] = Tokens(n);
  ScanPick pick = PickAll(trial().data());
  pick.tokens.clear();
  pick.runs.clear();
  for (int64_t b = 0; b < problem().batch; ++b) {
    for (int64_t t = begin; t < end; ++t) {
      pick.tokens.push_back(b * problem().length + t);
    }
  }
  for (const ShardRun& run : runs) pick.runs.push_back(run.run);
  ASSIGN_OR_RETURN(LawCall call, CallOn(RequestOf(runs, n), pick));
  Keep(runs, n, &call);
  if (n > 0) GoOn(runs, n, &call);
  return call;
}

}  // namespace

Result<Shards> Mamba3ScanTrial::MakeShards(const ShardsAsked& asked) const {
  const int64_t count = asked.shard.count;
  const auto cut = std::make_shared<ScanShards>(*this, count);
  Shards made;
  made.chained = true;
  made.zeros_alike = cut->ZerosAlike();
  made.why_not = cut->WhyNot();
  for (int64_t n = 0; n < count; ++n) {
    const ShardRange tokens = cut->Tokens(n);
    std::string what = NameShard(n, count, NameRange("token", tokens));
    if (tokens.empty()) {
      made.empty.push_back(std::move(what));
    } else {
      made.calls.push_back(
          {std::move(what), [cut, n] { return cut->Call(n); }});
    }
  }
  return made;
}

}  // namespace lockstep::verify
