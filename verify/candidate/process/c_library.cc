#include "verify/candidate/process/c_library.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace lockstep::verify {
namespace {

// Of Linux 5.9, by the same number everywhere.
constexpr long kCloseRange = 436;

struct NamedSignal {
  int signal;
  const char* name;
};

constexpr NamedSignal kSignalNames[] = {
    {SIGABRT, "ABRT"},     {SIGALRM, "ALRM"},   {SIGBUS, "BUS"},
    {SIGCHLD, "CHLD"},     {SIGCONT, "CONT"},   {SIGFPE, "FPE"},
    {SIGHUP, "HUP"},       {SIGILL, "ILL"},     {SIGINT, "INT"},
    {SIGKILL, "KILL"},     {SIGPIPE, "PIPE"},   {SIGPOLL, "POLL"},
    {SIGPROF, "PROF"},     {SIGPWR, "PWR"},     {SIGQUIT, "QUIT"},
    {SIGSEGV, "SEGV"},     {SIGSTOP, "STOP"},   {SIGSTKFLT, "STKFLT"},
    {SIGSYS, "SYS"},       {SIGTERM, "TERM"},   {SIGTRAP, "TRAP"},
    {SIGTSTP, "TSTP"},     {SIGTTIN, "TTIN"},   {SIGTTOU, "TTOU"},
    {SIGURG, "URG"},       {SIGUSR1, "USR1"},   {SIGUSR2, "USR2"},
    {SIGVTALRM, "VTALRM"}, {SIGWINCH, "WINCH"}, {SIGXCPU, "XCPU"},
    {SIGXFSZ, "XFSZ"}};

// An entry of getdents64(2).
struct ListEntry {
  uint64_t node;
  int64_t next;
  unsigned short length;
  unsigned char kind;
  char name[1];
};

// The number that `name` is, -1 for "." and "..".
int DescriptorOf(const char* name) {
  int number = 0;
  for (; *name != 0; ++name) {
    if (*name < '0' || *name > '9') return -1;
    number = number * 10 + (*name - '0');
  }
  return number;
}

// Numbers of /proc/self/fd keep their places while others are closed.
void CloseListed(int first, int list) {
  alignas(ListEntry) char block[4096];
  while (true) {
    const long got = syscall(SYS_getdents64, list, block, sizeof(block));
    if (got <= 0) return;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const ListEntry*>(block + at);
      const int number = DescriptorOf(entry->name);
      if (number >= first && number != list) close(number);
      at += entry->length;
    }
  }
}

}  // namespace

pid_t ForkAlone() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  return _Fork();
#else
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
#endif
}

void CloseOneByOne(int first) {
  const int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (list >= 0) {
    CloseListed(first, list);
    close(list);
    return;
  }
  const long end = sysconf(_SC_OPEN_MAX);
  for (int number = first; number < end; ++number) close(number);
}

void CloseFrom(int first) {
  if (syscall(kCloseRange, static_cast<unsigned>(first), ~0U, 0) != 0) {
    CloseOneByOne(first);
  }
}

const char* SignalAbbreviation(int signal) {
  for (const NamedSignal& one : kSignalNames) {
    if (one.signal == signal) return one.name;
  }
  return nullptr;
}

}  // namespace lockstep::verify
