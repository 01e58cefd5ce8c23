// The law `shard` of scans: tokens cut in time, each shard from the carries
// that the one before has left.
#include <algorithm>
#include <cstring>
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
  bool begins = true;  // its first token is here
  bool ends = true;
};

// Where the carry of a shard's run comes from: run `before` of the shard before
// it, or the case's own, or zeros.
struct CarrySource {
  int64_t before = -1;
  int64_t run = -1;
};

constexpr auto kCarryTheta = static_cast<size_t>(ScanTensor::kCarryTheta);
constexpr auto kCarryV = static_cast<size_t>(ScanTensor::kCarryV);

class ScanShards : public ScanLaws {
 public:
  ScanShards(const Mamba3ScanTrial& trial, int64_t count)
      : ScanLaws(trial, 0), scan_(trial), count_(count) {}

  // Why no kernel can go on from there; empty: a kernel can.
  std::string WhyNot() const;
  std::string NameOf(int64_t n) const {
    return NameShard(n, count_, NameRange("token", Begin(n), Begin(n + 1)));
  }
  bool Empty(int64_t n) const { return Begin(n) >= Begin(n + 1); }
  Result<LawCall> Call(int64_t n) const;

 private:
  int64_t Begin(int64_t n) const {
    const int64_t width = ShardWidth(problem().length, count_);
    return std::min(n * width, problem().length);
  }
  std::vector<ShardRun> RunsOf(int64_t n) const;
  Case RequestOf(const std::vector<ShardRun>& runs, int64_t n) const;
  void Keep(const std::vector<ShardRun>& runs, LawCall* call) const;
  std::vector<CarrySource> SourcesOf(const std::vector<ShardRun>& runs,
                                     int64_t n) const;

  const Mamba3ScanTrial& scan_;
  int64_t count_;
};

// Mamba-2's carry is h alone.
std::string ScanShards::WhyNot() const {
  for (int64_t n = 1; n < count_ && !Empty(n); ++n) {
    for (const reference::Run& run : runs()) {
      const bool cut = run.first < Begin(n) && Begin(n) < run.end;
      if (!cut || CarryIsWhole(run.row, Begin(n) - 1)) continue;
      return "k or v before token " + std::to_string(Begin(n)) +
             " is not finite, and a carry of Mamba-2 is its state alone";
    }
  }
  return "";
}

// A run without tokens lies in the shard that its place belongs to; one behind
// the last token, in the last shard that has tokens.
std::vector<ShardRun> ScanShards::RunsOf(int64_t n) const {
  const int64_t begin = Begin(n), end = Begin(n + 1);
  const bool last = end == problem().length;
  std::vector<ShardRun> found;
  for (int64_t run = 0; run < Count(); ++run) {
    const reference::Run& at = At(run);
    const int64_t first = std::max(at.first, begin);
    const int64_t until = std::min(at.end, end);
    const bool nothing = at.first == at.end;
    const bool here =
        nothing ? at.first >= begin && (at.first < end || last) : first < until;
    if (!here) continue;
    found.push_back(
        {run, first, std::max(first, until), at.first >= begin, at.end <= end});
  }
  return found;
}

Case ScanShards::RequestOf(const std::vector<ShardRun>& runs, int64_t n) const {
  Case request = this->request();
  Mamba3ScanCase& scan = request.Get<Mamba3ScanCase>();
  scan.problem.length = Begin(n + 1) - Begin(n);
  if (n > 0) scan.carry = "thkv";
  if (problem().runs == Mamba3ScanProblem::Runs::kCuSeqlens) {
    scan.cu = {0};
    for (const ShardRun& run : runs) scan.cu.push_back(run.end - Begin(n));
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

void ScanShards::Keep(const std::vector<ShardRun>& runs, LawCall* call) const {
  const int64_t rows = trial().RowsPerRun();
  for (size_t here = 0; here < runs.size(); ++here) {
    const ShardRun& run = runs[here];
    const int64_t before = run.first - At(run.run).first;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = static_cast<int64_t>(here) * rows + row;
      const int64_t own = run.run * rows + row;
      KeepLines(0, at, own,
                static_cast<size_t>(before * problem().output_ranks()), call);
      for (size_t t = 1; run.ends && t < call->kept.size(); ++t) {
        KeepLines(t, at, own, 0, call);
      }
    }
  }
}

std::vector<CarrySource> ScanShards::SourcesOf(
    const std::vector<ShardRun>& runs, int64_t n) const {
  const std::vector<ShardRun> before = RunsOf(n - 1);
  const bool given = scan_.data().problem.carry_in;
  std::vector<CarrySource> sources;
  for (const ShardRun& run : runs) {
    CarrySource& source = sources.emplace_back();
    if (run.begins) {
      if (given) source.run = run.run;
      continue;
    }
    for (size_t at = 0; at < before.size(); ++at) {
      if (before[at].run == run.run) source.before = static_cast<int64_t>(at);
    }
  }
  return sources;
}

// A run is the first axis of every part of a carry.
char* RunOf(const LaneTensor& tensor, int64_t run) {
  return static_cast<char*>(tensor.view.data) +
         run * tensor.view.strides[0] * 4;
}
void CopyRun(const LaneTensor& from, int64_t run, const LaneTensor& to,
             int64_t into) {
  std::memcpy(RunOf(to, into), RunOf(from, run),
              static_cast<size_t>(to.view.strides[0]) * 4);
}

void TakeCarries(const std::vector<CarrySource>& sources,
                 const Mamba3ScanData& whole, const OutputSet& before,
                 const Mamba3ScanData& data) {
  size_t t = 1;  // outputs and carry have one order
  for (size_t n = kCarryTheta; n <= kCarryV; ++n) {
    if (!data.storage[n].there()) continue;
    const LaneTensor& to = data.storage[n].tensor;
    for (size_t run = 0; run < sources.size(); ++run) {
      const auto into = static_cast<int64_t>(run);
      const CarrySource& source = sources[run];
      // A kernel that hands over another shard's answer may have fewer runs.
      const int64_t there = before.tensors[t].view.shape[0];
      if (0 <= source.before && source.before < there) {
        CopyRun(before.tensors[t], source.before, to, into);
      } else if (source.run >= 0 && whole.storage[n].there()) {
        CopyRun(whole.storage[n].tensor, source.run, to, into);
      } else {
        std::memset(RunOf(to, into), 0,
                    static_cast<size_t>(to.view.strides[0]) * 4);
      }
    }
    ++t;
  }
}

Result<LawCall> ScanShards::Call(int64_t n) const {
  const std::vector<ShardRun> runs = RunsOf(n);
  ScanPick pick = PickAll(trial().data());
  pick.tokens.clear();
  pick.runs.clear();
  for (int64_t b = 0; b < problem().batch; ++b) {
    for (int64_t t = Begin(n); t < Begin(n + 1); ++t) {
      pick.tokens.push_back(b * problem().length + t);
    }
  }
  for (const ShardRun& run : runs) pick.runs.push_back(run.run);
  ASSIGN_OR_RETURN(LawCall call, CallOn(RequestOf(runs, n), pick));
  Keep(runs, &call);
  if (n == 0) return call;
  auto sources = SourcesOf(runs, n);
  // A file of answers can be handed over as it is, and not run by run.
  bool as_it_is = sources.size() == RunsOf(n - 1).size();
  for (size_t run = 0; run < sources.size(); ++run) {
    as_it_is = as_it_is && sources[run].before == static_cast<int64_t>(run);
  }
  for (const OutputSpec& spec : trial().outputs()) {
    if (!as_it_is || !spec.name.starts_with("carry_")) continue;
    call.taken.push_back({"init_" + spec.name.substr(6), spec.name});
  }
  call.take = [sources = std::move(sources), this_trial = &scan_,
               made = call.trial.get()](const OutputSet& before) {
    TakeCarries(sources, this_trial->data(), before,
                static_cast<const Mamba3ScanTrial*>(made)->data());
  };
  return call;
}

}  // namespace

Result<Shards> Mamba3ScanTrial::MakeShards(const ShardsAsked& asked) const {
  auto cut = std::make_shared<ScanShards>(*this, asked.shard.count);
  Shards made;
  made.chained = true;
  made.why_not = cut->WhyNot();
  for (int64_t n = 0; n < asked.shard.count; ++n) {
    if (cut->Empty(n)) {
      made.empty.push_back(cut->NameOf(n));
    } else {
      made.calls.push_back({cut->NameOf(n), [cut, n] { return cut->Call(n); }});
    }
  }
  // Mamba-2 carries no k and v: behind a cut there is no beta term, which is
  // zero, but may turn a -0 of the state into +0.
  if (request().Get<Mamba3ScanCase>().ssd) {
    for (const OutputSpec& spec : outputs()) {
      made.zeros_alike.push_back(spec.name.starts_with("carry_"));
    }
  }
  return made;
}

}  // namespace lockstep::verify
