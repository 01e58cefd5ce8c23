#include "verify/host/library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <sstream>
#include <vector>

namespace lockstep::verify::host {
namespace {

// A description of a later minor version is longer than ours: room for that.
constexpr size_t kRoomOfStruct = 4096;

template <typename Function>
void Find(void* object, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(object, name));
}

std::string Text(const char* text) { return text == nullptr ? "" : text; }

std::vector<std::string> Words(const char* text) {
  std::vector<std::string> words;
  std::istringstream in(Text(text));
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Result<Json> Integers(const std::string& path, const char* what,
                      const char* text) {
  Json integers = Json::array();
  for (const std::string& word : Words(text)) {
    int value = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc() || stop != end) {
      return Status::Error(path + " describes " + what + " as '" + Text(text) +
                           "': want numbers between blanks, such as '1 4'");
    }
    integers.push_back(value);
  }
  return integers;
}

Status CheckVersion(const std::string& path, uint32_t abi) {
  if (abi >> 16 == LOCKSTEP_ABI >> 16) return {};
  return Status::Error(path + " was built for version " +
                       std::to_string(abi >> 16) +
                       " of lockstep/candidate.h, this lockstep-host has " +
                       std::to_string(LOCKSTEP_ABI >> 16));
}

Result<Json> Describe(const std::string& path,
                      decltype(&lockstep_describe) describe,
                      std::string* device) {
  alignas(lockstep_description) static char room[kRoomOfStruct];
  auto* description = reinterpret_cast<lockstep_description*>(room);
  description->size = sizeof(lockstep_description);
  const int code = describe(description);
  if (code != 0) {
    return Status::Error(path + ": lockstep_describe returned " +
                         std::to_string(code));
  }
  const Status version = CheckVersion(path, description->abi);
  if (!version.ok()) return version;
  const lockstep_description& d = *description;
  *device = Text(d.device);
  Result<Json> threads = Integers(path, "threads", d.threads);
  if (!threads.ok()) return threads.status();
  const Result<Json> splits = Integers(path, "splits", d.splits);
  if (!splits.ok()) return splits.status();
  Json hello = {{"type", "hello"},
                {"wire", "1.0"},
                {"name", Text(d.name)},
                {"version", Text(d.version)},
                {"commit", Text(d.commit)},
                {"features", {"reset", "pages"}},
                {"profile", Text(d.profile)},
                {"wants", Words(d.wants)},
                {"lacks", Words(d.lacks)},
                {"threads", threads.value()},
                {"splits", splits.value()}};
  if (d.alignment != 0) hello["alignment"] = d.alignment;
  for (const std::string& lane : Words(d.lanes)) {
    hello["lanes"].push_back(lane);
    hello["features"].push_back(lane);  // said, not assumed
  }
  return hello;
}

}  // namespace

Result<Library> Library::Load(const std::string& path) {
  // A name without a slash would be looked for in the system's folders.
  const std::unique_ptr<char, decltype(&free)> whole(
      realpath(path.c_str(), nullptr), &free);
  if (whole == nullptr) return Status::Error("there is no file " + path);
  void* object = dlopen(whole.get(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    return Status::Error(std::string("cannot be loaded: ") + dlerror());
  }
  decltype(&lockstep_describe) describe = nullptr;
  Find(object, "lockstep_describe", &describe);
  if (describe == nullptr) {
    return Status::Error(
        path + " exports no lockstep_describe (lockstep/candidate.h)");
  }
  Library library;
  Result<Json> hello = Describe(path, describe, &library.device);
  if (!hello.ok()) return hello.status();
  library.hello = std::move(hello.value());
  Find(object, "lockstep_open", &library.open);
  Find(object, "lockstep_close", &library.close);
  if ((library.open == nullptr) != (library.close == nullptr)) {
    return Status::Error(path +
                         " exports one of lockstep_open and lockstep_close: "
                         "want both or none");
  }
  Json ops = Json::array();
  const auto find_op = [&](const std::string& op, auto* function) {
    Find(object, ("lockstep_" + op).c_str(), function);
    if (*function != nullptr) ops.push_back(op);
  };
  find_op("attention_forward", &library.attention_forward);
  find_op("attention_backward", &library.attention_backward);
  find_op("attention_merge", &library.attention_merge);
  find_op("mamba3_scan", &library.mamba3_scan);
  find_op("mamba3_scan_backward", &library.mamba3_scan_backward);
  find_op("mamba3_step", &library.mamba3_step);
  find_op("ssd_scan", &library.ssd_scan);
  find_op("block_plan", &library.block_plan);
  if (ops.empty()) {
    return Status::Error(path + " exports no op (lockstep/candidate.h)");
  }
  library.hello["ops"] = std::move(ops);
  return library;
}

}  // namespace lockstep::verify::host
