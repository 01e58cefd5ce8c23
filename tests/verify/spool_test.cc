// Text that waits on disk: whole, in order, and nothing left behind.
#include "verify/base/io/spool.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace lockstep::verify {
namespace {

std::string TextOf(const Spool& spool) {
  std::string text;
  const Status copied = spool.CopyTo([&](std::string_view piece) {
    text += piece;
    return true;
  });
  EXPECT_TRUE(copied.ok());
  return text;
}

TEST(Spool, KeepsTheOrderAndLeavesNothing) {
  const std::string folder = testing::TempDir() + "/spool_test";
  std::filesystem::create_directory(folder);
  {
    Spool spool(folder);
    EXPECT_TRUE(spool.empty());
    std::string expected;
    // 3 MB: far more than what is kept in memory.
    for (int n = 0; n < 300000; ++n) {
      const std::string line = std::to_string(n) + " line\n";
      spool.Append(line);
      expected += line;
    }
    EXPECT_FALSE(spool.empty());
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    EXPECT_TRUE(TextOf(spool) == expected);
    EXPECT_TRUE(TextOf(spool) == expected);  // reading changes nothing
    spool.Append("more");
    EXPECT_TRUE(TextOf(spool) == expected + "more");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST(Spool, NeedsNoFolder) {
  for (const char* folder : {"", "/nowhere"}) {
    Spool spool(folder);
    spool.Append(std::string(1000000, 'x'));
    spool.Append("end");
    EXPECT_EQ(TextOf(spool).size(), 1000003u);
  }
}

TEST(Spool, ASinkThatIsFullEndsIt) {
  Spool spool("");
  spool.Append(std::string(1000000, 'x'));
  int pieces = 0;
  // The sink stops it; what the sink could not take is the sink's error.
  EXPECT_TRUE(spool
                  .CopyTo([&](std::string_view) {
                    ++pieces;
                    return false;
                  })
                  .ok());
  EXPECT_EQ(pieces, 1);
}

}  // namespace
}  // namespace lockstep::verify
