// What is said of how often a failing verdict names the bug.
#include <algorithm>
#include <string>

#include "tests/power/naming/attention_forward.h"
#include "verify/base/format.h"
#include "verify/report/json_text.h"
#include "verify/selftest/program.h"

namespace lockstep::verify {

std::string NamedText(const NamedBug& bug) {
  const std::string name = bug.info->name;
  if (bug.line.empty()) return name + ": no case shows it";
  return name + ": " +
         (bug.rank == 1 ? "named first"
          : bug.first.empty()
              ? "not named"
              : "first is " + bug.first + (bug.proved ? ", proved" : "")) +
         "; " + bug.kernel + " on " + bug.line +
         (bug.place.lse ? "" : ", without lse") +
         (bug.place.asked ? "" : ", exported calls");
}

std::string NamingText(const NamingResult& result) {
  std::string text =
      "| cases | outputs | the kernel | bugs that fail | named first | among "
      "the stated | proved | wrongly | CPU seconds, median | longest |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const NamingRow& row : result.rows) {
    text +=
        "| `" + row.cases.substr(0, row.cases.find(" and ")) + "`" +
        row.cases.substr(row.cases.find(" and ")) +
        (row.place.lse ? " | o, lse" : " | o") +
        (row.place.asked ? " | asked" : " | exported calls") +
        Format(
            " | %lld | %lld (%.0f %%) | %lld | %lld | %lld | %.2f | "
            "%.2f |\n",
            static_cast<long long>(row.bugs), static_cast<long long>(row.first),
            100.0 * static_cast<double>(row.first) /
                static_cast<double>(std::max<int64_t>(row.bugs, 1)),
            static_cast<long long>(row.among),
            static_cast<long long>(row.proved),
            static_cast<long long>(row.wrongly), row.median, row.longest);
  }
  for (const NamedBug& bug : result.bugs) {
    if (!bug.line.empty() && bug.rank != 1) text += NamedText(bug) + "\n";
  }
  return text;
}

std::string NamingJson(const NamingResult& result) {
  Json rows = Json::array(), bugs = Json::array();
  for (const NamingRow& row : result.rows) {
    rows.push_back({{"keys", row.place.keys},
                    {"lse", row.place.lse},
                    {"asked", row.place.asked},
                    {"cases", row.cases},
                    {"bugs", row.bugs},
                    {"first", row.first},
                    {"among", row.among},
                    {"proved", row.proved},
                    {"wrongly", row.wrongly},
                    {"median_seconds", row.median},
                    {"longest_seconds", row.longest}});
  }
  for (const NamedBug& bug : result.bugs) {
    bugs.push_back({{"bug", bug.info->name},
                    {"keys", bug.place.keys},
                    {"lse", bug.place.lse},
                    {"asked", bug.place.asked},
                    {"kernel", bug.kernel},
                    {"case", bug.line},
                    {"rank", bug.rank},
                    {"first", bug.first},
                    {"proved", bug.proved},
                    {"seconds", bug.seconds}});
  }
  return DumpJson({{"kind", "selftest_naming"},
                   {"program", ProgramJson()},
                   {"rows", rows},
                   {"bugs", bugs}},
                  2);
}

}  // namespace lockstep::verify
