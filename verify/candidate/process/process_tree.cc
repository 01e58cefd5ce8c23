#include "verify/candidate/process/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace lockstep::verify {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// A file of /proc; empty: its process is gone.
std::string Text(const std::string& path) {
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char block[4096];
  for (ssize_t got = 0; (got = read(file, block, sizeof(block))) > 0;) {
    text.append(block, static_cast<size_t>(got));
  }
  close(file);
  return text;
}

// The names in a folder of /proc that are numbers.
std::vector<pid_t> Numbers(const std::string& path) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(path.c_str()));
  if (folder == nullptr) return numbers;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    pid_t number = 0;
    const auto [end, error] =
        std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

// Adds the numbers of a list of children, each with a space behind it.
void AddChildren(std::string_view list, std::vector<pid_t>* children) {
  const char* end = list.data() + list.size();
  for (const char* at = list.data(); at < end; ++at) {
    pid_t child = 0;
    const auto [stop, error] = std::from_chars(at, end, child);
    if (error != std::errc()) return;
    children->push_back(child);
    at = stop;
  }
}

std::string ListOf(const std::string& tasks, pid_t thread) {
  return tasks + "/" + std::to_string(thread) + "/children";
}

std::string TasksOf(pid_t process) {
  return "/proc/" + std::to_string(process) + "/task";
}

// Children of every thread of a process.
std::vector<pid_t> Children(pid_t process) {
  std::vector<pid_t> children;
  const std::string tasks = TasksOf(process);
  for (const pid_t thread : Numbers(tasks)) {
    AddChildren(Text(ListOf(tasks, thread)), &children);
  }
  return children;
}

int OpenedList() {
  static const int list = OpenChildren(getpid());
  return list;
}

// The children in an open list of a process's.
std::vector<pid_t> ChildrenIn(int list, pid_t process) {
  std::vector<pid_t> children;
  char block[4096];
  const ssize_t got = pread(list, block, sizeof(block), 0);
  // A longer list comes in pieces.
  const bool whole = got >= 0 && static_cast<size_t>(got) < sizeof(block) / 2;
  if (!whole) return Children(process);
  AddChildren({block, static_cast<size_t>(got)}, &children);
  return children;
}

std::atomic<bool> guarded{false};

std::vector<pid_t>& ChildrenBefore() {
  static std::vector<pid_t>& before = *new std::vector<pid_t>();
  return before;
}

// Whether it is gone, or waits to be reaped by its parent.
bool HasEnded(pid_t process) {
  const std::string text = Text("/proc/" + std::to_string(process) + "/stat");
  const size_t name_end = text.rfind(") ");
  if (name_end == text.npos || name_end + 2 >= text.size()) return true;
  return text[name_end + 2] == 'Z' || text[name_end + 2] == 'X';
}

bool Holds(const std::vector<pid_t>& list, pid_t process) {
  return std::find(list.begin(), list.end(), process) != list.end();
}

}  // namespace

void GuardThisProcess() {
  static std::once_flag once;
  std::call_once(once, [] {
    ChildrenBefore() = Children(getpid());
    OpenedList();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    guarded = true;
  });
}

std::vector<pid_t> ThreadsOf(pid_t process) {
  return Numbers(TasksOf(process));
}

std::vector<pid_t> Descendants(pid_t root) {
  std::vector<pid_t> all = Children(root);
  for (size_t n = 0; n < all.size(); ++n) {
    for (const pid_t child : Children(all[n])) {
      if (!Holds(all, child)) all.push_back(child);
    }
  }
  return all;
}

int OpenChildren(pid_t process) {
  return open(ListOf(TasksOf(process), process).c_str(), O_RDONLY | O_CLOEXEC);
}

std::vector<pid_t> Strays(const std::vector<KeptProgram>& known) {
  std::vector<pid_t> strays, keepers;
  for (const KeptProgram& kept : known) {
    keepers.push_back(kept.keeper);
    for (const pid_t child : ChildrenIn(kept.children, kept.keeper)) {
      if (child != kept.program && !HasEnded(child)) strays.push_back(child);
    }
  }
  for (const pid_t child : ChildrenIn(OpenedList(), getpid())) {
    if (Holds(keepers, child) || Holds(ChildrenBefore(), child)) continue;
    if (waitpid(child, nullptr, WNOHANG) == child) continue;
    strays.push_back(child);
  }
  return strays;
}

void KillAll(const std::vector<pid_t>& processes) {
  // What they start while they are being killed is met in the next round.
  std::vector<pid_t> left = processes;
  while (!left.empty()) {
    std::vector<pid_t> below;
    for (const pid_t process : left) {
      kill(process, SIGSTOP);
      const std::vector<pid_t> more = Descendants(process);
      below.insert(below.end(), more.begin(), more.end());
    }
    for (const pid_t process : left) kill(process, SIGKILL);
    for (const pid_t process : left) waitpid(process, nullptr, 0);
    left = std::move(below);
  }
}

void KillAllBelow() {
  if (!guarded) return;
  const std::vector<pid_t> ours = ChildrenBefore();
  for (int round = 0; round < 100; ++round) {
    std::vector<pid_t> left;
    for (const pid_t child : Children(getpid())) {
      if (!Holds(ours, child) && !HasEnded(child)) left.push_back(child);
    }
    if (left.empty()) return;
    KillAll(left);
  }
}

}  // namespace lockstep::verify
