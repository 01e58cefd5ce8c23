// Preloaded by robust_test.py: notes in the file $SHM_NAMES which names of
// shared memory a program and its children open ("+ NAME") and remove ("-
// NAME").
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

void Note(const char* sign, const char* name) {
  const char* path = std::getenv("SHM_NAMES");
  const int file =
      path == nullptr ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (file < 0) return;
  const std::string line = std::string(sign) + name + "\n";
  if (write(file, line.data(), line.size()) < 0) std::abort();
  close(file);
}

}  // namespace

extern "C" int shm_open(const char* name, int flags, mode_t mode) {
  static const auto real = reinterpret_cast<int (*)(const char*, int, mode_t)>(
      dlsym(RTLD_NEXT, "shm_open"));
  Note("+ ", name);
  return real(name, flags, mode);
}

extern "C" int shm_unlink(const char* name) {
  static const auto real =
      reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_NEXT, "shm_unlink"));
  Note("- ", name);
  return real(name);
}
