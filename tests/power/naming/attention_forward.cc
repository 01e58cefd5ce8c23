#include "tests/power/naming/attention_forward.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "tests/power/naming/attention_forward_cases.h"
#include "verify/candidate/calls/recorder.h"
#include "verify/candidate/candidate.h"
#include "verify/causes/explanation.h"
#include "verify/judge/causes.h"
#include "verify/judge/judge.h"
#include "verify/registry/ops.h"
#include "verify/selftest/pool.h"

namespace lockstep::verify {
namespace {

constexpr double kNamedFirst = 0.9;

constexpr NamingPlace kPlaces[] = {{128, true, true},   {128, false, true},
                                   {128, true, false},  {128, false, false},
                                   {4096, true, true},  {4096, false, true},
                                   {4096, true, false}, {4096, false, false}};

std::span<const char* const> CasesOf(const NamingPlace& place) {
  return place.keys == 128 ? std::span<const char* const>(kShort) : kLong;
}

// Answers to the calls that an export holds: those of judging the case, and the
// smaller case that causes ask for.
class ExportedCalls final : public Candidate {
 public:
  ExportedCalls(std::unique_ptr<Candidate> kernel, const Case& call)
      : Candidate({.backend = "files",
                   .fixed = kernel->traits().fixed,
                   .ours = true,
                   .claims = kernel->traits().claims,
                   .computes = false,
                   .cannot_try = NotTriedByCalls()}),
        kernel_(std::move(kernel)),
        own_(MinimalLine(call)) {
    const std::optional<Case> twin = FirstTwinOf(call);
    if (twin) twin_ = MinimalLine(*twin);
  }

  std::string Spec(const Variation& how) const override {
    return kernel_->Spec(how);
  }
  Status Prepare(const CaseRequest& request) override {
    return kernel_->Prepare(request);
  }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation& how, const OutputSet& outputs,
                 Execution* execution) override {
    const bool held = !request.once_more || request.line == own_ ||
                      request.line == twin_ ||
                      request.line.find(" fill=probe:") != std::string::npos;
    if (!held) return {RunOutcome::State::kAbsent, "no such call", ""};
    return kernel_->Run(request, trial, how, outputs, execution);
  }

 private:
  std::unique_ptr<Candidate> kernel_;
  std::string own_, twin_;
};

std::unique_ptr<Candidate> Open(const std::string& spec, const Case& call,
                                bool asked) {
  std::unique_ptr<Candidate> kernel = std::move(ParseCandidate(spec).value());
  if (asked) return kernel;
  return std::make_unique<ExportedCalls>(std::move(kernel), call);
}

// What a user's kernel that computes so claims.
std::optional<NumericProfile> ProfileOf(const std::string& spec, bool lse) {
  std::optional<NumericProfile> claims =
      ParseCandidate(spec).value()->traits().claims;
  if (claims && !lse) claims->lse = LseLane::kNone;
  return claims;
}

// What a judgement is for: to see whether the case fails, or for its causes.
struct Ask {
  bool probes = true;
  bool causes = false;
  double seconds = 0;
};

CaseResult Judge(const std::string& line, const std::string& spec,
                 const NamingPlace& place, const Ask& ask) {
  const Case call = std::move(ParseCase(line, Ops()).value());
  const std::unique_ptr<Candidate> kernel = Open(spec, call, place.asked);
  JudgeOptions options;
  options.profile = ProfileOf(spec, place.lse);
  options.threads = 1;
  options.invariance = false;
  options.probes = ask.probes;
  options.evidence = options.canaries = options.one_field = false;
  options.causes = ask.causes;
  options.explain_seconds = ask.seconds;
  const CaseRequest request{
      .call = &call,
      .line = MinimalLine(call),
      .claims = options.profile ? &*options.profile : nullptr};
  return JudgeCase(request, *kernel, options, nullptr);
}

// In other arithmetic and in tiles of its own, then in its usual ones.
std::vector<std::string> KernelsOf(const MutantInfo& info) {
  const std::string name = std::string("mutant:") + info.name;
  const std::string base =
      info.base == std::string("exact") ? name + ",base=cpu" : name;
  std::vector<std::string> kernels = {base + ",tile=32x32", base};
  // A profile that claims no exact bits is what leaves outputs out; a bug of
  // the contract's own arithmetic has none.
  kernels.push_back(name);
  return kernels;
}

bool IsShown(const MutantInfo& info) {
  // What a sequence of calls shows, or a repetition, is no wrong number here.
  return info.attention() &&
         std::string(info.pattern).find(";;") == std::string::npos;
}

// The fit of a number that says the same of the bug; empty: none does.
std::string FittedName(const std::string& bug) {
  if (bug == "attn.cap_ignored") return "asked.no_cap";
  if (bug == "attn.cap_wrong_value") return "asked.cap";
  if (bug == "attn.scale_missing") return "asked.scale";
  return "";
}

bool Names(const Explanation& cause, const std::string& bug) {
  return cause.bug == bug ||
         std::count(cause.alike.begin(), cause.alike.end(), bug) > 0;
}

// A kernel with the bug, and the first case on which it fails.
struct Shown {
  std::string kernel, line;
};

OutputSet AnswerOf(const std::string& spec, const Trial& trial) {
  OutputSet outputs = std::move(trial.Allocate(0).value());
  Execution execution;
  ParseCandidate(spec).value()->Run({}, trial, {}, outputs, &execution);
  return outputs;
}

// A case, and right answers to it: many bugs are held against them.
struct Ground {
  std::string line;
  Case call;
  std::unique_ptr<Trial> trial;
  std::map<std::string, OutputSet> right;  // by the kernel

  explicit Ground(const char* keys)
      : line(std::string("attention_forward ") + keys),
        call(std::move(ParseCase(line, Ops()).value())),
        trial(std::move(TrialRowOf(call).value().open(call, {}).value())) {}
  const OutputSet& RightOf(const std::string& kernel) {
    if (!right.contains(kernel)) right[kernel] = AnswerOf(kernel, *trial);
    return right.at(kernel);
  }
};

// Of one thread.
std::vector<Ground>& GroundsOf(const NamingPlace& place) {
  static thread_local std::map<int64_t, std::vector<Ground>> all;
  std::vector<Ground>& grounds = all[place.keys];
  if (grounds.empty()) {
    for (const char* keys : CasesOf(place)) grounds.emplace_back(keys);
  }
  return grounds;
}

// Whether the bug does anything here: judging costs far more.
bool Moves(const Trial& trial, const OutputSet& right, const OutputSet& wrong) {
  for (size_t t = 0; t < right.tensors.size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    for (int64_t line = 0; line < spec.lines(); ++line) {
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        const auto at = LineIndex(spec, line, c);
        const auto value = [&](const OutputSet& from) {
          return ElementValue(spec.lane,
                              ElementBits(from.tensors[t].const_view(), at));
        };
        const double a = value(right), b = value(wrong);
        const double noise = 1e-6 * (std::fabs(a) + 1e-2);
        if (!(std::fabs(a - b) <= noise) && a != b) return true;
      }
    }
  }
  return false;
}

// "variant:cpu" of "mutant:attn.x,base=cpu,tile=32x32".
std::string RightOf(const MutantInfo& info, const std::string& kernel) {
  const size_t base = kernel.find("base=");
  if (base == std::string::npos) return std::string("variant:") + info.base;
  const size_t begin = base + 5;
  return "variant:" + kernel.substr(begin, kernel.find(',', begin) - begin);
}

// Those cases come first whose own inputs show the bug: judging probes costs
// far more.
Shown FindCase(const MutantInfo& info, const NamingPlace& place) {
  std::vector<Shown> moved;
  for (Ground& ground : GroundsOf(place)) {
    for (const std::string& kernel : KernelsOf(info)) {
      if (!place.lse && !ProfileOf(kernel, true)) continue;
      if (!Moves(*ground.trial, ground.RightOf(RightOf(info, kernel)),
                 AnswerOf(kernel, *ground.trial))) {
        continue;
      }
      const CaseResult result =
          Judge(ground.line, kernel, place, {.probes = false});
      if (result.verdict == Verdict::kFail) return {kernel, ground.line};
      moved.push_back({kernel, ground.line});
    }
  }
  for (const Shown& one : moved) {
    const CaseResult result = Judge(one.line, one.kernel, place, {});
    if (result.verdict == Verdict::kFail) return one;
  }
  return {};
}

// Mostly o shows the bug where o and lse do.
Shown FindCaseWithoutLse(const MutantInfo& info, const NamingPlace& place,
                         const Shown& with_lse) {
  const bool claims =
      !with_lse.line.empty() && ProfileOf(with_lse.kernel, true).has_value();
  if (claims && Judge(with_lse.line, with_lse.kernel, place, {}).verdict ==
                    Verdict::kFail) {
    return with_lse;
  }
  return FindCase(info, place);
}

NamingRow RowOf(const NamingPlace& place, const std::vector<NamedBug>& bugs) {
  NamingRow row;
  row.place = place;
  const auto cases = CasesOf(place);
  row.cases = std::string(cases.front()) + " and " +
              std::to_string(cases.size() - 1) + " more";
  std::vector<double> seconds;
  for (const NamedBug& bug : bugs) {
    const bool here = bug.place.keys == place.keys &&
                      bug.place.lse == place.lse &&
                      bug.place.asked == place.asked && !bug.line.empty();
    if (!here) continue;
    ++row.bugs;
    row.first += bug.rank == 1 ? 1 : 0;
    row.among += bug.rank > 0 ? 1 : 0;
    row.proved += bug.proved ? 1 : 0;
    row.wrongly += bug.proved && bug.rank != 1 ? 1 : 0;
    seconds.push_back(bug.seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  if (seconds.empty()) return row;
  row.median = seconds[seconds.size() / 2];
  row.longest = seconds.back();
  return row;
}

bool IsWanted(const MutantInfo& info, const std::vector<std::string>& only) {
  return only.empty() ||
         std::any_of(only.begin(), only.end(), [&](const std::string& prefix) {
           return std::string(info.name).starts_with(prefix);
         });
}

}  // namespace

NamedBug NameBugOn(const std::string& line, const std::string& kernel,
                   const MutantInfo& info, const NamingPlace& place,
                   double seconds) {
  NamedBug named{.info = &info, .place = place};
  const CaseResult result = Judge(line, kernel, place, {true, true, seconds});
  named.kernel = kernel;
  named.line = result.line;
  named.seconds = result.cause_seconds;
  if (result.causes.empty()) return named;
  named.first = result.causes[0].bug;
  // A key that is to blame is no bug of the catalogue.
  named.proved = result.causes[0].Proved() && !named.first.starts_with("key ");
  for (size_t n = 0; n < result.causes.size() && named.rank == 0; ++n) {
    if (Names(result.causes[n], info.name) ||
        result.causes[n].bug == FittedName(info.name)) {
      named.rank = static_cast<int64_t>(n) + 1;
    }
  }
  return named;
}

bool NamingResult::Passed() const {
  return std::all_of(rows.begin(), rows.end(), [](const NamingRow& row) {
    return static_cast<double>(row.first) >=
               kNamedFirst * static_cast<double>(row.bugs) &&
           row.wrongly == 0;
  });
}

NamingResult RunNaming(const NamingOptions& options) {
  std::vector<int64_t> sizes = options.sizes;
  if (sizes.empty()) sizes = {128, 4096};
  // A bug on cases of one size: one case serves all ways to meet a kernel.
  struct Job {
    const MutantInfo* info;
    int64_t keys;
    std::vector<NamedBug> bugs{};
  };
  std::vector<Job> jobs;
  for (const int64_t keys : sizes) {
    for (const MutantInfo& info : Mutants()) {
      if (IsShown(info) && IsWanted(info, options.only)) {
        jobs.push_back({&info, keys});
      }
    }
  }
  ForEach(std::ssize(jobs), options.threads, [&](int64_t n) {
    Job& job = jobs[static_cast<size_t>(n)];
    const Shown with_lse = FindCase(*job.info, {job.keys, true, true});
    for (const bool lse : {true, false}) {
      const Shown shown =
          lse ? with_lse
              : FindCaseWithoutLse(*job.info, {job.keys, false, true},
                                   with_lse);
      for (const bool asked : {true, false}) {
        const NamingPlace place = {job.keys, lse, asked};
        job.bugs.push_back(shown.line.empty()
                               ? NamedBug{.info = job.info, .place = place}
                               : NameBugOn(shown.line, shown.kernel, *job.info,
                                           place, options.seconds));
        if (options.told) options.told(job.bugs.back());
      }
    }
  });
  NamingResult result;
  for (Job& job : jobs) {
    for (NamedBug& bug : job.bugs) result.bugs.push_back(std::move(bug));
  }
  for (const NamingPlace& place : kPlaces) {
    if (std::count(sizes.begin(), sizes.end(), place.keys) == 0) continue;
    result.rows.push_back(RowOf(place, result.bugs));
  }
  return result;
}

}  // namespace lockstep::verify
