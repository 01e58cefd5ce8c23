#include "verify/candidate/probe_folders.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

std::string ProbeName(const std::string& line) {
  constexpr std::string_view kFill = "fill=probe:";
  const size_t at = line.find(kFill);
  if (at == std::string::npos) return line;
  const size_t from = at + kFill.size();
  return line.substr(from, line.find_first_of(" ;", from) - from);
}

std::vector<ProbeFolder> ProbeFolders(const Case& c) {
  std::vector<ProbeFolder> probes;
  const Result<TrialRow> op = TrialRowOf(c);
  if (!op.ok()) return probes;
  for (const NumericProfile& profile : BuiltinProfiles()) {
    for (const Case& probe : op->probe_cases(c, profile)) {
      const auto known = std::any_of(
          probes.begin(), probes.end(),
          [&](const ProbeFolder& one) { return one.call == probe; });
      if (known) continue;
      const std::string name = ProbeName(MinimalLine(probe));
      const auto namesakes = std::count_if(
          probes.begin(), probes.end(), [&](const ProbeFolder& one) {
            return ProbeName(MinimalLine(one.call)) == name;
          });
      probes.push_back(
          {namesakes == 0 ? name : name + "-" + std::to_string(namesakes + 1),
           probe});
    }
  }
  return probes;
}

std::string FormatProbeIndex(const std::vector<ProbeFolder>& probes) {
  std::string text;
  for (const ProbeFolder& probe : probes) {
    text += probe.name + "\t" + MinimalLine(probe.call) + "\n";
  }
  return text;
}

std::string FindProbeFolder(const std::string& directory, const Case& probe) {
  const std::string folder = directory + "/probes/";
  std::ifstream index(folder + "index.txt");
  for (std::string line; std::getline(index, line);) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const std::string name = line.substr(0, tab);
    // A name is one folder here, whatever a hostile index says.
    if (name.empty() || name.find('/') != std::string::npos || name == "..") {
      continue;
    }
    const Result<Case> named = ParseCase(line.substr(tab + 1), {&probe.op, 1});
    if (named.ok() && named.value() == probe) return folder + name;
  }
  return folder + ProbeName(MinimalLine(probe));
}

}  // namespace lockstep::verify
