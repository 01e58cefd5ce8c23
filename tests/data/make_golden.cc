// Prints golden digests of the cases of case files, computed by the scalar
// reference. data/golden/README.md says when that is allowed.
#include <cstdio>
#include <string_view>

#include "tests/data/golden.h"
#include "verify/run/self_check.h"

namespace lockstep::verify {
namespace {

int Print(const GoldenFile& golden) {
  std::puts(
      "# Digests of the exact outputs (contract version 1). Every machine,\n"
      "# compiler and target reproduces them. data/golden/README.md says how\n"
      "# this file is made and when it may change.");
  for (const std::string& source : golden.sources) {
    const auto cases = GoldenCases(golden, source);
    if (!cases.ok()) {
      std::fprintf(stderr, "%s\n", cases.message().c_str());
      return 2;
    }
    std::printf("\n# data/cases/%s.cases\n", source.c_str());
    for (const Case& c : cases.value()) {
      const std::string line = MinimalLine(c);
      const auto digests = DigestsOfAnswer(c, ByReference);
      if (!digests.ok()) {
        std::fprintf(stderr, "%s: %s\n", line.c_str(),
                     digests.message().c_str());
        return 1;
      }
      std::puts((line + " => " + digests.value()).c_str());
    }
  }
  return 0;
}

}  // namespace
}  // namespace lockstep::verify

int main(int argc, char** argv) {
  using namespace lockstep::verify;
  for (const GoldenFile& golden : GoldenFiles()) {
    if (argc == 2 && std::string_view(argv[1]) == golden.name) {
      return Print(golden);
    }
  }
  std::fputs("usage: lockstep_make_golden NAME, of data/golden/NAME.golden:",
             stderr);
  for (const GoldenFile& golden : GoldenFiles()) {
    std::fprintf(stderr, " %s", golden.name);
  }
  std::fputs("\n", stderr);
  return 2;
}
