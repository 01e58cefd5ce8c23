#include "verify/host/device/cuda_runtime.h"

#include <dlfcn.h>

namespace lockstep::verify::host {
namespace {

// A kernel may have loaded one already; else the newest that is found.
constexpr const char* kNames[] = {"libcudart.so", "libcudart.so.13",
                                  "libcudart.so.12", "libcudart.so.11.0"};

void* OpenLibrary() {
  for (const int only_loaded : {RTLD_NOLOAD, 0}) {
    for (const char* name : kNames) {
      void* library = dlopen(name, RTLD_NOW | only_loaded);
      if (library != nullptr) return library;
    }
  }
  return nullptr;
}

}  // namespace

Result<CudaRuntime> CudaRuntime::Open() {
  void* library = OpenLibrary();
  if (library == nullptr) {
    return Status::Error(
        "device = cuda needs libcudart.so of the CUDA toolkit, and there is "
        "none on the path of shared libraries (LD_LIBRARY_PATH)");
  }
  CudaRuntime runtime;
  std::string missing;
  const auto find = [&](const char* name, auto* function) {
    void* found = dlsym(library, name);
    if (found == nullptr && missing.empty()) missing = name;
    *function =
        reinterpret_cast<std::remove_reference_t<decltype(*function)>>(found);
  };
  find("cudaSetDevice", &runtime.set_device);
  find("cudaMalloc", &runtime.allocate);
  find("cudaFree", &runtime.release);
  find("cudaMemcpy", &runtime.copy);
  find("cudaMemset", &runtime.fill);
  find("cudaDeviceSynchronize", &runtime.synchronize);
  find("cudaEventCreate", &runtime.create_event);
  find("cudaEventRecord", &runtime.record);
  find("cudaEventElapsedTime", &runtime.milliseconds);
  find("cudaGetErrorString", &runtime.text_of);
  if (!missing.empty()) {
    return Status::Error("libcudart has no function " + missing);
  }
  return runtime;
}

Status CudaRuntime::Check(int error) const {
  if (error == 0) return {};
  return Status::Error(std::string("CUDA: ") + text_of(error));
}

}  // namespace lockstep::verify::host
