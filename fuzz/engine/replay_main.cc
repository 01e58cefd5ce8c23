// A main without an engine: runs the target on files, or on all files below
// folders; in a file *.cases or *.lines each line is an input.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "fuzz/engine/engine.h"
#include "verify/base/io/files.h"

namespace {

constexpr size_t kMaxInput = size_t{1} << 30;

void RunText(const std::string& text, long* inputs) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()),
                         text.size());
  ++*inputs;
}

bool RunFile(const std::filesystem::path& path, long* inputs) {
  const auto bytes = lockstep::verify::ReadWholeFile(path, kMaxInput);
  if (!bytes.ok()) {
    std::fprintf(stderr, "lockstep: %s\n", bytes.message().c_str());
    return false;
  }
  const std::string text(bytes.value().begin(), bytes.value().end());
  if (path.extension() != ".cases" && path.extension() != ".lines") {
    RunText(text, inputs);
    return true;
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at && text[at] != '#') RunText(text.substr(at, end - at), inputs);
    at = end + 1;
  }
  return true;
}

std::vector<std::filesystem::path> FilesOf(const char* argument) {
  std::error_code error;
  if (!std::filesystem::is_directory(argument, error)) return {argument};
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(argument, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  long inputs = 0;
  bool read = true;
  for (int n = 1; n < argc; ++n) {
    for (const auto& path : FilesOf(argv[n])) {
      read = RunFile(path, &inputs) && read;
    }
  }
  std::printf("%ld inputs\n", inputs);
  return read && inputs > 0 ? 0 : 2;
}
