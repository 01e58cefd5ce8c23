// Prints golden digests of the cases of case files, computed by the scalar
// reference. data/golden/README.md says when that is allowed.
#include <cstdio>
#include <string>
#include <vector>

#include "tests/data/golden.h"

int main(int argc, char** argv) {
  using namespace lockstep::verify;
  std::vector<std::string> paths(argv + 1, argv + argc);
  const bool scan = !paths.empty() && paths[0] == "--scan";
  if (scan) paths.erase(paths.begin());
  if (paths.empty()) {
    std::fprintf(stderr,
                 "usage: lockstep_make_golden [--scan] FILE.cases...\n");
    return 2;
  }
  std::puts(
      "# Digests of the exact outputs (contract version 1). Every machine,\n"
      "# compiler and target reproduces them. data/golden/README.md says how\n"
      "# this file is made and when it may change.");
  for (const std::string& path : paths) {
    const auto cases = GoldenCases(path, !scan);
    if (!cases.ok()) {
      std::fprintf(stderr, "%s\n", cases.message().c_str());
      return 2;
    }
    std::printf("\n# %s\n", path.c_str());
    for (const Case& c : cases.value()) {
      if (scan) {
        const auto digests =
            TrialDigests(c, [](const Trial& trial, const OutputSet& outputs) {
              Execution execution;
              return trial.RunReference(outputs, &execution);
            });
        if (!digests.ok()) {
          std::fprintf(stderr, "%s\n", digests.message().c_str());
          return 1;
        }
        std::puts((MinimalLine(c) + " => " + digests.value()).c_str());
        continue;
      }
      const auto digests = DigestsOf(c, RunReference);
      if (!digests.ok()) {
        std::fprintf(stderr, "%s: %s\n", MinimalLine(c).c_str(),
                     digests.message().c_str());
        return 1;
      }
      std::puts(FormatGolden({c, digests.value()}).c_str());
    }
  }
  return 0;
}
