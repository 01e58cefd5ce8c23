// The tensors of one call in memory of a device, for kernels that take pointers
// of it: there before the call, back after it.
#ifndef LOCKSTEP_VERIFY_HOST_DEVICE_ARRAYS_H_
#define LOCKSTEP_VERIFY_HOST_DEVICE_ARRAYS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "verify/host/device/cuda_runtime.h"

namespace lockstep::verify::host {

// What a call left on the device: `kind` as an error of docs/wire.md has it,
// empty where nothing is wrong.
struct DeviceAnswer {
  std::string kind;
  std::string message;
  bool lost = false;   // the device itself failed: nothing more can be computed
  double seconds = 0;  // between the events before the call and after it
};

// A tensor of a call: its memory on the CPU, gaps too, and the pointer that the
// kernel gets.
struct DeviceTensor {
  const char* name;
  bool input;
  uint8_t* host;
  int64_t bytes;
  int64_t gaps;  // bytes of them that hold no element
  void** data;
};

// The sentence that refuses gaps of more than 2^30 bytes; empty where there are
// none. They take no memory on the CPU, and would on a device.
std::string WhyNotOnADevice(const std::vector<DeviceTensor>& tensors);

class DeviceArrays {
 public:
  // `device`: "cuda" or "cuda:N". Errors: there is none, or no libcudart.
  static Result<std::unique_ptr<DeviceArrays>> Open(const std::string& device);
  ~DeviceArrays();
  DeviceArrays(const DeviceArrays&) = delete;
  DeviceArrays& operator=(const DeviceArrays&) = delete;

  const std::string& name() const { return name_; }

  // Copies the tensors to the device, gaps and alignments too, and has their
  // pointers point there. Errors: those of the device.
  Status Enter(const std::vector<DeviceTensor>& tensors);
  // Waits for the device. Of a call that was `done`, checks what it wrote and
  // copies its outputs to where the judge looks for them. Inputs are gone.
  DeviceAnswer Leave(bool done);

 private:
  struct Place {
    DeviceTensor tensor;
    int64_t offset;  // in the block
  };
  // Tensors side by side in one piece of memory.
  struct Block {
    std::vector<Place> places;
    std::vector<uint8_t> staged;  // in memory of the CPU
    uint8_t* memory = nullptr;
    int64_t capacity = 0;
  };

  DeviceArrays(const CudaRuntime& cuda, std::string name)
      : cuda_(cuda), name_(std::move(name)) {}
  Status Start(int device);
  Status Upload(Block* block, int64_t bytes);
  Status Download(const Block& block, std::vector<uint8_t>* contents) const;
  Status Fetch(DeviceAnswer* answer);
  Status CheckInputs(DeviceAnswer* answer) const;
  const Block& inputs() const { return inputs_[turn_]; }

  const CudaRuntime cuda_;
  std::string name_;
  // Input buffers take turns, so a pointer that a kernel keeps leads to stale
  // memory.
  Block inputs_[2];
  Block outputs_;
  int turn_ = 0;
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_DEVICE_ARRAYS_H_
