#include "verify/host/device/wait.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>

namespace lockstep::verify::host {
namespace {

using Wait = int (*)();

struct Runtime {
  const char* library;
  const char* wait;
};
constexpr Runtime kRuntimes[] = {{"libcuda.so.1", "cuCtxSynchronize"},
                                 {"libamdhip64.so.7", "hipDeviceSynchronize"},
                                 {"libamdhip64.so.6", "hipDeviceSynchronize"},
                                 {"libamdhip64.so.5", "hipDeviceSynchronize"}};

// How many libraries this process has loaded so far: costs no call of the
// system, and is asked after each call of a kernel.
unsigned long long LibrariesLoaded() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        *static_cast<unsigned long long*>(to) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

Wait FindWait() {
  for (const Runtime& runtime : kRuntimes) {
    void* library = dlopen(runtime.library, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const auto wait = reinterpret_cast<Wait>(dlsym(library, runtime.wait));
    if (wait != nullptr) return wait;
    dlclose(library);
  }
  return nullptr;
}

}  // namespace

bool WaitForDevice() {
  static unsigned long long loaded = 0;
  static Wait wait = nullptr;
  const unsigned long long now = LibrariesLoaded();
  if (wait == nullptr && now != loaded) wait = FindWait();
  loaded = now;
  constexpr int kDone = 0;
  return wait != nullptr && wait() == kDone;
}

}  // namespace lockstep::verify::host
