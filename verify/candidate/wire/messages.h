// The messages of docs/wire.md as values and as lines of JSON.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIRE_MESSAGES_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIRE_MESSAGES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/inputs/named_tensor.h"

namespace lockstep::verify {

inline constexpr const char* kWireVersion = "1.0";
inline constexpr size_t kMostLine = size_t{1} << 20;

// What a host says about itself.
struct HostHello {
  std::string wire;
  std::string name, version, commit;
  std::vector<std::string> ops;
  std::vector<std::string> lanes;  // none: f32 and bf16
  std::vector<std::string> features;
  std::string profile;
  std::vector<std::string> wants;
  std::vector<std::string> lacks;
  std::vector<int> threads, splits;
  int64_t alignment = 0;  // bytes; 0: of an element
  // "none": the kernel runs in the process that started the judge, and the host
  // stands in for it.
  std::string isolation = "process";

  bool Has(std::string_view feature) const;
  bool Lacks(std::string_view output) const;
};
// Errors: no hello, a field that is missing or of another type, a version that
// is not ours.
Result<HostHello> ParseHello(std::string_view line);
std::string HelloLine(const std::string& judge, int64_t in_bytes,
                      int64_t out_bytes);

// Where a tensor lies in shared memory, strides in bytes.
struct PlacedTensor {
  std::string name;
  ElementType type = ElementType::kF32;
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  // Of an output: its own pages.
  int64_t first_page = 0;
  int64_t page_bytes = 0;
};

struct CallMessage {
  int64_t id = 0;
  std::string case_line;
  const KernelInputs* inputs = nullptr;  // op, scalars and masks
  std::span<const PlacedTensor> placed_inputs;
  std::span<const PlacedTensor> placed_outputs;
  // Of block_plan, in place of outputs: where tables go.
  std::optional<std::array<int64_t, 2>> tables;  // offset, bytes
  std::optional<int> threads, splits;            // variation
};
// One line with its end.
std::string CallLine(const CallMessage& call);
std::string ResetLine(int64_t id);
std::string ByeLine();
// A call without places, for hosts that read files; pretty.
std::string CallFile(const KernelInputs& inputs, const std::string& case_line,
                     const std::vector<NamedOutput>& outputs);

struct WireReceipt {
  std::string backend, target, fallback_reason, guards;
  std::string kept;  // inputs that the kernel still holds: "k, v"
  std::optional<int64_t> threads;
  std::optional<std::array<int64_t, 2>> tile;
  std::optional<int64_t> tiles_full, tiles_partial, tiles_empty;
  std::optional<double> seconds, processor_seconds;
  std::string clock;          // whose they are: "device", "kernel" or nothing
  bool synchronised = false;  // the host has waited for the device
  std::optional<std::string> rounding;
  bool ftz = false;
  bool daz = false;
  int64_t threads_left = 0;
  int64_t children_left = 0;
  friend bool operator==(const WireReceipt&, const WireReceipt&) = default;
};

struct WireTable {
  std::string name, type;
  int64_t offset = 0;
  std::vector<int64_t> shape;
  friend bool operator==(const WireTable&, const WireTable&) = default;
};

struct WireReply {
  enum class Kind : uint8_t { kDone, kUnsupported, kError, kBye };
  Kind kind = Kind::kDone;
  int64_t id = 0;
  std::string message;     // reason or message
  std::string error_kind;  // "error", "exception", ...
  bool fatal = false;
  // Of an error: outputs that the kernel turned out not to have.
  std::vector<std::string> lacks;
  WireReceipt receipt;
  std::vector<WireTable> tables;
  friend bool operator==(const WireReply&, const WireReply&) = default;
};
// Errors: torn lines, unknown types, fields of another type.
Result<WireReply> ParseReply(std::string_view line);
// Its two halves: an answer in a form that lockstep-host gives to calls and
// resets, or nothing; and whatever else, by the JSON library. Where both read,
// they read the same.
std::optional<WireReply> QuickReply(std::string_view line);
Result<WireReply> ParseAnyReply(std::string_view line);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIRE_MESSAGES_H_
