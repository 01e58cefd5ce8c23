#include "verify/base/io/spool.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace lockstep::verify {
namespace {

namespace fs = std::filesystem;

// Kept in memory up to here: most runs need no file.
constexpr size_t kMostWaiting = size_t{1} << 18;

int OpenUnnamed(const std::string& folder) {
  const int fd = OpenNameless(folder);
  if (fd >= 0) return fd;
  // File systems without nameless files: a name for an instant.
  std::string name = folder + "/.lockstep-XXXXXX";
  const int named = mkstemp(name.data());
  if (named >= 0) unlink(name.c_str());
  return named;
}

Status Failed(int error) {
  return Status::Error(std::string("a temporary file: ") +
                       std::strerror(error));
}

}  // namespace

Spool::~Spool() {
  if (fd_ >= 0) close(fd_);
}

void Spool::Append(std::string_view text) {
  waiting_ += text;
  if (waiting_.size() > kMostWaiting && error_ == 0 && !in_memory_) Flush();
}

void Spool::Flush() {
  std::error_code error;
  if (fd_ < 0 && !folder_.empty()) fd_ = OpenUnnamed(folder_);
  if (fd_ < 0) fd_ = OpenUnnamed(fs::temp_directory_path(error).string());
  if (fd_ < 0) {
    in_memory_ = true;
    return;
  }
  if (!WriteAll(fd_, waiting_)) {
    error_ = errno;
    return;
  }
  on_disk_ += static_cast<int64_t>(waiting_.size());
  waiting_.clear();
}

Status Spool::CopyTo(const Sink& sink) const {
  if (error_ != 0) return Failed(error_);
  std::vector<char> piece(on_disk_ == 0 ? 0 : kMostWaiting);
  for (int64_t at = 0; at < on_disk_;) {
    const ssize_t n = pread(fd_, piece.data(), piece.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Failed(n < 0 ? errno : EIO);
    if (!sink({piece.data(), static_cast<size_t>(n)})) return {};
    at += n;
  }
  sink(waiting_);
  return {};
}

std::string SpoolFolder(const std::string& output) {
  if (output.empty() || output == "-" || IsStream(output)) return "";
  return WhereWritten(output).parent_path().string();
}

}  // namespace lockstep::verify
