#include "verify/base/io/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

namespace lockstep::verify {
namespace fs = std::filesystem;
namespace {

// Closes what it holds.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  bool Close() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 || close(fd) == 0;
  }

 private:
  int fd_;
};

// What an output was when it was held: a descriptor of its folder and its name
// there, or a descriptor of the stream, whose name is empty. As a path below
// /proc both are good for ordinary calls.
struct Held {
  int fd = -1;
  std::string name;

  std::string Path() const {
    const std::string self = "/proc/self/fd/" + std::to_string(fd);
    return name.empty() ? self : self + "/" + name;
  }
};

// They stay until the process ends.
class HeldOutputs {
 public:
  std::optional<Held> Find(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = held_.find(path);
    return found == held_.end() ? std::nullopt : std::optional(found->second);
  }
  void Add(const std::string& path, const Held& held) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_.emplace(path, held);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Held> held_;
};

HeldOutputs& TheHeldOutputs() {
  static HeldOutputs outputs;
  return outputs;
}

// Bytes until the end or the full buffer; -1: an error.
ssize_t ReadAll(int fd, uint8_t* to, size_t most) {
  size_t have = 0;
  while (have < most) {
    const ssize_t n = read(fd, to + have, most - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(have);
}

Status TooLarge(const std::string& path, const std::string& size,
                size_t max_bytes) {
  return Status::Error(path + ": has " + size + " bytes; the most is " +
                       std::to_string(max_bytes));
}

// Of a file whose size is not known before it ends.
Result<std::vector<uint8_t>> ReadToItsEnd(const std::string& path, int fd,
                                          size_t max_bytes) {
  constexpr size_t kPiece = 65536;
  std::vector<uint8_t> bytes;
  while (true) {
    const size_t before = bytes.size();
    bytes.resize(before + kPiece);
    const ssize_t n = ReadAll(fd, bytes.data() + before, kPiece);
    if (n < 0) return Status::Error(path + ": cannot be read");
    bytes.resize(before + static_cast<size_t>(n));
    if (bytes.size() > max_bytes) {
      return TooLarge(path, "more than " + std::to_string(max_bytes),
                      max_bytes);
    }
    if (n == 0) return bytes;
  }
}

Status CannotWrite(const std::string& path, const std::string& reason) {
  return Status::Error(path + ": cannot be written" +
                       (reason.empty() ? "" : ": " + reason));
}

// What a writer's name for an unfinished file has behind that of its target.
constexpr const char* kBeside = ".tmp";

// Whether `name` is "NAME.tmpPID.N" for the target NAME.
bool IsBeside(std::string_view name, const std::string& target) {
  if (!name.starts_with(target + kBeside)) return false;
  name.remove_prefix(target.size() + std::string_view(kBeside).size());
  const size_t dot = name.find('.');
  const auto digits = [](std::string_view text) {
    return !text.empty() &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return dot != name.npos && digits(name.substr(0, dot)) &&
         digits(name.substr(dot + 1));
}

// Removes what writers to `target` left beside it that were killed. A writer
// that lives holds a lock on its file, wherever it runs.
void RemoveLeftovers(const fs::path& target) {
  std::error_code error;
  const std::string name = target.filename().string();
  for (fs::directory_iterator at(target.parent_path(), error), end;
       !error && at != end; at.increment(error)) {
    if (!IsBeside(at->path().filename().string(), name)) continue;
    const std::string path = at->path().string();
    const Descriptor file(
        open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat state = {};
    if (file.get() < 0 || fstat(file.get(), &state) != 0) continue;
    if (!S_ISREG(state.st_mode)) continue;
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
  }
}

// What is written before it has its name.
class Unfinished {
 public:
  explicit Unfinished(const fs::path& target)
      : target_(target), file_(Open(target)) {}
  ~Unfinished() {
    if (!beside_.empty()) unlink(beside_.c_str());
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  bool there() const { return file_.get() >= 0; }
  bool Write(std::string_view bytes) { return WriteAll(file_.get(), bytes); }

  // Gives it the target's name. errno says what is wrong.
  bool Finish() {
    if (beside_.empty() && !Link()) return false;
    const Descriptor locked(dup(file_.get()));  // until it has its name
    if (!file_.Close()) return false;
    if (beside_.empty()) return true;
    if (rename(beside_.c_str(), target_.c_str()) != 0) return false;
    beside_.clear();
    return true;
  }

 private:
  // A name per process and call, so that two writers do not meet; in the same
  // folder, so that the rename stays within one file system.
  std::string NameBeside() const {
    static std::atomic<unsigned> counter{0};
    return target_.string() + kBeside + std::to_string(getpid()) + "." +
           std::to_string(counter++);
  }

  int Open(const fs::path& target) {
    const std::string folder = target.parent_path().string();
    // Without /proc a file without a name can get none.
    if (access("/proc/self/fd", X_OK) == 0) {
      const int fd = OpenNameless(folder);
      if (fd >= 0) flock(fd, LOCK_EX);
      if (fd >= 0) return fd;
    }
    return OpenNamed();
  }

  int OpenNamed() {
    while (true) {
      beside_ = NameBeside();
      const int fd =
          open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
      if (fd < 0) beside_.clear();
      if (fd < 0) return fd;
      // Before it was locked, another writer may have taken it for a leftover.
      struct stat state = {};
      flock(fd, LOCK_EX);
      if (fstat(fd, &state) != 0 || state.st_nlink > 0) return fd;
      close(fd);
    }
  }

  // Straight to the target where that is free, otherwise beside it.
  bool Link() {
    const std::string self = "/proc/self/fd/" + std::to_string(file_.get());
    const auto link_to = [&](const std::string& name) {
      return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(),
                    AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_to(target_.string())) return true;
    if (errno != EEXIST) return false;
    beside_ = NameBeside();
    if (link_to(beside_)) return true;
    beside_.clear();
    return false;
  }

  static constexpr mode_t kMode = 0666;  // less the umask

  const fs::path target_;
  std::string beside_;  // empty: it has no name yet
  Descriptor file_;
};

Status WriteToStream(const std::string& path, const Producer& produce) {
  const std::optional<Held> held = TheHeldOutputs().Find(path);
  Descriptor stream(open(held ? held->Path().c_str() : path.c_str(),
                         O_WRONLY | O_CLOEXEC | O_NOCTTY));
  bool good = stream.get() >= 0;
  int reason = good ? 0 : errno;
  Status produced;
  if (good) {
    produced = produce([&](std::string_view text) {
      good = good && WriteAll(stream.get(), text);
      if (!good && reason == 0) reason = errno;
      return good;
    });
  }
  if (!stream.Close() && good) {
    good = false;
    reason = errno;
  }
  return good ? produced : CannotWrite(path, std::strerror(reason));
}

}  // namespace

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

int OpenNameless(const std::string& folder) {
  return open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
}

Result<std::vector<uint8_t>> ReadWholeFile(const std::string& path,
                                           size_t max_bytes) {
  struct stat state = {};
  const auto failed = [&] {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    return Status::Error(path + ": " +
                         (absent ? "no such file" : std::strerror(errno)));
  };
  if (stat(path.c_str(), &state) != 0) return failed();
  // A pipe or device would block or never end.
  const Status irregular = Status::Error(path + ": not a regular file");
  if (!S_ISREG(state.st_mode)) return irregular;
  // Looked at again when it is open, and opened without waiting: a pipe may
  // have taken its place.
  const Descriptor file(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0 || fstat(file.get(), &state) != 0) return failed();
  if (!S_ISREG(state.st_mode)) return irregular;
  const auto size = static_cast<size_t>(state.st_size);
  if (size == 0) return ReadToItsEnd(path, file.get(), max_bytes);
  if (size > max_bytes) {
    return TooLarge(path, std::to_string(size), max_bytes);
  }
  std::vector<uint8_t> bytes(size);
  if (ReadAll(file.get(), bytes.data(), size) != static_cast<ssize_t>(size)) {
    return Status::Error(path + ": cannot be read");
  }
  return bytes;
}

Result<std::vector<std::string>> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  std::string last = folder;
  for (; !error && at != fs::recursive_directory_iterator();
       at.increment(error)) {
    last = at->path().string();
    std::error_code unknown;  // a link that leads nowhere is no folder
    if (!at->is_directory(unknown)) files.push_back(last);
  }
  if (!error) return files;
  return Status::Error(last + ": cannot be read: " + error.message());
}

fs::path TargetOf(const std::string& path) {
  std::error_code error;
  fs::path target = fs::absolute(path, error);
  constexpr int kMostLinks = 40;  // as the kernel follows
  for (int n = 0; n < kMostLinks && fs::is_symlink(target, error); ++n) {
    const fs::path next = fs::read_symlink(target, error);
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  const fs::path folder = fs::weakly_canonical(target.parent_path(), error);
  return error ? target : folder / target.filename();
}

Status HoldOutput(const std::string& path) {
  // Without /proc an output can only be named.
  const bool named = access("/proc/self/fd", X_OK) != 0;
  if (named || path == "-" || TheHeldOutputs().Find(path)) return {};
  const bool stream = IsStream(path);
  const fs::path target = TargetOf(path);
  const std::string opened = stream ? path : target.parent_path().string();
  const int fd = open(opened.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return CannotWrite(path, std::strerror(errno));
  TheHeldOutputs().Add(path, {fd, stream ? "" : target.filename().string()});
  return {};
}

fs::path WhereWritten(const std::string& path) {
  const std::optional<Held> held = TheHeldOutputs().Find(path);
  return held && !held->name.empty() ? fs::path(held->Path()) : TargetOf(path);
}

bool IsStream(const std::string& path) {
  std::error_code error;
  const std::optional<Held> held = TheHeldOutputs().Find(path);
  if (held) return held->name.empty();
  // It may be a regular file that another process writes to, too.
  if (path.starts_with("/dev/") || path.starts_with("/proc/")) return true;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) &&
         !fs::is_directory(status);
}

Status WriteFileAtomically(const std::string& path, const Producer& produce) {
  if (IsStream(path)) return WriteToStream(path, produce);
  const fs::path target = WhereWritten(path);
  Unfinished file(target);
  if (!file.there()) return CannotWrite(path, std::strerror(errno));
  int reason = 0;
  const Status produced = produce([&](std::string_view text) {
    if (reason == 0 && !file.Write(text)) reason = errno;
    return reason == 0;
  });
  if (reason != 0) return CannotWrite(path, std::strerror(reason));
  if (!produced.ok()) return produced;
  if (!file.Finish()) return CannotWrite(path, std::strerror(errno));
  RemoveLeftovers(target);
  return {};
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes) {
  return WriteFileAtomically(path, [&](const Sink& sink) {
    sink(bytes);
    return Status();
  });
}

}  // namespace lockstep::verify
