#include "fuzz/shard_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "verify/base/io/files.h"
#include "verify/base/status_macros.h"

namespace lockstep::fuzz {
namespace {

constexpr int kFlushEvery = 64;  // records

}  // namespace

Status ShardWriter::Open(const std::string& folder,
                         const CampaignHeader& header, Plan* plan) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  path_ = ShardPath(folder, header.shard);
  // To open a pipe without a reader would wait for ever, and a link may be the
  // kernel's, which runs by now.
  constexpr int kFlags =
      O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW;
  const int fd = open(path_.c_str(), kFlags, 0666);
  struct stat kind = {};
  if (fd >= 0 && fstat(fd, &kind) == 0) file_.reset(fdopen(fd, "ab"));
  if (file_ == nullptr) {
    if (fd >= 0) close(fd);
    const char* why = errno == ELOOP ? "it is a link" : std::strerror(errno);
    return Status::Error("cannot write " + path_ + ": " + why);
  }
  if (!S_ISREG(kind.st_mode)) {
    return Status::Error(path_ + " is not a regular file; give another --out");
  }
  // The kernel lets go of the lock when the process ends, however it ends.
  if (flock(fileno(file_.get()), LOCK_EX | LOCK_NB) != 0) {
    return Status::Error(path_ +
                         " is being written by another process; wait for it, "
                         "or give another --out");
  }
  if (fstat(fileno(file_.get()), &kind) != 0) {
    return Status::Error("cannot read " + path_);
  }
  if (kind.st_size > 0) {
    ASSIGN_OR_RETURN(const bool begun, Resume(header, plan));
    if (begun) return {};
  }
  return Write(HeaderLine(header), true);
}

Status ShardWriter::Close() {
  std::FILE* file = file_.release();
  return file == nullptr || std::fclose(file) == 0
             ? Status()
             : Status::Error("cannot write " + path_);
}

Status ShardWriter::Write(const std::string& line, bool now) {
  bool good = file_ != nullptr && std::fwrite(line.data(), 1, line.size(),
                                              file_.get()) == line.size();
  // A kill loses at most what has not been flushed, and that is drawn again.
  if (good && (now || ++pending_ >= kFlushEvery)) {
    good = std::fflush(file_.get()) == 0;
    pending_ = 0;
  }
  return good ? Status() : Status::Error("cannot write " + path_);
}

Result<bool> ShardWriter::Resume(const CampaignHeader& header, Plan* plan) {
  const Status bad = Status::Error("cannot write " + path_);
  ASSIGN_OR_RETURN(const auto bytes,
                   verify::ReadWholeFile(path_, size_t{1} << 34));
  const std::string text(bytes.begin(), bytes.end());
  const int fd = fileno(file_.get());
  if (text.find('\n') == std::string::npos) {  // killed in its first line
    if (ftruncate(fd, 0) != 0) return bad;
    return false;
  }
  ASSIGN_OR_RETURN(const ShardFile file, ParseShardFile(text, path_));
  if (!file.header.SameCampaign(header)) {
    return Status::Error(path_ +
                         " is of another campaign; give the same options, "
                         "or another --out");
  }
  for (const auto& [index, record] : file.records) {
    plan->done.insert(index);
    if (record.verdict != verify::VerdictName(verify::Verdict::kSkipped)) {
      plan->met.insert(index);
    }
    CountRecord(record, &plan->before);
    if (!record.signature.empty()) {
      plan->known_faults.insert(record.signature);
    }
  }
  if (ftruncate(fd, static_cast<off_t>(file.good_bytes)) != 0) return bad;
  return true;
}

}  // namespace lockstep::fuzz
