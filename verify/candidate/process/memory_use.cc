#include "verify/candidate/process/memory_use.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBlock = 512;  // what st_blocks counts

struct Resident {
  int64_t all = 0;
  int64_t shared = 0;  // of it, in files in memory
};

Resident ResidentOf(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  Resident bytes;
  std::string name;
  while (status >> name) {
    int64_t kib = 0;
    if (name == "VmRSS:" && status >> kib) bytes.all = kib << 10;
    if (name == "RssShmem:" && status >> kib) bytes.shared = kib << 10;
    std::getline(status, name);
  }
  return bytes;
}

bool InMemory(const std::string& path) {
  struct statfs system = {};
  return statfs(path.c_str(), &system) == 0 &&
         (system.f_type == TMPFS_MAGIC || system.f_type == HUGETLBFS_MAGIC);
}

// Whether a descriptor that a file of fdinfo describes was opened for writing.
bool ForWriting(const std::string& path) {
  std::ifstream info(path);
  std::string name;
  int64_t position = 0;
  int flags = 0;
  return info >> name >> position >> name >> std::oct >> flags &&
         (flags & O_ACCMODE) != O_RDONLY;
}

}  // namespace

MemoryUse::MemoryUse(std::vector<int> given) : given_(std::move(given)) {
  std::erase_if(given_, [](int descriptor) {
    return !InMemory("/proc/self/fd/" + std::to_string(descriptor));
  });
  for (const int descriptor : given_) {
    struct stat state = {};
    if (fstat(descriptor, &state) == 0) {
      files_.emplace_back(state.st_dev, state.st_ino);
    }
  }
}

int64_t MemoryUse::GivenBytes() const {
  int64_t bytes = 0;
  for (const int descriptor : given_) {
    struct stat state = {};
    if (fstat(descriptor, &state) == 0) bytes += state.st_blocks * kBlock;
  }
  return bytes;
}

void MemoryUse::NoteOwn() { own_ += GivenBytes() - rest_; }

void MemoryUse::NoteRest() { rest_ = GivenBytes(); }

int64_t MemoryUse::Bytes(const std::vector<pid_t>& processes) const {
  Resident resident;
  std::map<File, int64_t> files;
  for (const pid_t process : processes) {
    const Resident one = ResidentOf(process);
    resident.all += one.all;
    resident.shared += one.shared;
    const std::string proc = "/proc/" + std::to_string(process);
    std::error_code error;
    for (fs::directory_iterator at(proc + "/fd", error), end;
         !error && at != end; at.increment(error)) {
      const std::string path = at->path().string();
      struct stat state = {};
      if (stat(path.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) continue;
      const File file = {state.st_dev, state.st_ino};
      if (std::find(files_.begin(), files_.end(), file) != files_.end()) {
        continue;
      }
      const std::string info = at->path().filename().string();
      if (InMemory(path) && ForWriting(proc + "/fdinfo/" + info)) {
        files[file] = state.st_blocks * kBlock;
      }
    }
  }
  // Of these bytes some are resident, and so counted already.
  int64_t in_files = std::max<int64_t>(GivenBytes() - own_, 0);
  for (const auto& [file, bytes] : files) in_files += bytes;
  return resident.all + std::max<int64_t>(in_files - resident.shared, 0);
}

}  // namespace lockstep::verify
