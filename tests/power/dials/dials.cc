#include "tests/power/dials/dials.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "tests/power/dials/curves.h"
#include "tests/power/stages.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/report/json_text.h"
#include "verify/selftest/pool.h"
#include "verify/selftest/program.h"

namespace lockstep::verify {
namespace {

constexpr const char* kBase = "flash";
constexpr int64_t kMostCount = 4096;
constexpr int64_t kMostBits = 23;

using AllStages = std::vector<std::unique_ptr<Stages>>;

struct Finding {
  Status status;
  std::string tier;  // empty: not found
  std::string line;
};

Finding Try(const MutantInfo& info, int64_t severity,
            const std::vector<std::string>& lines, const AllStages& cases) {
  Finding finding;
  const std::string spec = std::string("mutant:") + info.name + "@" +
                           std::to_string(severity) + ",base=" + kBase;
  auto candidate = ParseCandidate(spec);
  finding.status = candidate.status();
  for (size_t n = 0; n < cases.size() && finding.status.ok(); ++n) {
    for (size_t s = 0; s < cases[n]->size(); ++s) {
      Stage& stage = (*cases[n])[s];
      finding.status = stage.Open();
      if (!finding.status.ok()) return finding;
      const auto outputs = stage.Run(candidate.value().get());
      finding.status = outputs.status();
      if (!finding.status.ok()) return finding;
      if (stage.Allows(outputs.value())) continue;
      finding.tier = stage.tier();
      finding.line = lines[n];
      return finding;
    }
  }
  return finding;
}

// The mildest setting that is found, by bisection between one that is found
// and one that is not.
Status Measure(const std::vector<std::string>& lines, const AllStages& cases,
               DialRow* row) {
  const bool more = MoreIsMilder(*row->info);
  const int64_t most = more ? kMostBits : kMostCount;
  // found: a setting that is found; missed: one that is milder and is not.
  int64_t found = more ? 0 : most + 1;
  int64_t missed = more ? most + 1 : 0;
  for (int64_t next = more ? most : 1;;) {
    const Finding finding = Try(*row->info, next, lines, cases);
    if (!finding.status.ok()) return finding.status;
    if (finding.tier.empty()) {
      missed = next;
    } else {
      found = next;
      row->mildest = next;
      row->tier = finding.tier;
      row->line = finding.line;
    }
    if (std::max(found, missed) - std::min(found, missed) <= 1) return {};
    next = (found + missed) / 2;
  }
}

}  // namespace

Result<std::vector<DialRow>> MeasureDials(const std::vector<std::string>& lines,
                                          int threads) {
  AllStages cases;
  for (const std::string& line : lines) {
    ASSIGN_OR_RETURN(auto stages, Stages::Make(line, kBase, {}));
    cases.push_back(std::move(stages));
  }
  std::vector<DialRow> rows;
  for (const MutantInfo& info : Mutants()) {
    if (info.attention() && info.dial != nullptr) {
      rows.push_back({&info, 0, "", ""});
    }
  }
  std::vector<Status> statuses(rows.size());
  ForEach(static_cast<int64_t>(rows.size()), threads, [&](int64_t n) {
    const auto at = static_cast<size_t>(n);
    statuses[at] = Measure(lines, cases, &rows[at]);
  });
  for (const Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return rows;
}

std::string DialsText(const std::vector<DialRow>& rows) {
  std::string text;
  for (const DialRow& row : rows) {
    text += std::string("dial ") + row.info->name + ": ";
    text += row.mildest == 0
                ? std::string("found at no setting of ") + row.info->dial
                : std::to_string(row.mildest) + " " + row.info->dial + " by " +
                      row.tier + " on " + row.line;
    text += "\n";
  }
  return text;
}

std::string DialsJson(const std::vector<DialRow>& rows,
                      const std::vector<DialCurve>& curves) {
  Json dials = Json::array();
  for (const DialRow& row : rows) {
    dials.push_back({{"mutant", row.info->name},
                     {"dial", row.info->dial},
                     {"mildest", row.mildest},
                     {"tier", row.tier},
                     {"case", row.line}});
  }
  Json json = {
      {"kind", "selftest_dials"}, {"program", ProgramJson()}, {"dials", dials}};
  if (!curves.empty()) json["curves"] = CurvesJson(curves);
  return DumpJson(json, 2);
}

}  // namespace lockstep::verify
