// The matrix as text, as JSON, and as docs/lengths.md.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/power/lengths/matrix.h"
#include "tests/power/lengths/structural.h"
#include "verify/base/format.h"
#include "verify/report/json_text.h"

namespace lockstep::verify {
namespace {

using Tiers = std::map<std::string, int64_t>;

// "fragment", or "scan: carry" of scan.init_of_neighbour.
std::string FamilyOf(const MutantInfo& info) {
  if (info.attention()) return info.family;
  const std::string name = info.name;
  return name.substr(0, name.find('.')) + ": " + info.family;
}

// In the order of the catalogue.
std::vector<std::string> FamiliesOf(const MatrixResult& result) {
  std::vector<std::string> families;
  for (const MatrixLine& line : result.lines) {
    const std::string family = FamilyOf(*line.info);
    if (std::find(families.begin(), families.end(), family) == families.end()) {
      families.push_back(family);
    }
  }
  return families;
}

// "comb, cancel, envelope": by how often each was the first to prove one.
std::string TierList(const Tiers& tiers) {
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [name, count] : tiers) order.push_back({-count, name});
  std::sort(order.begin(), order.end());
  std::string text;
  for (const auto& [count, name] : order) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

// What is not proved at this length, by name.
std::string Missing(const MatrixLine& line) {
  if (line.Proved()) return "";
  if (line.survived > 0) return line.mutant + " survives";
  return line.mutant + (line.excused > 0 ? " nowhere" : " no effect");
}

std::string CellText(const MatrixResult& result, const std::string& family,
                     int64_t length) {
  Tiers tiers;
  std::string missing;
  for (const MatrixLine& line : result.lines) {
    if (line.length != length || FamilyOf(*line.info) != family) continue;
    for (const auto& [name, count] : line.tiers) tiers[name] += count;
    const std::string word = Missing(line);
    if (!word.empty()) missing += (missing.empty() ? "" : ", ") + word;
  }
  const std::string proved = TierList(tiers);
  if (missing.empty()) return proved;
  return (proved.empty() ? "" : proved + "; ") + "**not proved: " + missing +
         "**";
}

std::string Seconds(double x) { return Format("%.1f s", x); }

// Rows of mutants and reasons, in the order of the catalogue.
std::string Reasons(const char* (*why)(const MutantInfo&)) {
  std::string text;
  for (const MutantInfo& info : Mutants()) {
    if (why(info) == nullptr) continue;
    text += std::string("| ") + info.name + " | " + why(info) + " |\n";
  }
  return text;
}

std::string LineText(const MatrixLine& line) {
  std::string name = line.mutant;
  name.resize(std::max<size_t>(name.size() + 1, 36), ' ');
  return name + std::to_string(line.length) + "  proved " +
         std::to_string(line.proved) + ", survived " +
         std::to_string(line.survived) + ", excused " +
         std::to_string(line.excused) + ", without effect " +
         std::to_string(line.without_effect) + "  " + TierList(line.tiers) +
         "\n";
}

}  // namespace

std::string MatrixText(const MatrixResult& result) {
  std::string text, faults;
  int64_t none = 0, excused = 0;
  for (const MatrixLine& line : result.lines) {
    text += LineText(line);
    none += line.without_effect;
    excused += line.excused;
    const std::string at = " at " + std::to_string(line.length) + ": ";
    for (const std::string& where : line.survivors) {
      faults += "survivor" + at + where + "\n";
    }
    if (!line.Proved() && line.survived == 0) {
      faults += (line.excused > 0 ? "proved nowhere" : "no effect") + at +
                line.mutant + "\n";
    }
  }
  for (const std::string& alarm : result.alarms) {
    faults += "alarm: " + alarm + "\n";
  }
  text += "\n" + faults;
  for (size_t n = 0; n < result.lengths.size(); ++n) {
    text += "length " + std::to_string(result.lengths[n]) + ": " +
            std::to_string(result.rows[n]) + " rows, " +
            Seconds(result.seconds[n]) + "\n";
  }
  return text + "matrix: " + std::to_string(result.Proved()) + " of " +
         std::to_string(result.lines.size()) + " mutants by length proved, " +
         std::to_string(result.cells) + " cells, " + std::to_string(none) +
         " without effect, " + std::to_string(excused) + " excused, " +
         std::to_string(result.alarms.size()) + " right kernels accused\n";
}

std::string MatrixJson(const MatrixResult& result) {
  Json lines = Json::array();
  for (const MatrixLine& line : result.lines) {
    lines.push_back({{"mutant", line.mutant},
                     {"family", FamilyOf(*line.info)},
                     {"length", line.length},
                     {"proved", line.proved},
                     {"survived", line.survived},
                     {"excused", line.excused},
                     {"without_effect", line.without_effect},
                     {"tiers", line.tiers},
                     {"survivors", line.survivors}});
  }
  const Json json = {
      {"kind", "selftest_lengths"}, {"lengths", result.lengths},
      {"rows", result.rows},        {"seconds", result.seconds},
      {"cells", result.cells},      {"mutants_by_length", result.lines.size()},
      {"proved", result.Proved()},  {"lines", lines},
      {"alarms", result.alarms}};
  return DumpJson(json, 2);
}

std::string PowerRow(const MatrixResult& result, const std::string& family) {
  std::set<std::string> names;
  for (const MatrixLine& line : result.lines) {
    if (FamilyOf(*line.info) == family) names.insert(line.mutant);
  }
  std::string row = "| " + family + " | " + std::to_string(names.size()) + " |";
  for (const int64_t length : result.lengths) {
    row += " " + CellText(result, family, length) + " |";
  }
  return row;
}

std::string PowerPage(const MatrixResult& result) {
  std::string page =
      "# What is proved at which length\n\n"
      "Made by `lockstep-power lengths` with `--markdown`; do not edit. "
      "Rows are\n"
      "the kinds of known bugs ([mutants.md](mutants.md)), columns the keys of "
      "a case\n"
      "(tokens of a scan). A cell names the tiers that proved the kind's "
      "mutants, the\n"
      "most frequent first: `bits` where the contract's own arithmetic is "
      "claimed,\n"
      "otherwise the envelope of the case's own inputs or an exact probe by "
      "its "
      "name.\n"
      "Each mutant is tried on a pairwise cover of masks, segments, valid "
      "counts, heads,\n"
      "sinks, caps, shapes and arithmetic, and must be proved wherever it has "
      "an effect.\n\n"
      "| kind | mutants |";
  std::string rule = "|---|---|";
  for (const int64_t length : result.lengths) {
    page += " " + std::to_string(length) + " |";
    rule += "---|";
  }
  page += "\n" + rule + "\n";
  for (const std::string& family : FamiliesOf(result)) {
    page += PowerRow(result, family) + "\n";
  }
  page +=
      "\n## Proved somewhere, not everywhere\n\nThese bugs must be proved on "
      "some case of each length, but change nothing beyond\nrounding on "
      "others. The table says why.\n\n| mutant | why |\n|---|---|\n";
  page += Reasons(&WhyOnlySomewhere);
  page +=
      "\n## Under a cap of 15 or less\n\nThese bugs need not be proved if "
      "the cap is small. The table says why.\n\n| mutant | why |\n|---|---|\n" +
      Reasons(&WhyInvisibleUnderSmallCap);
  page +=
      "\n## Not in the table\n\nThese known bugs need not be proved at every "
      "length. The table says why.\n\n| mutant | why |\n|---|---|\n";
  page += Reasons(&WhyExempt);
  return page;
}

}  // namespace lockstep::verify
