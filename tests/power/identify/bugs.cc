// Known bugs, judged by the profile that was identified of them.
#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "tests/power/identify/measured.h"
#include "tests/power/lengths/cases.h"
#include "tests/power/lengths/structural.h"
#include "tests/power/stages.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/emulator/mutants.h"
#include "verify/identify/identify.h"
#include "verify/selftest/pool.h"

namespace lockstep::verify {
namespace {

// The line that showed a bug, and the inputs on which each profile refused it:
// the line's own, or those of a probe.
struct Telling {
  size_t line = 0;
  std::string own, seen;
};

// One bug in one kernel that claims no bits.
struct Suspect {
  const SelftestRow* row = nullptr;
  const MutantInfo* info = nullptr;
  std::string base;
  NumericProfile identified;
  Status status;
  // The line on which both profiles refused it at a shorter length. Lines of
  // two lengths differ in nothing else.
  std::optional<Telling> telling;

  std::string spec() const {
    return "mutant:" + std::string(info->name) + ",base=" + base;
  }
};

// What came of it so far.
struct Fate {
  bool own = false;      // failed by the right profile
  bool kept = false;     // and by the identified one
  bool by_laws = false;  // but by no envelope and no probe
  std::string own_line;  // where the right profile failed it
  std::string own_tier, seen_tier;
  Status status;
};

std::vector<Suspect> SuspectsOf(const std::vector<const SelftestRow*>& rows,
                                const AutoOptions& options) {
  std::vector<Suspect> all;
  for (const SelftestRow* row : rows) {
    for (const MutantInfo* info : row->mutants()) {
      const std::string_view name = info->name;
      const bool wanted = options.only.empty() ||
                          std::any_of(options.only.begin(), options.only.end(),
                                      [&](const std::string& p) {
                                        return name.starts_with(p);
                                      });
      if (!wanted) continue;
      const std::string base = info->base;
      if (!base.starts_with("exact")) {
        all.push_back({row, info, base, {}, {}, {}});
        continue;
      }
      all.push_back({row, info, "cpu", {}, {}, {}});
      all.push_back({row, info, "flash", {}, {}, {}});
    }
  }
  return all;
}

void IdentifySuspect(Suspect* suspect) {
  const auto kernel = ParseCandidate(suspect->spec());
  const auto base = ProfileOfBase(suspect->base);
  suspect->status = kernel.ok() ? base.status() : kernel.status();
  if (!suspect->status.ok()) return;
  IdentifyRequest request;
  request.op = suspect->row->op;
  request.light_keys = 7;  // the emulator is slow
  request.lane = base->lane.value_or(Lane::kF32);
  const auto found = Identify(request, *kernel.value());
  suspect->status = found.status();
  if (found.ok()) suspect->identified = found->profile;
}

std::vector<LengthCase> CasesAt(const std::string& op, int64_t length) {
  if (op == "attention_forward") return AttentionLengthCases(length);
  if (op == "attention_backward") return GradientLengthCases(length);
  if (op == "mamba3_scan_backward") return ScanGradientLengthCases(length);
  return ScanLengthCases(length, op);
}

std::vector<std::string> LinesOf(const Suspect& suspect, int64_t length) {
  if (length == 0) return {suspect.info->pattern};
  std::vector<std::string> lines;
  // A bug of f16 scans meets the lines of all scans, too, in its own lane.
  const std::string_view op = suspect.row->op;
  const bool f16_scan =
      (op == "mamba3_scan" || op == "ssd_scan") && BreaksF16(*suspect.info);
  for (const LengthCase& row : CasesAt(suspect.row->op, length)) {
    const bool meets = f16_scan && row.only.empty();
    if (meets || IsFor(*suspect.info, row)) lines.push_back(row.line);
  }
  return lines;
}

// The stages, that of a tier first.
std::vector<size_t> OrderOf(Stages* stages, const std::string& first) {
  std::vector<size_t> order;
  for (size_t n = 0; n < stages->size(); ++n) order.push_back(n);
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t n) { return (*stages)[n].tier() == first; });
  return order;
}

// The first inputs on which an envelope or a probe refuses what the bug makes
// of them, and what it makes.
struct Refusal {
  bool refused = false;
  size_t stage = 0;
  OutputSet outputs;
};
Result<Refusal> RefusalOf(const Suspect& suspect, const std::string& first,
                          Stages* stages) {
  ASSIGN_OR_RETURN(const auto kernel, ParseCandidate(suspect.spec()));
  for (const size_t n : OrderOf(stages, first)) {
    Stage& stage = (*stages)[n];
    RETURN_IF_ERROR(stage.Open());
    ASSIGN_OR_RETURN(auto outputs, stage.Run(kernel.get()));
    if (!stage.Allows(outputs)) return Refusal{true, n, std::move(outputs)};
  }
  return Refusal{};
}

// Whether another profile refuses the same answer, so that it need not be made
// again. With other inputs this is not known.
Result<bool> RefusesToo(const Refusal& refusal, Stages* own, Stages* other) {
  if (!refusal.refused || refusal.stage >= other->size()) return false;
  Stage& stage = (*other)[refusal.stage];
  if (MinimalLine({(*own)[refusal.stage].call()}) !=
      MinimalLine({stage.call()})) {
    return false;
  }
  RETURN_IF_ERROR(stage.Open());
  return !stage.Allows(refusal.outputs);
}

// A sequence of calls, which has no single answer, or an order of sums that is
// judged by bits alone.
bool HasNoEnvelope(const std::string& line) {
  const auto has = [&](const char* word) {
    return line.find(word) != std::string::npos;
  };
  return has(";;") || has(" order=");
}

// The stages of every line, by the profile that they judge by.
class Shelf {
 public:
  // Null: the line has no envelope.
  Result<Stages*> Find(const std::string& line, const NumericProfile& profile) {
    if (HasNoEnvelope(line)) return nullptr;
    const std::string key = line + "\n" + ProfileText(profile);
    auto at = stages_.find(key);
    if (at == stages_.end()) {
      ASSIGN_OR_RETURN(auto made, Stages::MakeBy(line, "", profile, {}));
      at = stages_.emplace(key, std::move(made)).first;
    }
    return at->second.get();
  }

 private:
  std::map<std::string, std::unique_ptr<Stages>> stages_;
};

// Judges one suspect on one line. An answer that the right profile allows does
// not count.
Status JudgeSuspect(const Suspect& suspect, Stages* own, Stages* seen,
                    Fate* fate) {
  const Telling telling = suspect.telling.value_or(Telling{});
  Refusal by_own;
  if (!fate->own) {
    ASSIGN_OR_RETURN(by_own, RefusalOf(suspect, telling.own, own));
    fate->own = by_own.refused;
    if (fate->own) fate->own_tier = (*own)[by_own.stage].tier();
  }
  if (!fate->own || fate->kept) return {};
  ASSIGN_OR_RETURN(fate->kept, RefusesToo(by_own, own, seen));
  fate->seen_tier = fate->own_tier;
  if (fate->kept) return {};
  ASSIGN_OR_RETURN(const Refusal by_seen,
                   RefusalOf(suspect, telling.seen, seen));
  fate->kept = by_seen.refused;
  if (fate->kept) fate->seen_tier = (*seen)[by_seen.stage].tier();
  return {};
}

// One line before all suspects that are still open.
Status JudgeLine(const std::string& line, const std::vector<Suspect>& suspects,
                 const std::vector<size_t>& open, int threads,
                 std::vector<Fate>* fates) {
  Shelf shelf;
  std::vector<std::pair<Stages*, Stages*>> stages;
  for (const size_t s : open) {
    const Suspect& suspect = suspects[s];
    ASSIGN_OR_RETURN(const auto base, ProfileOfBase(suspect.base));
    NumericProfile own = base;
    NumericProfile seen = suspect.identified;
    own.name = seen.name = "judged";
    own.description = seen.description = "judged";
    ASSIGN_OR_RETURN(const auto by_own, shelf.Find(line, own));
    ASSIGN_OR_RETURN(const auto by_seen, shelf.Find(line, seen));
    stages.emplace_back(by_own, by_seen);
  }
  ForEach(static_cast<int64_t>(open.size()), threads, [&](int64_t n) {
    const auto at = static_cast<size_t>(n);
    Fate& fate = (*fates)[open[at]];
    const auto [own, seen] = stages[at];
    if (own == nullptr) return;
    fate.status = JudgeSuspect(suspects[open[at]], own, seen, &fate);
    if (fate.own && fate.own_line.empty()) fate.own_line = line;
  });
  return {};
}

// A line, and the suspects that meet it: which of their lines it is to each.
using Meetings = std::map<std::string, std::vector<std::pair<size_t, size_t>>>;

// Every line before the suspects that are still open.
Status JudgeLines(const AutoOptions& options, int64_t length,
                  const Meetings& lines, std::vector<Suspect>* suspects,
                  std::vector<Fate>* fates) {
  int64_t done = 0;
  for (const auto& [line, meets] : lines) {
    std::vector<size_t> open;
    for (const auto& [s, n] : meets) {
      if (!(*fates)[s].own || !(*fates)[s].kept) open.push_back(s);
    }
    const Status status =
        JudgeLine(line, *suspects, open, options.threads, fates);
    if (!status.ok()) return Status::Error(line + ": " + status.message());
    for (const auto& [s, n] : meets) {
      const bool settled = (*fates)[s].own && (*fates)[s].kept;
      const bool now = std::find(open.begin(), open.end(), s) != open.end();
      const Fate& fate = (*fates)[s];
      if (settled && now) {
        (*suspects)[s].telling = {n, fate.own_tier, fate.seen_tier};
      }
    }
    if (options.progress && ++done % 4 == 0) {
      options.progress(std::to_string(length) + ": line " +
                       std::to_string(done) + " of " +
                       std::to_string(lines.size()));
    }
  }
  return {};
}

// Judges these suspects on all lines of a length, first on the lines that told
// before.
Result<std::vector<Fate>> JudgeAll(const AutoOptions& options, int64_t length,
                                   const std::vector<size_t>& which,
                                   std::vector<Suspect>* suspects) {
  std::vector<Fate> fates(suspects->size());
  Meetings first, rest;
  for (const size_t s : which) {
    const std::vector<std::string> lines = LinesOf((*suspects)[s], length);
    const auto& telling = (*suspects)[s].telling;
    for (size_t n = 0; n < lines.size(); ++n) {
      const bool told = telling && telling->line == n;
      (told ? first : rest)[lines[n]].emplace_back(s, n);
    }
  }
  for (const Meetings* lines : {&first, &rest}) {
    RETURN_IF_ERROR(JudgeLines(options, length, *lines, suspects, &fates));
  }
  return fates;
}

// Finds the lines that show bugs at short lengths, at which a kernel takes
// little time. Each rung has the suspects that no earlier rung caught. The
// verdict at the full length comes from that length alone.
Status Scout(const AutoOptions& options, int64_t length,
             std::vector<Suspect>* suspects) {
  constexpr int64_t kRungs[] = {96, 384, 1536};
  for (const int64_t rung : kRungs) {
    if (rung * 4 > length) break;
    std::vector<size_t> untold;
    for (size_t s = 0; s < suspects->size(); ++s) {
      if (!(*suspects)[s].telling) untold.push_back(s);
    }
    ASSIGN_OR_RETURN(const auto fates,
                     JudgeAll(options, rung, untold, suspects));
    for (const Fate& fate : fates) {
      if (!fate.status.ok()) return fate.status;
    }
  }
  return {};
}

// What no envelope and no probe of the identified profile fails, before whole
// verdicts by it: on the line on which the right profile failed it, then on the
// others, the bug's own pattern first.
void JudgeWhole(const std::vector<Suspect>& suspects, int64_t length,
                int threads, std::vector<Fate>* fates) {
  ForEach(static_cast<int64_t>(fates->size()), threads, [&](int64_t n) {
    const Suspect& suspect = suspects[static_cast<size_t>(n)];
    Fate& fate = (*fates)[static_cast<size_t>(n)];
    if (!fate.own || fate.kept) return;
    std::vector<std::string> lines = LinesOf(suspect, length);
    lines.push_back(fate.own_line);
    std::reverse(lines.begin(), lines.end());
    for (const std::string& line : lines) {
      if (HasNoEnvelope(line)) continue;
      const auto fails = FailsWhole(line, suspect.spec(), suspect.identified);
      fate.status = fails.status();
      fate.kept = fate.by_laws = fails.ok() && fails.value();
      if (!fails.ok() || fate.kept) return;
    }
  });
}

// Judges all suspects on all lines of a length.
Status JudgeLength(const AutoOptions& options, int64_t length,
                   std::vector<Suspect>* suspects, AutoResult* result) {
  RETURN_IF_ERROR(Scout(options, length, suspects));
  std::vector<size_t> all;
  for (size_t s = 0; s < suspects->size(); ++s) all.push_back(s);
  ASSIGN_OR_RETURN(std::vector<Fate> fates,
                   JudgeAll(options, length, all, suspects));
  JudgeWhole(*suspects, length, options.threads, &fates);
  for (size_t s = 0; s < suspects->size(); ++s) {
    if (!fates[s].status.ok()) return fates[s].status;
    const Suspect& suspect = (*suspects)[s];
    const MutantInfo& info = *suspect.info;
    AutoCount& count = result->counts[{suspect.row->op, BreaksConvention(info),
                                       info.family, length}];
    if (!fates[s].own) continue;
    ++count.own;
    count.kept += fates[s].kept ? 1 : 0;
    if (fates[s].by_laws) count.by_laws.push_back(suspect.spec());
    if (!fates[s].kept) count.lost.push_back(suspect.spec());
  }
  return {};
}

}  // namespace

Result<AutoResult> JudgeIdentified(const std::vector<const SelftestRow*>& rows,
                                   const AutoOptions& options) {
  std::vector<Suspect> suspects = SuspectsOf(rows, options);
  if (suspects.empty()) return Status::Error("no bug has such a name");
  AutoResult result;
  ForEach(
      static_cast<int64_t>(suspects.size()), options.threads,
      [&](int64_t n) { IdentifySuspect(&suspects[static_cast<size_t>(n)]); });
  for (const Suspect& suspect : suspects) {
    if (!suspect.status.ok()) {
      return Status::Error(suspect.spec() + ": " + suspect.status.message());
    }
  }
  for (const int64_t length : options.lengths) {
    RETURN_IF_ERROR(JudgeLength(options, length, &suspects, &result));
  }
  return result;
}

}  // namespace lockstep::verify
