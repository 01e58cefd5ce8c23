// Who is held on one core, and that all are free again.
#include "verify/candidate/process/shared_core.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "verify/candidate/process/process_tree.h"

namespace lockstep::verify {
namespace {

int CoresOf(pid_t process) {
  cpu_set_t cores;
  return sched_getaffinity(process, sizeof(cores), &cores) == 0
             ? CPU_COUNT(&cores)
             : -1;
}

// A process below this one that does nothing, with so many threads beside its
// first, until it is killed.
class Idle {
 public:
  explicit Idle(int threads) {
    int ready[2];
    if (pipe(ready) != 0) return;
    process_ = fork();
    if (process_ == 0) {
      for (int n = 0; n < threads; ++n) std::thread(pause).detach();
      if (write(ready[1], "", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Idle() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  pid_t process() const { return process_; }

 private:
  pid_t process_ = -1;
};

class Shared : public testing::Test {
 protected:
  void SetUp() override {
    if (cores_ < 2) GTEST_SKIP() << "one core only: there is nothing to hold";
  }
  const int cores_ = CoresOf(0);
  SharedCore core_{std::chrono::hours(1)};
};

TEST_F(Shared, HoldsTheJudgeAndAHostOfOneThread) {
  const Idle host(0);
  core_.BetweenCases();
  EXPECT_TRUE(core_.held());
  EXPECT_EQ(CoresOf(0), 1);
  EXPECT_EQ(CoresOf(host.process()), 1);
  core_.BetweenCases();
  EXPECT_TRUE(core_.held());
  core_.Free();
  EXPECT_EQ(CoresOf(0), cores_);
  EXPECT_EQ(CoresOf(host.process()), cores_);
  // Some cases are free, whatever the clock says.
  core_.BetweenCases();
  EXPECT_FALSE(core_.held());
}

TEST_F(Shared, LeavesKernelsWithThreadsAlone) {
  const Idle alone(0);
  const Idle host(1);
  core_.BetweenCases();
  EXPECT_FALSE(core_.held());
  EXPECT_EQ(CoresOf(0), cores_);
  EXPECT_EQ(CoresOf(host.process()), cores_);
}

TEST_F(Shared, HoldsNobodyWithoutAHost) {
  core_.BetweenCases();
  EXPECT_FALSE(core_.held());
  EXPECT_EQ(CoresOf(0), cores_);
}

// A process that is started meanwhile, with its threads, inherits the one core.
TEST_F(Shared, FreesWhatWasStartedMeanwhile) {
  const Idle host(0);
  {
    SharedCore core(std::chrono::hours(1));
    core.BetweenCases();
    ASSERT_TRUE(core.held());
    const Idle second(2);
    EXPECT_EQ(CoresOf(second.process()), 1);
    core.Free();
    EXPECT_EQ(CoresOf(second.process()), cores_);
    for (const pid_t thread : ThreadsOf(second.process())) {
      EXPECT_EQ(CoresOf(thread), cores_);
    }
  }
  EXPECT_EQ(CoresOf(0), cores_);
}

}  // namespace
}  // namespace lockstep::verify
