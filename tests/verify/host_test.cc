// Hosts as processes, where the order of what happens has to be certain; the
// rest is tried through the program, in tests/host.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/process/process_tree.h"
#include "verify/candidate/wire/host_caller.h"
#include "verify/case/case.h"
#include "verify/ops/op.h"
#include "verify/ops/wants.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// One case, and a host of tests/host that answers it.
class HostTest : public ::testing::Test {
 protected:
  HostTest() {
    const Result<Case> c = ParseCase("attention_forward sq=2 skv=3 d=4");
    trial_ = std::move(TrialRowOf(c.value())->open(c.value(), {}).value());
    outputs_ = std::move(trial_->Allocate(0).value());
    call_ = trial_->Call(0, outputs_);
    const std::string why =
        trial_->wants().AddWanted("mask.dense", &call_.inputs);
    EXPECT_EQ(why, "");
    poison_ = ReadPoison(call_.outputs);
  }
  ~HostTest() override { CloseHosts(); }

  std::vector<std::string> Bad(const std::string& mode) const {
    return {LOCKSTEP_PYTHON, LOCKSTEP_HOSTS "/bad_host.py", mode};
  }
  HostAnswer Ask(HostCaller& host) { return host.Call(AsCall()); }
  HostCall AsCall() const {
    return {.case_line = "",
            .call = &call_,
            .poison = &poison_,
            .threads = std::nullopt,
            .splits = std::nullopt,
            .shift = 0,
            .place = Place::kNext,
            .tables = false};
  }

  std::unique_ptr<Trial> trial_;
  OutputSet outputs_;
  KernelCall call_;
  PoisonOf poison_;
};

TEST_F(HostTest, OneProcessAnswersAllCallsAndIsTakenAgain) {
  std::vector<pid_t> before;
  for (int n = 0; n < 2; ++n) {
    HostCaller host(Bad("plain"));
    ASSERT_TRUE(host.Start().ok());
    EXPECT_EQ(Ask(host).outcome.state, RunOutcome::State::kRan);
    EXPECT_EQ(Ask(host).outcome.state, RunOutcome::State::kRan);
    const std::vector<pid_t> now = Descendants(getpid());
    ASSERT_EQ(now.size(), 2u);  // its keeper, and itself
    if (n == 0) before = now;
    EXPECT_EQ(now, before);
    EXPECT_EQ(host.Settle(true).state, RunOutcome::State::kRan);
  }
  EXPECT_TRUE(CloseHosts().empty());
  EXPECT_TRUE(Descendants(getpid()).empty());
}

TEST_F(HostTest, AnAnswerThatNobodyTookIsNoOneElses) {
  for (int n = 0; n < 2; ++n) {
    HostCaller host(Bad("plain"));
    ASSERT_TRUE(host.Start().ok());
    EXPECT_EQ(Ask(host).outcome.state, RunOutcome::State::kRan);
    host.Ask(AsCall());
  }
  HostCaller host(Bad("plain"));
  ASSERT_TRUE(host.Start().ok());
  EXPECT_EQ(Ask(host).outcome.state, RunOutcome::State::kRan);
}

TEST_F(HostTest, CallsLieWhereTheyAreWanted) {
  HostCaller host(Bad("plain"));
  ASSERT_TRUE(host.Start().ok());
  const auto places = [&](Place place) {
    HostCall call = AsCall();
    call.place = place;
    const HostAnswer answer = host.Call(call);
    EXPECT_EQ(answer.outcome.state, RunOutcome::State::kRan);
    return std::pair(answer.placed->inputs()[0].offset,
                     answer.placed->outputs()[0].offset);
  };
  const auto first = places(Place::kNext);
  const auto next = places(Place::kNext);
  EXPECT_EQ(next.first, first.first);
  EXPECT_NE(next.second, first.second);
  EXPECT_EQ(places(Place::kSame), next);
  const auto moved = places(Place::kElsewhere);
  EXPECT_NE(moved.first, next.first);
  EXPECT_GT(std::abs(moved.second - next.second), 4 * kPage);
  EXPECT_EQ(places(Place::kSame), moved);
}

TEST_F(HostTest, WritingAfterTheAnswerIsTold) {
  const std::string written =
      testing::TempDir() + "late-" + std::to_string(getpid());
  std::vector<std::string> words = Bad("late");
  words.push_back(written);
  HostCaller host(words);
  ASSERT_TRUE(host.Start().ok());
  ASSERT_EQ(Ask(host).outcome.state, RunOutcome::State::kRan);
  while (unlink(written.c_str()) != 0) usleep(10000);
  const RunOutcome settled = host.Settle(true);
  EXPECT_EQ(settled.check, "guard_zones");
  EXPECT_NE(settled.message.find("after it had said"), std::string::npos)
      << settled.message;
}

TEST_F(HostTest, AWordUnaskedIsTold) {
  HostCaller host(Bad("twice"));
  ASSERT_TRUE(host.Start().ok());
  Ask(host);
  RunOutcome settled;
  while (settled.state == RunOutcome::State::kRan) settled = host.Settle(true);
  EXPECT_NE(settled.message.find("without being asked"), std::string::npos)
      << settled.message;
}

TEST_F(HostTest, HostsThatEndLeaveNoDescriptor) {
  const auto open_now = [] {
    int count = 0;
    for (int fd = 0; fd < 4096; ++fd) {
      count +=
          access(("/proc/self/fd/" + std::to_string(fd)).c_str(), F_OK) == 0;
    }
    return count;
  };
  int before = 0;
  for (int n = 0; n < 20; ++n) {
    HostCaller host(Bad("exit_0"));
    ASSERT_TRUE(host.Start().ok());
    EXPECT_EQ(Ask(host).outcome.check, "exit");
    if (n == 0) before = open_now();
    EXPECT_EQ(open_now(), before);
  }
  EXPECT_TRUE(Descendants(getpid()).empty());
}

TEST_F(HostTest, ThisProcessCannotBeRead) {
  GuardThisProcess();
  std::ifstream memory("/proc/" + std::to_string(getppid()) + "/comm");
  EXPECT_TRUE(memory.good());
  const pid_t child = fork();
  if (child == 0) {
    // Without the rights of root another process of ours cannot look.
    const bool root = geteuid() == 0;
    const std::string path = "/proc/" + std::to_string(getppid()) + "/mem";
    _exit(root || access(path.c_str(), R_OK) != 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace lockstep::verify
