// Sizes of caches, from a folder as Linux has it.
#include "bench/cache_size.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace lockstep::bench {
namespace {

namespace fs = std::filesystem;

class CacheSize : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Add(const std::string& name, const std::string& level,
           const std::string& type, const std::string& size) {
    const fs::path cache = folder_ / name;
    fs::create_directories(cache);
    std::ofstream(cache / "level") << level << "\n";
    std::ofstream(cache / "type") << type << "\n";
    std::ofstream(cache / "size") << size << "\n";
  }
  size_t Bytes(int level) const { return CacheBytes(level, folder_.string()); }

  // Tests run side by side.
  fs::path folder_ =
      fs::path(testing::TempDir()) /
      testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(CacheSize, IsThatOfTheDataCache) {
  Add("index0", "1", "Instruction", "64K");
  Add("index1", "1", "Data", "32K");
  Add("index2", "2", "Unified", "1024K");
  Add("index3", "3", "Unified", "32M");
  std::ofstream(folder_ / "uevent") << "\n";
  EXPECT_EQ(Bytes(1), size_t{32} << 10);
  EXPECT_EQ(Bytes(2), size_t{1} << 20);
  EXPECT_EQ(Bytes(3), size_t{32} << 20);
}

TEST_F(CacheSize, IsZeroWhereThereIsNoSuchLevel) {
  Add("index0", "1", "Data", "48K");
  EXPECT_EQ(Bytes(1), size_t{48} << 10);
  EXPECT_EQ(Bytes(3), 0u);
  Add("index1", "3", "Unified", "much");
  EXPECT_EQ(Bytes(3), 0u);
}

TEST_F(CacheSize, AsksElsewhereWhereThereIsNoFolder) {
  TearDown();
  const auto said = [](int name) {
    const long bytes = sysconf(name);
    return bytes > 0 ? static_cast<size_t>(bytes) : 0;
  };
  EXPECT_EQ(Bytes(1), said(_SC_LEVEL1_DCACHE_SIZE));
  EXPECT_EQ(Bytes(2), said(_SC_LEVEL2_CACHE_SIZE));
  EXPECT_EQ(Bytes(3), said(_SC_LEVEL3_CACHE_SIZE));
}

}  // namespace
}  // namespace lockstep::bench
