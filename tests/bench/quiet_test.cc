// What the library of benchmarks says of itself stays out of release builds.
#include "bench/quiet.h"

#include <gtest/gtest.h>

#include <iostream>
#include <sstream>
#include <string>

namespace lockstep::bench {
namespace {

TEST(Quiet, DropsTheLibrarysLineAndNoOther) {
  const std::string warning =
      "***WARNING*** Library was built as DEBUG. Timings may be affected.\n";
  std::ostringstream said;
  std::streambuf* const before = std::cerr.rdbuf(said.rdbuf());
  {
    const WithoutLibraryWarning quiet;
    // Flushed before its end, as the library does.
    std::cerr << "first\n***WARNING*** " << std::flush
              << warning.substr(std::string("***WARNING*** ").size())
              << "***WARNING*** CPU scaling is enabled\n"
              << "no end";
  }
  std::cerr << "after\n" << warning;
  std::cerr.rdbuf(before);
#ifdef NDEBUG
  const std::string kept;
#else
  const std::string kept = warning;
#endif
  EXPECT_EQ(said.str(), "first\n" + kept +
                            "***WARNING*** CPU scaling is enabled\n"
                            "no endafter\n" +
                            warning);
}

}  // namespace
}  // namespace lockstep::bench
