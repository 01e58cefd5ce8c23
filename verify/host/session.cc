#include "verify/host/session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "verify/host/device/wait.h"
#include "verify/host/enter.h"
#include "verify/host/replies.h"

namespace lockstep::verify::host {
namespace {

// A receipt of a later minor version is longer than ours: room for that.
constexpr size_t kRoomOfReceipt = 4096;

// For Lost(), which has no other way to know: the wire, and the call.
int answers_of_lost = -1;
int64_t id_of_lost = 0;

// False: there is no reader.
bool WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(descriptor, text.data(), text.size());
    if (put < 0 && errno != EINTR) return false;
    if (put > 0) text.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

// Where a longjmp has led back into a call that had already returned.
void Lost() {
  WriteAll(answers_of_lost,
           LineOf(Fatal(id_of_lost, "longjmp",
                        "jumped into a call that had already returned")));
  _exit(EXIT_FAILURE);
}

template <size_t kSize>
std::string TextOf(const char (&text)[kSize]) {
  return {text, std::find(text, text + kSize, '\0')};
}

// An object of JSON, put together as text: one is written for every call.
class ObjectText {
 public:
  void Text(const char* name, const std::string& value) {
    const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
      return c >= ' ' && c <= '~' && c != '"' && c != '\\';
    });
    if (plain) return Add(name, "\"" + value + "\"");
    // What a kernel says need not be UTF-8.
    Add(name, Json(value).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  void Integer(const char* name, int64_t value) {
    Add(name, std::to_string(value));
  }
  void Real(const char* name, double value) {
    // JSON has no word for what is no number.
    if (!std::isfinite(value)) {
      return Text(name, std::isnan(value) ? "nan" : "inf");
    }
    char digits[32];
    const char* end = std::to_chars(digits, std::end(digits), value).ptr;
    Add(name, std::string_view(digits, static_cast<size_t>(end - digits)));
  }
  // Whatever is JSON.
  void Add(const char* name, std::string_view value) {
    text_.append(text_.empty() ? "\"" : ",\"").append(name);
    text_.append("\":").append(value);
  }
  std::string Take() { return "{" + std::move(text_) + "}"; }

 private:
  std::string text_;
};

std::string FloatStateText(const FloatState& state) {
  ObjectText fp;
  fp.Text("rounding", state.rounding);
  fp.Add("ftz", state.ftz ? "true" : "false");
  fp.Add("daz", state.daz ? "true" : "false");
  return fp.Take();
}

// Whose seconds they are: the kernel's, where it told some, otherwise ours.
void AddTimes(const lockstep_receipt& told, const Left& left, bool waited,
              ObjectText* receipt) {
  if (!(told.seconds < 0)) {
    receipt->Real("seconds", told.seconds);
    receipt->Text("clock", told.device_clock != 0 ? "device" : "kernel");
    if (waited) receipt->Add("synchronised", "true");
    return;
  }
  receipt->Real("seconds", left.seconds);
  if (left.processor_seconds) {
    receipt->Real("processor_seconds", *left.processor_seconds);
  }
}

std::string ReceiptOf(const lockstep_receipt& told, const Left& left,
                      bool waited) {
  ObjectText receipt;
  const FloatState state = ReadFloatState();
  RestoreFloatState();
  receipt.Text("guards", "pages");
  AddTimes(told, left, waited, &receipt);
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) receipt.Text(name, value);
  };
  text("backend", TextOf(told.backend));
  text("target", TextOf(told.target));
  text("fallback_reason", TextOf(told.fallback_reason));
  if (told.threads != 0) receipt.Integer("threads", told.threads);
  if (told.tile_q != 0) {
    receipt.Add("tile", "[" + std::to_string(told.tile_q) + "," +
                            std::to_string(told.tile_k) + "]");
  }
  const auto count = [&](const char* name, int64_t value) {
    if (value >= 0) receipt.Integer(name, value);
  };
  count("tiles_full", told.tiles_full);
  count("tiles_partial", told.tiles_partial);
  count("tiles_empty", told.tiles_empty);
  receipt.Add("fp", FloatStateText(state));
  return receipt.Take();
}

std::string LeftText(const Leftovers& left) {
  ObjectText text;
  text.Integer("threads", left.threads);
  text.Integer("children", left.children);
  return text.Take();
}

ObjectText DoneText(int64_t id, const std::string& receipt) {
  ObjectText done;
  done.Text("type", "done");
  done.Integer("id", id);
  done.Add("receipt", receipt);
  return done;
}

lockstep_receipt* FreshReceipt() {
  alignas(lockstep_receipt) static char room[kRoomOfReceipt];
  std::fill(std::begin(room), std::end(room), '\0');
  auto* receipt = reinterpret_cast<lockstep_receipt*>(room);
  receipt->size = sizeof(lockstep_receipt);
  receipt->abi = LOCKSTEP_ABI;
  receipt->seconds = -1;
  receipt->tiles_full = receipt->tiles_partial = receipt->tiles_empty = -1;
  return receipt;
}

}  // namespace

bool Session::ReadLine(std::string* line) {
  while (true) {
    const size_t end = received_.find('\n');
    if (end != std::string::npos) {
      *line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return true;
    }
    char block[16384];
    const ssize_t got = read(wire_.calls, block, sizeof(block));
    if (got == 0 || (got < 0 && errno != EINTR)) return false;
    if (got > 0) received_.append(block, static_cast<size_t>(got));
  }
}

bool Session::Answer(const std::string& line) const {
  if (WriteAll(wire_.answers, line)) return true;
  std::fprintf(stderr, "lockstep-host: the wire is closed: %s\n",
               std::strerror(errno));
  return false;
}

int Session::Serve() {
  answers_of_lost = wire_.answers;
  for (std::string line; ReadLine(&line);) {
    if (!message_.Read(std::move(line))) return EXIT_FAILURE;
    if (!Answer(Handle())) return EXIT_FAILURE;
    if (bye_) return EXIT_SUCCESS;
    // Nothing can be judged by what could not be loaded.
    if (!loaded_) return EXIT_FAILURE;
  }
  return EXIT_FAILURE;
}

std::string Session::Handle() {
  const std::string_view type = message_.root()["type"].Text();
  const int64_t id = message_.root()["id"].Integer();
  id_of_lost = id;
  if (type == "call") return Call(id);
  if (type == "hello") return LineOf(Hello());
  if (type == "reset") return Reset(id);
  if (type == "bye") {
    bye_ = true;
    // No reader is left for what a kernel throws.
    std::string ignored;
    ObjectText bye;
    bye.Text("type", "bye");
    bye.Add("left", LeftText(Close(&ignored)));
    return bye.Take() + "\n";
  }
  return LineOf(
      Error(id, "error", "unknown message '" + std::string(type) + "'"));
}

Json Session::Hello() {
  const Field message = message_.root();
  auto files = SharedFiles::Map(wire_.in, message["in"]["bytes"].Integer(),
                                wire_.out, message["out"]["bytes"].Integer());
  if (!files.ok()) return Error(0, "error", files.message());
  files_ = std::move(files.value());
  Result<Library> library = Library::Load(path_);
  if (!library.ok()) return Error(0, "error", library.message());
  library_ = std::move(library.value());
  if (!library_.device.empty()) {
    auto device = DeviceArrays::Open(library_.device);
    if (!device.ok()) return Error(0, "error", path_ + ": " + device.message());
    device_ = std::move(device.value());
  }
  threads_.emplace();
  WatchFaults(wire_.answers,
              {"inputs", files_.in(), files_.in() + files_.in_bytes()},
              {"outputs", files_.out(), files_.out() + files_.out_bytes()});
  loaded_ = true;
  return library_.hello;
}

std::string Session::Open() {
  if (opened_ || library_.open == nullptr) return "";
  std::vector<const char*> words;
  for (const std::string& word : arguments_) words.push_back(word.c_str());
  const Left left = Enter(
      [&] {
        return library_.open(static_cast<int>(words.size()), words.data(),
                             &handle_);
      },
      Lost);
  if (left.exception) return "lockstep_open threw: " + left.message;
  if (left.code != 0) {
    return "lockstep_open returned " + std::to_string(left.code);
  }
  opened_ = true;
  return "";
}

std::string Session::Call(int64_t id) {
  const std::string why = Open();
  if (!why.empty()) return LineOf(Error(id, "open", why));
  CallReader in(&message_, &files_);
  const std::string op(message_.root()["op"].Text());
  PreparedCall call;
  if (op == "attention_forward") {
    call = PrepareAttentionForward(library_, handle_, &in);
  } else if (op == "attention_backward") {
    call = PrepareAttentionBackward(library_, handle_, &in);
  } else if (op == "attention_merge") {
    call = PrepareAttentionMerge(library_, handle_, &in);
  } else if (op == "mamba3_scan") {
    call = PrepareMamba3Scan(library_, handle_, &in);
  } else if (op == "mamba3_scan_backward") {
    call = PrepareMamba3ScanBackward(library_, handle_, &in);
  } else if (op == "mamba3_step") {
    call = PrepareMamba3Step(library_, handle_, &in);
  } else if (op == "ssd_scan") {
    call = PrepareSsdScan(library_, handle_, &in);
  } else if (op == "block_plan") {
    call = PrepareBlockPlan(library_, handle_, &in);
  }
  if (!in.status().ok()) {
    return LineOf(Error(id, "error",
                        "the call cannot be read: " + in.status().message()));
  }
  if (!call.kernel) {
    return LineOf(Unsupported(id, path_ + " does not compute " + op));
  }
  return MakeCall(id, &in, call);
}

std::string Session::MakeCall(int64_t id, CallReader* in,
                              const PreparedCall& call) {
  if (device_) {
    const std::vector<DeviceTensor> tensors = in->DeviceTensors();
    const std::string why = WhyNotOnADevice(tensors);
    if (!why.empty()) return LineOf(Unsupported(id, why));
    const Status entered = device_->Enter(tensors);
    if (!entered.ok()) return LineOf(Fatal(id, "error", entered.message()));
  }
  BeginAreas(id, in->areas());
  lockstep_receipt* receipt = FreshReceipt();
  bool waited = false;
  const Left left = Enter(
      [&] {
        const int code = call.kernel(receipt);
        // With arrays there, only after a look at what is ready.
        waited = device_ != nullptr || WaitForDevice();
        return code;
      },
      Lost);
  EndAreas();
  // What it has printed would be lost if it ends later.
  std::fflush(stdout);
  const bool returned = !left.exception && left.code == LOCKSTEP_DONE;
  const std::string wrong =
      device_ ? LeaveDevice(id, returned, receipt) : std::string();
  // Whatever it returned, the state that it left has to be set back.
  const std::string told = ReceiptOf(*receipt, left, waited);
  if (left.exception) {
    return LineOf(Error(id, "exception", left.message));
  }
  const std::string message = TextOf(receipt->message);
  if (left.code == LOCKSTEP_UNSUPPORTED) {
    return LineOf(Unsupported(id, message));
  }
  if (!wrong.empty()) return wrong;
  if (left.code != LOCKSTEP_DONE) {
    const std::string code = "returned " + std::to_string(left.code);
    return LineOf(Error(id, "error", message.empty() ? code : message));
  }
  ObjectText done = DoneText(id, told);
  if (call.tables) {
    done.Add("tables", call.tables().dump(-1, ' ', false,
                                          Json::error_handler_t::replace));
  }
  return done.Take() + "\n";
}

std::string Session::LeaveDevice(int64_t id, bool done,
                                 lockstep_receipt* receipt) {
  const DeviceAnswer answer = device_->Leave(done);
  if (!answer.kind.empty()) {
    const char* kind = answer.kind.c_str();
    return LineOf(answer.lost ? Fatal(id, kind, answer.message)
                              : Error(id, kind, answer.message));
  }
  if (receipt->seconds < 0) {
    receipt->seconds = answer.seconds;
    receipt->device_clock = 1;
  }
  if (receipt->target[0] == '\0') {
    device_->name().copy(receipt->target, sizeof(receipt->target) - 1);
  }
  return "";
}

Leftovers Session::Close(std::string* why) {
  if (!loaded_) return {};
  if (opened_) {
    const Left left = Enter(
        [&] {
          library_.close(handle_);
          return 0;
        },
        Lost);
    if (left.exception) *why = "lockstep_close threw: " + left.message;
  }
  opened_ = false;
  handle_ = nullptr;
  return CountLeftovers(*threads_);
}

std::string Session::Reset(int64_t id) {
  std::string why;
  const Leftovers left = Close(&why);
  if (!why.empty()) return LineOf(Error(id, "exception", why));
  ObjectText receipt;
  receipt.Add("left", LeftText(left));
  return DoneText(id, receipt.Take()).Take() + "\n";
}

}  // namespace lockstep::verify::host
