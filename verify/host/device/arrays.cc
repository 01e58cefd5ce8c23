#include "verify/host/device/arrays.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace lockstep::verify::host {
namespace {

constexpr int64_t kAlignment = 256;  // of what a device allocates, bytes
constexpr int64_t kLargestGaps = int64_t{1} << 30;  // of one tensor, bytes
constexpr int64_t kRedZone = 4096;  // on each side of an output, bytes
constexpr uint8_t kRed = 0xa5;      // what it holds
constexpr int kGone = 0xff;         // what inputs hold after a call

int64_t RoundedUp(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// The first byte in which the two differ; -1: none.
int64_t FirstDifference(const std::vector<uint8_t>& a,
                        const std::vector<uint8_t>& b) {
  const auto found = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return found.first == a.end() ? -1 : found.first - a.begin();
}

// The place that holds the byte, or that lies nearest.
template <typename Places>
const auto& NearestTo(const Places& places, int64_t byte) {
  const auto distance = [&](const auto& place) {
    return std::max(place.offset - byte,
                    byte - place.offset - place.tensor.bytes + 1);
  };
  return *std::min_element(
      places.begin(), places.end(),
      [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
}

Result<int> NumberOf(const std::string& device) {
  constexpr std::string_view kKind = "cuda";
  int number = 0;
  if (device == kKind) return number;
  const char* first = device.data() + kKind.size() + 1;
  const char* last = device.data() + device.size();
  if (device.starts_with("cuda:") && first < last) {
    const auto [stop, error] = std::from_chars(first, last, number);
    if (error == std::errc() && stop == last && number >= 0) return number;
  }
  return Status::Error("describes device as '" + device +
                       "': want \"cuda\" or \"cuda:N\"");
}

}  // namespace

std::string WhyNotOnADevice(const std::vector<DeviceTensor>& tensors) {
  for (const DeviceTensor& tensor : tensors) {
    if (tensor.gaps <= kLargestGaps) continue;
    return std::string(tensor.name) + " reaches over " +
           std::to_string(tensor.bytes >> 30) +
           " GiB, nearly all of it gaps, which a device would have to hold";
  }
  return "";
}

Result<std::unique_ptr<DeviceArrays>> DeviceArrays::Open(
    const std::string& device) {
  const Result<int> number = NumberOf(device);
  if (!number.ok()) return number.status();
  const Result<CudaRuntime> cuda = CudaRuntime::Open();
  if (!cuda.ok()) return cuda.status();
  std::unique_ptr<DeviceArrays> arrays(
      new DeviceArrays(cuda.value(), "cuda:" + std::to_string(number.value())));
  const Status started = arrays->Start(number.value());
  if (!started.ok()) {
    return Status::Error(arrays->name_ + ": " + started.message());
  }
  return arrays;
}

DeviceArrays::~DeviceArrays() {
  for (const Block* block : {&inputs_[0], &inputs_[1], &outputs_}) {
    if (block->memory != nullptr) cuda_.release(block->memory);
  }
}

// Its threads and memory are there before a kernel's are counted.
Status DeviceArrays::Start(int device) {
  int error = cuda_.set_device(device);
  if (error == 0) error = cuda_.release(nullptr);
  for (void** event : {&begin_, &end_}) {
    if (error == 0) error = cuda_.create_event(event);
  }
  return cuda_.Check(error);
}

Status DeviceArrays::Upload(Block* block, int64_t bytes) {
  block->staged.assign(static_cast<size_t>(std::max(bytes, kAlignment)), kRed);
  for (const Place& place : block->places) {
    std::copy_n(place.tensor.host, place.tensor.bytes,
                block->staged.begin() + place.offset);
  }
  const size_t size = block->staged.size();
  int error = 0;
  if (std::cmp_less(block->capacity, size)) {
    if (block->memory != nullptr) error = cuda_.release(block->memory);
    void* memory = nullptr;
    if (error == 0) error = cuda_.allocate(&memory, size);
    block->memory = static_cast<uint8_t*>(memory);
    block->capacity = error == 0 ? static_cast<int64_t>(size) : 0;
  }
  if (error == 0) {
    error = cuda_.copy(block->memory, block->staged.data(), size, kToDevice);
  }
  return cuda_.Check(error);
}

Status DeviceArrays::Download(const Block& block,
                              std::vector<uint8_t>* contents) const {
  contents->resize(block.staged.size());
  return cuda_.Check(cuda_.copy(contents->data(), block.memory,
                                contents->size(), kFromDevice));
}

Status DeviceArrays::Enter(const std::vector<DeviceTensor>& tensors) {
  turn_ = 1 - turn_;
  for (Block* block : {&inputs_[turn_], &outputs_}) {
    const bool in = block != &outputs_;
    block->places.clear();
    int64_t end = 0;
    for (const DeviceTensor& tensor : tensors) {
      if (tensor.input != in) continue;
      const auto misaligned = static_cast<int64_t>(
          reinterpret_cast<uintptr_t>(tensor.host) % kAlignment);
      const int64_t offset = RoundedUp(end + (in ? 0 : kRedZone)) + misaligned;
      block->places.push_back({tensor, offset});
      end = offset + tensor.bytes;
    }
    const Status uploaded = Upload(block, RoundedUp(end + kRedZone));
    if (!uploaded.ok()) return uploaded;
    for (const Place& place : block->places) {
      *place.tensor.data = block->memory + place.offset;
    }
  }
  return cuda_.Check(cuda_.record(begin_, nullptr));
}

DeviceAnswer DeviceArrays::Leave(bool done) {
  DeviceAnswer answer;
  Status status = cuda_.Check(cuda_.record(end_, nullptr));
  if (status.ok() && done) status = Fetch(&answer);
  if (status.ok()) status = cuda_.Check(cuda_.synchronize());
  float milliseconds = 0;
  if (status.ok()) {
    status = cuda_.Check(cuda_.milliseconds(&milliseconds, begin_, end_));
  }
  if (status.ok()) {
    status =
        cuda_.Check(cuda_.fill(inputs().memory, kGone, inputs().staged.size()));
  }
  answer.seconds = milliseconds / 1e3;
  if (!status.ok()) {
    answer = {"error",
              status.message() + ", seen when the host waited for " + name_,
              true, 0};
  }
  return answer;
}

Status DeviceArrays::Fetch(DeviceAnswer* answer) {
  // What a caller that copies at once finds, then what the device has left.
  std::vector<uint8_t> early, late;
  Status status = Download(outputs_, &early);
  if (status.ok()) status = cuda_.Check(cuda_.synchronize());
  if (status.ok()) status = Download(outputs_, &late);
  if (!status.ok()) return status;
  if (const int64_t byte = FirstDifference(early, late); byte >= 0) {
    answer->kind = "stream";
    answer->message =
        std::string(NearestTo(outputs_.places, byte).tensor.name) +
        " was not ready when the kernel returned: work on "
        "another stream was not waited for";
    return {};
  }
  std::vector<uint8_t> expected(late.size(), kRed);
  for (const Place& place : outputs_.places) {
    std::copy_n(late.begin() + place.offset, place.tensor.bytes,
                expected.begin() + place.offset);
  }
  if (const int64_t byte = FirstDifference(expected, late); byte >= 0) {
    const Place& place = NearestTo(outputs_.places, byte);
    answer->kind = "outside";
    answer->message = std::string("wrote outside of ") + place.tensor.name +
                      ", " + (byte < place.offset ? "before it" : "behind it");
    return {};
  }
  for (const Place& place : outputs_.places) {
    std::copy_n(late.begin() + place.offset, place.tensor.bytes,
                place.tensor.host);
  }
  return CheckInputs(answer);
}

Status DeviceArrays::CheckInputs(DeviceAnswer* answer) const {
  std::vector<uint8_t> contents;
  const Status status = Download(inputs(), &contents);
  if (!status.ok()) return status;
  const int64_t byte = FirstDifference(inputs().staged, contents);
  if (byte < 0) return {};
  answer->kind = "inputs";
  answer->message = std::string("wrote into its input ") +
                    NearestTo(inputs().places, byte).tensor.name;
  return {};
}

}  // namespace lockstep::verify::host
