#include "verify/files.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace lockstep::verify {
namespace fs = std::filesystem;

Result<std::vector<uint8_t>> ReadWholeFile(const std::string& path,
                                           size_t max_bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return Status::Error(path + ": no such file");
  // A pipe or device would block or never end.
  if (!fs::is_regular_file(status)) {
    return Status::Error(path + ": not a regular file");
  }
  const uintmax_t size = fs::file_size(path, error);
  if (error) return Status::Error(path + ": " + error.message());
  if (size > max_bytes) {
    return Status::Error(path + ": has " + std::to_string(size) +
                         " bytes; the most is " + std::to_string(max_bytes));
  }
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!file || file.gcount() != static_cast<std::streamsize>(bytes.size())) {
    return Status::Error(path + ": cannot be read");
  }
  return bytes;
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes) {
  // Same directory, so that the rename stays within one file system; a name
  // per process and call, so that two writers do not meet.
  static std::atomic<unsigned> counter{0};
  const std::string beside = path + ".tmp" + std::to_string(getpid()) + "." +
                             std::to_string(counter++);
  std::error_code error;
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
      fs::remove(beside, error);
      return Status::Error(path + ": cannot be written");
    }
  }
  fs::rename(beside, path, error);
  if (error) {
    const std::string reason = error.message();
    fs::remove(beside, error);
    return Status::Error(path + ": cannot be written: " + reason);
  }
  return {};
}

}  // namespace lockstep::verify
