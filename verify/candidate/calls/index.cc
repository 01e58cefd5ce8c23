#include "verify/candidate/calls/index.h"

#include "verify/base/digest.h"
#include "verify/base/io/files.h"
#include "verify/base/io/json.h"
#include "verify/base/printable.h"
#include "verify/base/status_macros.h"

namespace lockstep::verify {
namespace {

constexpr const char* kKind = "calls";
constexpr size_t kMostIndex = size_t{1} << 28;

// Of fields that are there with the wrong type the library throws; all that an
// index holds is asked for here.
CallIndex FromJson(const Json& json) {
  CallIndex index;
  index.profile = json.at("profile").get<std::string>();
  // A folder of an earlier version has none.
  index.draws = json.value("draws", int64_t{0});
  for (const Json& entry : json.at("cases")) {
    index.cases.push_back({entry.at("case").get<std::string>(),
                           entry.at("calls").get<std::vector<int64_t>>()});
  }
  for (const Json& entry : json.at("calls")) {
    index.calls.push_back({entry.at("call").get<int64_t>(),
                           entry.at("digest").get<std::string>(),
                           entry.at("what").get<std::string>()});
  }
  return index;
}

}  // namespace

std::string IndexFile(const std::string& folder) {
  return folder + "/index.json";
}

std::string CallFolder(int64_t number) {
  return "calls/" + std::to_string(number);
}

std::string FormatCallIndex(const CallIndex& index) {
  // A line for each case and each call, so that people can read it, too.
  std::string text = "{\"kind\": \"" + std::string(kKind) +
                     "\", \"format\": " + std::to_string(kCallFormat) +
                     ",\n \"profile\": " + DumpJson(index.profile, -1) +
                     ",\n \"draws\": " + std::to_string(index.draws) +
                     ",\n \"cases\": [";
  const char* between = "\n";
  for (const IndexedCase& one : index.cases) {
    text += between;
    text += "  " + DumpJson({{"case", one.line}, {"calls", one.calls}}, -1);
    between = ",\n";
  }
  text += "],\n \"calls\": [";
  between = "\n";
  for (const IndexedCall& one : index.calls) {
    text += between;
    text += "  " + DumpJson({{"call", one.number},
                             {"what", one.what},
                             {"digest", one.digest}},
                            -1);
    between = ",\n";
  }
  return text + "]}\n";
}

Result<CallIndex> ParseCallIndex(const std::string& path,
                                 std::string_view text) {
  const auto wrong = [&](const std::string& what) {
    return Status::Error(path + ": " + what);
  };
  const Json json = ParseJson(text);
  if (!json.is_object() || json.value("kind", Json()) != kKind) {
    return wrong("no index of calls as `lockstep export` writes it");
  }
  if (json.value("format", Json()) != kCallFormat) {
    return wrong("of another version of Lockstep; export the cases again");
  }
  CallIndex index;
  try {
    index = FromJson(json);
  } catch (const Json::exception& error) {
    return wrong("a field is missing or of another type: " +
                 Printable(error.what()));
  }
  for (const IndexedCall& call : index.calls) {
    if (call.number < 1 || !IsDigest(call.digest)) {
      return wrong("call " + std::to_string(call.number) +
                   " has no number from 1 or no digest");
    }
  }
  return index;
}

Result<CallIndex> ReadCallIndex(const std::string& folder) {
  const std::string path = IndexFile(folder);
  ASSIGN_OR_RETURN(const auto bytes, ReadWholeFile(path, kMostIndex));
  return ParseCallIndex(
      path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace lockstep::verify
