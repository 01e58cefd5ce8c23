// What control groups say of a process's share of processor time.
#include "reference/contract/cores.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class Cores : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  double Quota(const std::string& groups) {
    return QuotaOfGroups(groups, root_.string());
  }

  fs::path root_;
};

TEST_F(Cores, NoFileIsNoLimit) {
  EXPECT_EQ(Quota("0::/job\n"), 0);
  EXPECT_EQ(Quota(""), 0);
  EXPECT_EQ(Quota("no line of this kind\n:\n"), 0);
  Write("job/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota("0::/job\n"), 0);
}

TEST_F(Cores, TheLeastOfAGroupAndThoseAboveIt) {
  Write("job/cpu.max", "150000 100000\n");
  Write("job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota("0::/job/step\n"), 1.5);
  Write("job/step/cpu.max", "50000 100000\n");
  EXPECT_EQ(Quota("0::/job/step\n"), 0.5);
  // A container sees its own limit at the root, under a path of outside.
  Write("cpu.max", "40000 100000\n");
  EXPECT_EQ(Quota("0::/../elsewhere\n"), 0.4);
}

TEST_F(Cores, VersionOneHasTwoFiles) {
  Write("cpu/job/cpu.cfs_quota_us", "300000\n");
  Write("cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota("3:memory:/job\n4:cpu,cpuacct:/job\n"), 3);
  EXPECT_EQ(Quota("4:cpuset:/job\n"), 0);
  Write("cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(Quota("4:cpu,cpuacct:/job\n"), 0);
}

TEST_F(Cores, ThisProcessMayUseOne) { EXPECT_GE(UsableCores(), 1); }

}  // namespace
}  // namespace lockstep
