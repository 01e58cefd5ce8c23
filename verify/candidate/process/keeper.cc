#include "verify/candidate/process/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <initializer_list>

#include "verify/candidate/process/c_library.h"

namespace lockstep::verify {
namespace {

void OnChild(int) {}  // ends a wait

// Kills every process in a list of numbers with a space behind each.
void KillListed(const char* text, ssize_t length) {
  pid_t number = 0;
  for (ssize_t at = 0; at < length; ++at) {
    if (text[at] >= '0' && text[at] <= '9') {
      number = number * 10 + (text[at] - '0');
      continue;
    }
    if (number > 1) kill(number, SIGKILL);
    number = 0;
  }
}

// Orphans of those that are killed come to this process, so that the next round
// meets them.
void KillAllBelow(pid_t program) {
  kill(program, SIGKILL);
  while (true) {
    char block[4096];
    const int list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    const ssize_t got = read(list, block, sizeof(block));
    close(list);
    KillListed(block, got);
    pid_t ended;
    while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (ended < 0 && errno == ECHILD) return;
    const timespec moment = {0, 1000000};
    nanosleep(&moment, nullptr);
  }
}

// Ends as the program did.
[[noreturn]] void Follow(int status) {
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  kill(getpid(), number);
  _exit(128 + number);
}

}  // namespace

void BecomeKeeper() {
  setpgid(0, 0);  // no signal of the terminal's
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_IGN);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  prctl(PR_SET_NAME, "lockstep-keeper", 0, 0, 0);
  // Held back, so that it ends a wait and never comes before one.
  struct sigaction action = {};
  action.sa_handler = OnChild;
  sigaction(SIGCHLD, &action, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &child, nullptr);
}

void Keep(pid_t program, int lifeline) {
  dup2(lifeline, STDIN_FILENO);
  CloseFrom(STDIN_FILENO + 1);
  pollfd judge = {STDIN_FILENO, POLLIN, 0};
  sigset_t none;
  sigemptyset(&none);
  while (true) {
    int status = 0;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended == program) Follow(status);
    }
    if (ppoll(&judge, 1, nullptr, &none) <= 0) continue;
    KillAllBelow(program);
    _exit(0);
  }
}

}  // namespace lockstep::verify
