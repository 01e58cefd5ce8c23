#include "bench/cache_size.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

namespace lockstep::bench {
namespace {

namespace fs = std::filesystem;

template <typename T>
std::optional<T> Read(const fs::path& file) {
  std::ifstream in(file);
  T value{};
  if (in >> value) return value;
  return std::nullopt;
}

// "32768K" in bytes, 0 if it is nothing like that.
size_t BytesOf(const fs::path& file) {
  std::ifstream in(file);
  size_t count = 0;
  char unit = 0;
  if (!(in >> count)) return 0;
  in >> unit;
  return unit == 'M' ? count << 20 : unit == 'K' ? count << 10 : count;
}

size_t BytesBySysconf(int level) {
  const long bytes = sysconf(level == 1   ? _SC_LEVEL1_DCACHE_SIZE
                             : level == 2 ? _SC_LEVEL2_CACHE_SIZE
                                          : _SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

}  // namespace

size_t CacheBytes(int level, const std::string& folder) {
  bool any = false;
  std::error_code error;
  for (const fs::directory_entry& cache :
       fs::directory_iterator(folder, error)) {
    const auto its_level = Read<int>(cache.path() / "level");
    if (!its_level) continue;
    any = true;
    if (*its_level != level) continue;
    if (Read<std::string>(cache.path() / "type") == "Instruction") continue;
    return BytesOf(cache.path() / "size");
  }
  return any ? 0 : BytesBySysconf(level);
}

}  // namespace lockstep::bench
