#include "verify/judge/evidence/evidence.h"

#include <algorithm>
#include <optional>
#include <span>

#include "verify/base/text.h"

namespace lockstep::verify {
namespace {

bool IsNaN(Lane lane, uint32_t bits) {
  const float x = FloatOf(lane, bits);
  return x != x;
}

// As Comparison::Passed has it: all NaNs count as one.
bool SameBits(Lane lane, std::span<const uint32_t> a,
              std::span<const uint32_t> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && !(IsNaN(lane, a[i]) && IsNaN(lane, b[i]))) return false;
  }
  return true;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

// The place of a row among those judged; none: it is not judged.
std::optional<size_t> PlaceOf(const RowJudge& judge, int64_t row) {
  if (judge.rows == nullptr) return static_cast<size_t>(row);
  const auto at = std::lower_bound(judge.rows->begin(), judge.rows->end(), row);
  if (at == judge.rows->end() || *at != row) return std::nullopt;
  return static_cast<size_t>(at - judge.rows->begin());
}

}  // namespace

RowJudge BySets(const AllowedResults& allowed) {
  return {&allowed.rows(), [&allowed](size_t n, const RowBits& bits) {
            return !allowed.Allows(n, bits);
          }};
}

RowJudge ByBits(const Trial& trial, const Truth& truth, bool every_row) {
  const auto differ = [&trial](const RowBits& bits, const auto& right) {
    for (size_t t = 0; t < bits.size(); ++t) {
      if (bits[t].empty()) continue;
      if (!SameBits(trial.outputs()[t].lane, bits[t], right(t))) return true;
    }
    return false;
  };
  if (every_row) {
    return {nullptr,
            [&trial, differ](size_t n, const RowBits& bits) {
              RowBits right;
              trial.ReferenceRow(static_cast<int64_t>(n), &right);
              return differ(bits, [&](size_t t) {
                return std::span<const uint32_t>(right[t]);
              });
            },
            true};
  }
  return {&truth.rows,
          [&truth, differ](size_t n, const RowBits& bits) {
            return differ(bits, [&](size_t t) { return truth.Row(t, n); });
          },
          true};
}

EvidenceBook::EvidenceBook(const Trial& own, uint64_t salt, int64_t work)
    : salt_(salt), left_(work), for_probes_(work / 4 * 3) {
  for (const PlantedFault& fault : own.faults().PlantFaults(salt)) {
    book_.push_back({fault.kind, fault.what, "", true});
  }
  // Kinds stay together, in the order of their first faults; "key" comes first.
  std::vector<std::string> kinds = {"key"};
  for (const Evidence& entry : book_) {
    if (std::find(kinds.begin(), kinds.end(), entry.kind) == kinds.end()) {
      kinds.push_back(entry.kind);
    }
  }
  const auto place = [&](const Evidence& entry) {
    return std::find(kinds.begin(), kinds.end(), entry.kind) - kinds.begin();
  };
  std::stable_sort(book_.begin(), book_.end(),
                   [&](const Evidence& a, const Evidence& b) {
                     return place(a) < place(b);
                   });
}

EvidenceBook::Answer EvidenceBook::Ask(const PlantedFault& fault,
                                       const Trial& trial,
                                       const RowJudge& judge, int64_t reserve) {
  size_t asked = 0;
  RowBits bits;
  for (const int64_t row : fault.rows) {
    if (asked == kFaultRows) break;
    const std::optional<size_t> place = PlaceOf(judge, row);
    if (!place) continue;
    const bool first_key = fault.kind == "key" && asked == 0;
    if (left_ <= reserve && !first_key) {
      return asked > 0 ? Answer::kAllows : Answer::kTooDear;
    }
    left_ -= trial.RowCost();
    ++asked;
    bits.clear();
    fault.row(row, &bits);
    if (judge.rejects(*place, bits)) return Answer::kRejects;
  }
  return asked > 0 ? Answer::kAllows : Answer::kJudgesNoRow;
}

void EvidenceBook::LookAtOwn(const Trial& own, const RowJudge& judge,
                             const std::string& line) {
  const std::vector<PlantedFault> faults = own.faults().PlantFaults(salt_);
  std::erase_if(book_, [&](Evidence& entry) {
    const auto fault = std::find_if(
        faults.begin(), faults.end(), [&](const PlantedFault& one) {
          return one.kind == entry.kind && one.what == entry.what;
        });
    if (fault == faults.end()) return false;
    const Answer answer = Ask(*fault, own, judge, for_probes_);
    entry.looked_at = answer != Answer::kTooDear;
    if (answer == Answer::kRejects) entry.shown_by = line;
    return judge.by_bits && answer == Answer::kAllows;
  });
}

bool EvidenceBook::LookAtProbe(const Trial& probe, const RowJudge& judge,
                               const std::string& line) {
  const std::vector<PlantedFault> faults = probe.faults().PlantFaults(salt_);
  bool any = false;
  for (Evidence& entry : book_) {
    if (!entry.shown_by.empty()) continue;
    std::vector<const PlantedFault*> meant;
    for (const PlantedFault& fault : faults) {
      if (fault.kind == entry.kind) meant.push_back(&fault);
    }
    const auto same = std::find_if(
        meant.begin(), meant.end(),
        [&](const PlantedFault* fault) { return fault->what == entry.what; });
    if (same != meant.end()) meant = {*same};
    bool all = !meant.empty();
    for (const PlantedFault* fault : meant) {
      if (!all) break;
      const Answer answer = Ask(*fault, probe, judge, 0);
      all = answer == Answer::kRejects;
      any = any || all;
      if (answer == Answer::kTooDear) entry.looked_at = false;
    }
    if (all) entry.shown_by = line;
  }
  return any;
}

bool RejectsANull(const Trial& trial, const AllowedResults& allowed) {
  const std::vector<int64_t>& rows = allowed.rows();
  RowBits bits;
  for (const NullCandidate& null : trial.faults().Nulls()) {
    // The last rows see most; what knows nothing is wrong in the first of them.
    for (size_t n = rows.size(); n > 0 && n + kFaultRows > rows.size(); --n) {
      null.row(rows[n - 1], &bits);
      if (!allowed.Allows(n - 1, {bits[0]})) return true;
    }
  }
  return false;
}

std::vector<std::string> UnshownKinds(const CaseResult& result,
                                      bool looked_at) {
  std::vector<std::string> kinds;
  for (const Evidence& entry : result.evidence) {
    const bool counts = entry.shown_by.empty() && entry.looked_at == looked_at;
    if (counts &&
        std::find(kinds.begin(), kinds.end(), entry.kind) == kinds.end()) {
      kinds.push_back(entry.kind);
    }
  }
  return kinds;
}

void DropUnclaimed(CaseResult* result) {
  const auto judged = [&](const std::string& tensor) {
    return std::any_of(
        result->judged.begin(), result->judged.end(),
        [&](const Judged& one) { return one.result.tensor == tensor; });
  };
  for (const OutputSpec& spec : result->outputs) {
    if (judged(spec.name)) continue;
    std::erase_if(result->evidence, [&](const Evidence& entry) {
      return entry.kind == spec.name;
    });
  }
}

void FindUnshown(const EvidenceRule& rule, CaseResult* result) {
  const std::vector<std::string> kinds = UnshownKinds(*result, true);
  if (kinds.empty()) return;
  std::string message;
  if (rule.own_probe) {
    const bool shows = std::any_of(
        result->evidence.begin(), result->evidence.end(),
        [](const Evidence& entry) { return !entry.shown_by.empty(); });
    if (shows) return;
    message = "this probe would show none of the faults planted into it (" +
              Joined(kinds) + "); judge the case itself";
  } else {
    const bool key =
        std::find(kinds.begin(), kinds.end(), "key") != kinds.end();
    if (rule.repeatable && !key) return;
    const auto first =
        std::find_if(result->evidence.begin(), result->evidence.end(),
                     [](const Evidence& entry) {
                       return entry.shown_by.empty() && entry.looked_at;
                     });
    message = "nothing that was judged would show a fault of kind " +
              Joined(kinds) + " (" + first->what + ")";
    message += rule.repeatable
                   ? "; judge it with its probes, or a shorter case"
                   : "; answer the case's probes, too: lockstep export " +
                         ShellQuote(result->line) + " --probes --out DIR";
    if (!result->probes_missed.empty() && !result->probes_met.empty()) {
      message += "; no answer to the probes " + Joined(result->probes_missed);
    }
  }
  result->findings.push_back(
      {Tier::kPower, "evidence", message, "", std::nullopt});
}

}  // namespace lockstep::verify
