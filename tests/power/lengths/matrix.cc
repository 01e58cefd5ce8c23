#include "tests/power/lengths/matrix.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "tests/power/lengths/admitted.h"
#include "tests/power/lengths/cases.h"
#include "tests/power/lengths/structural.h"
#include "tests/power/stages.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/selftest/pool.h"
#include "verify/selftest/row.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A mutant with one setting of its dial.
struct Suspect {
  const MutantInfo* info = nullptr;
  std::string spec;  // without base
  std::string hint;  // the tier that proved it last
  std::string base;  // empty: the catalogue's, or the row's
  // Per row of its cover: whether it had an effect at the first length.
  std::vector<bool> effect;
  // Whether a tier proved it there, on a base that claims no bits.
  std::vector<bool> proved;
};

// What came of one mutant on one row.
struct Cell {
  Difference difference = Difference::kNone;
  std::string tier;  // that proves it; empty: none
  std::string spec;  // with its base
  Status status;
};

bool Wanted(const MutantInfo& info, const MatrixOptions& options) {
  if (WhyExempt(info) != nullptr) return false;
  const std::string_view name = info.name;
  return options.only.empty() ||
         std::any_of(options.only.begin(), options.only.end(),
                     [&](const std::string& p) { return name.starts_with(p); });
}

// Blocks of real tiles and pages; other dials count what is wrong, and one is
// the hardest to see.
std::vector<Suspect> Suspects(const MatrixOptions& options) {
  std::vector<Suspect> subjects;
  for (const SelftestRow* row : SelftestRows()) {
    if (!options.op.empty() && options.op != row->op) continue;
    for (const MutantInfo* info : row->mutants()) {
      if (!Wanted(*info, options)) continue;
      const std::string name = info->name;
      const bool blocks =
          name == "attn.v_tiles_exchanged" || name == "attn.kv_pages_exchanged";
      for (const char* dial : {"", "@128", "@256"}) {
        if (*dial != '\0' && !blocks) break;
        subjects.push_back({info, name + dial, "", "", {}, {}});
      }
      for (const std::string& base : GradientPlaces(*info)) {
        subjects.push_back({info, name, "", base, {}, {}});
      }
    }
  }
  return subjects;
}

// A mutant meets the cover of its op.
constexpr std::string_view kCovers[] = {
    "attention_forward", "attention_backward", "mamba3_scan",
    "mamba3_step",       "ssd_scan",           "mamba3_scan_backward",
    "attention_merge"};

std::vector<LengthCase> CasesOf(std::string_view cover, int64_t length) {
  if (cover == kCovers[0]) return AttentionLengthCases(length);
  if (cover == kCovers[1]) return GradientLengthCases(length);
  if (cover == kCovers[5]) return ScanGradientLengthCases(length);
  if (cover == kCovers[6]) return MergeLengthCases(length);
  return ScanLengthCases(length, cover);
}

std::string BaseOf(const Suspect& subject, const LengthCase& row) {
  if (!subject.base.empty()) return subject.base;
  return row.base.empty() ? subject.info->base : row.base;
}

// A bug in the merge of parts needs a kernel that has some.
bool Meets(const Suspect& subject, const std::string& base) {
  if (std::string_view(subject.info->base) != "flash-split") return true;
  const Result<AttentionVariant> variant = FindVariant(base);
  return variant.ok() && variant->splits > 1;
}

// The stages in the order in which they are tried: what proved it last, its
// own inputs, the probes.
std::vector<size_t> Order(Stages* stages, const std::string& hint) {
  std::vector<size_t> order;
  for (size_t n = 0; n < stages->size(); ++n) order.push_back(n);
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t n) { return (*stages)[n].tier() == hint; });
  return order;
}

// One mutant on one row: until a tier proves it.
Cell TryCell(const Suspect& subject, const std::string& base, Stages* stages) {
  Cell cell;
  cell.spec = "mutant:" + subject.spec + ",base=" + base;
  auto candidate = ParseCandidate(cell.spec);
  cell.status = candidate.status();
  if (!cell.status.ok()) return cell;
  int same = 0;
  bool own_same = false;
  for (const size_t n : Order(stages, subject.hint)) {
    Stage& stage = (*stages)[n];
    cell.status = stage.Open();
    if (!cell.status.ok()) return cell;
    const auto outputs = stage.Run(candidate.value().get());
    cell.status = outputs.status();
    if (!cell.status.ok()) return cell;
    const Difference here = stage.DifferenceOf(outputs.value());
    cell.difference = std::max(cell.difference, here);
    if (here != Difference::kNone && !stage.Allows(outputs.value())) {
      cell.tier = stage.tier();
      return cell;
    }
    same += here == Difference::kNone ? 1 : 0;
    own_same = own_same || (n == 0 && here == Difference::kNone);
    if (own_same && same > 1 && cell.difference == Difference::kNone &&
        !DependsOnValues(*subject.info)) {
      return cell;
    }
  }
  return cell;
}

class MatrixRun {
 public:
  explicit MatrixRun(const MatrixOptions& options)
      : options_(options), subjects_(Suspects(options)) {
    result_.lengths = options.lengths;
    for (const Suspect& subject : subjects_) {
      for (const int64_t length : options.lengths) {
        MatrixLine line;
        line.info = subject.info;
        line.mutant = subject.spec;
        if (!subject.base.empty()) line.mutant += ",base=" + subject.base;
        line.length = length;
        result_.lines.push_back(std::move(line));
      }
    }
  }

  Result<MatrixResult> All() {
    if (subjects_.empty()) {
      return Status::Error("no structural mutant has such a name");
    }
    for (size_t n = 0; n < options_.lengths.size(); ++n) {
      const Clock::time_point start = Clock::now();
      result_.rows.push_back(0);
      for (const std::string_view cover : kCovers) {
        RETURN_IF_ERROR(OneCover(cover, n));
      }
      result_.seconds.push_back(SecondsSince(start));
    }
    return std::move(result_);
  }

 private:
  MatrixLine& Line(size_t subject, size_t length) {
    return result_.lines[subject * options_.lengths.size() + length];
  }

  Status OneCover(std::string_view cover, size_t length);
  std::vector<std::vector<size_t>> Chosen(const std::vector<size_t>& who,
                                          const std::vector<LengthCase>& rows);
  Status OneRow(const LengthCase& row, size_t at,
                const std::vector<size_t>& who, size_t length);
  // Whether the mutant need not be proved on this row.
  Result<bool> Excused(const LengthCase& row, const Cell& cell,
                       const MutantInfo& info) const;
  Status Count(const LengthCase& row, const Cell& cell, MatrixLine* line);

  MatrixOptions options_;
  std::vector<Suspect> subjects_;
  MatrixResult result_;
};

// For each row the mutants that meet it. Each mutant meets one row with a sink
// and one without. On these a tier proved it at the first length or, failing
// that, it had an effect. A greedy choice takes as few rows as it can.
std::vector<std::vector<size_t>> MatrixRun::Chosen(
    const std::vector<size_t>& who, const std::vector<LengthCase>& rows) {
  std::vector<std::vector<size_t>> chosen(rows.size());
  std::map<std::pair<size_t, bool>, std::vector<bool>> open;
  for (const size_t s : who) {
    for (const bool sink : {false, true}) {
      std::vector<bool> fits = subjects_[s].proved;
      for (size_t r = 0; r < rows.size(); ++r) {
        fits[r] = fits[r] && rows[r].sink == sink;
      }
      if (std::find(fits.begin(), fits.end(), true) != fits.end()) {
        open[{s, sink}] = std::move(fits);
      }
    }
  }
  while (!open.empty()) {
    size_t best = 0;
    int64_t most = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      const int64_t served =
          std::count_if(open.begin(), open.end(),
                        [&](const auto& entry) { return entry.second[r]; });
      if (served > most) {
        best = r;
        most = served;
      }
    }
    for (auto it = open.begin(); it != open.end();) {
      const bool served = it->second[best];
      if (served) chosen[best].push_back(it->first.first);
      it = served ? open.erase(it) : std::next(it);
    }
  }
  return chosen;
}

Status MatrixRun::OneCover(std::string_view cover, size_t length) {
  std::vector<size_t> who;
  for (size_t s = 0; s < subjects_.size(); ++s) {
    if (subjects_[s].info->op() == cover) who.push_back(s);
  }
  if (who.empty()) return {};
  const auto rows = CasesOf(cover, options_.lengths[length]);
  std::vector<std::vector<size_t>> plan(rows.size());
  if (length == 0) {
    for (const size_t s : who) {
      subjects_[s].effect.resize(rows.size());
      subjects_[s].proved.resize(rows.size());
    }
    for (size_t r = 0; r < rows.size(); ++r) {
      for (const size_t s : who) {
        if (IsFor(*subjects_[s].info, rows[r])) plan[r].push_back(s);
      }
    }
  } else if (options_.full) {
    for (size_t r = 0; r < rows.size(); ++r) {
      for (const size_t s : who) {
        if (subjects_[s].effect[r]) plan[r].push_back(s);
      }
    }
  } else {
    plan = Chosen(who, rows);
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    if (plan[r].empty()) continue;
    ++result_.rows.back();
    RETURN_IF_ERROR(OneRow(rows[r], r, plan[r], length));
    if (options_.progress) {
      options_.progress(std::to_string(options_.lengths[length]) + ": row " +
                        std::to_string(r + 1) + " of " +
                        std::to_string(rows.size()));
    }
  }
  return {};
}

Status MatrixRun::OneRow(const LengthCase& row, size_t at,
                         const std::vector<size_t>& who, size_t length) {
  std::map<std::string, std::unique_ptr<Stages>> stages;  // by base
  for (const size_t s : who) {
    const std::string base = BaseOf(subjects_[s], row);
    if (stages.contains(base)) continue;
    ASSIGN_OR_RETURN(stages[base],
                     Stages::Make(row.line, base, options_.without));
  }
  std::vector<Cell> cells(who.size());
  ForEach(static_cast<int64_t>(who.size()), options_.threads, [&](int64_t n) {
    const Suspect& subject = subjects_[who[static_cast<size_t>(n)]];
    const std::string base = BaseOf(subject, row);
    if (!Meets(subject, base)) return;
    cells[static_cast<size_t>(n)] =
        TryCell(subject, base, stages.at(base).get());
  });
  for (auto& [base, all] : stages) {
    for (size_t n = 0; n < all->size(); ++n) {
      Stage& stage = (*all)[n];
      if (!stage.opened() || stage.Allows(stage.right())) continue;
      result_.alarms.push_back("variant:" + base + "  " + stage.tier() + "  " +
                               row.line);
    }
  }
  for (size_t n = 0; n < who.size(); ++n) {
    Suspect& subject = subjects_[who[n]];
    const Cell& cell = cells[n];
    if (!cell.status.ok()) return cell.status;
    ++result_.cells;
    if (length == 0) {
      subject.effect[at] = cell.difference != Difference::kNone;
      subject.proved[at] = !cell.tier.empty() && cell.tier != "bits";
    }
    if (!cell.tier.empty()) subject.hint = cell.tier;
    RETURN_IF_ERROR(Count(row, cell, &Line(who[n], length)));
  }
  return {};
}

Result<bool> MatrixRun::Excused(const LengthCase& row, const Cell& cell,
                                const MutantInfo& info) const {
  if (WhyOnlySomewhere(info) != nullptr ||
      (row.small_cap && WhyInvisibleUnderSmallCap(info) != nullptr)) {
    return true;
  }
  const char* kind = FaultKindOf(info);
  // Of a judge that goes without a probe the whole one says nothing.
  if (kind == nullptr || !options_.without.empty()) return false;
  return Admitted(row.line, cell.spec, kind);
}

Status MatrixRun::Count(const LengthCase& row, const Cell& cell,
                        MatrixLine* line) {
  if (!cell.tier.empty()) {
    ++line->proved;
    ++line->tiers[cell.tier];
    return {};
  }
  if (cell.difference == Difference::kNone) {
    ++line->without_effect;
    return {};
  }
  ASSIGN_OR_RETURN(const bool excused, Excused(row, cell, *line->info));
  if (excused) {
    ++line->excused;
    return {};
  }
  ++line->survived;
  line->survivors.push_back(cell.spec + "  " + row.line);
  return {};
}

}  // namespace

int64_t MatrixResult::Proved() const {
  return std::count_if(lines.begin(), lines.end(),
                       [](const MatrixLine& line) { return line.Proved(); });
}

bool MatrixResult::Passed() const {
  return !lines.empty() && Proved() == static_cast<int64_t>(lines.size()) &&
         alarms.empty();
}

Result<MatrixResult> RunMatrix(const MatrixOptions& options) {
  return MatrixRun(options).All();
}

}  // namespace lockstep::verify
