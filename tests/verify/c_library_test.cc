#include "verify/candidate/process/c_library.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace lockstep::verify {
namespace {

// What a process that holds descriptors up to 200 has left of them.
int OpenAfter(void (*close_from)(int), int first) {
  const pid_t child = fork();
  if (child == 0) {
    for (int number = 3; number <= 200; ++number) dup2(STDIN_FILENO, number);
    close_from(first);
    int open = 0;
    for (int number = 0; number <= 300; ++number) {
      open += fcntl(number, F_GETFD) >= 0 ? 1 : 0;
    }
    _exit(open);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CLibrary, ClosesAllFromADescriptorOnEitherWay) {
  EXPECT_EQ(OpenAfter(CloseFrom, 7), 7);
  EXPECT_EQ(OpenAfter(CloseOneByOne, 7), 7);
  // Here the list itself takes a number below.
  EXPECT_EQ(OpenAfter(
                [](int first) {
                  close(5);
                  CloseOneByOne(first);
                },
                7),
            6);
}

TEST(CLibrary, ForksAsForkDoes) {
  const pid_t child = ForkAlone();
  if (child == 0) _exit(42);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(CLibrary, NamesSignalsAsNewerLibrariesDo) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
  for (int number = 0; number <= SIGRTMAX; ++number) {
    const char* name = sigabbrev_np(number);
    const char* ours = SignalAbbreviation(number);
    EXPECT_EQ(ours ? std::string(ours) : "", name ? std::string(name) : "")
        << number;
  }
#endif
  EXPECT_STREQ(SignalAbbreviation(SIGSEGV), "SEGV");
}

}  // namespace
}  // namespace lockstep::verify
