// CUDA's runtime library, opened when a kernel asks for a device: this program
// is not linked with it.
#ifndef LOCKSTEP_VERIFY_HOST_DEVICE_CUDA_RUNTIME_H_
#define LOCKSTEP_VERIFY_HOST_DEVICE_CUDA_RUNTIME_H_

#include <cstddef>
#include <string>

#include "reference/contract/status.h"

namespace lockstep::verify::host {

// Functions of the library, as its own header declares them; 0 is success.
struct CudaRuntime {
  int (*set_device)(int device) = nullptr;
  int (*allocate)(void** memory, size_t bytes) = nullptr;
  int (*release)(void* memory) = nullptr;
  int (*copy)(void* to, const void* from, size_t bytes, int way) = nullptr;
  int (*fill)(void* memory, int byte, size_t bytes) = nullptr;
  int (*synchronize)() = nullptr;
  int (*create_event)(void** event) = nullptr;
  int (*record)(void* event, void* stream) = nullptr;
  int (*milliseconds)(float* between, void* begin, void* end) = nullptr;
  const char* (*text_of)(int error) = nullptr;

  // Errors: there is no libcudart, or it lacks a function.
  static Result<CudaRuntime> Open();
  // Success, or what went wrong in the library's words.
  Status Check(int error) const;
};

// The ways of CudaRuntime::copy.
inline constexpr int kToDevice = 1, kFromDevice = 2;

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_DEVICE_CUDA_RUNTIME_H_
