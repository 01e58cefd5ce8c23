// Messages that a host sends. They are hostile until read: a field of another
// type is an error, never an exception or a guess.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "verify/base/io/json.h"
#include "verify/base/printable.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/wire/messages.h"

namespace lockstep::verify {
namespace {

constexpr size_t kShown = 120;

std::string Shown(std::string_view line) {
  return "'" + Printable(line.substr(0, kShown)) +
         (line.size() > kShown ? "...'" : "'");
}

// Fields of an object, with the first error.
class Fields {
 public:
  Fields(const Json& json, Status* status) : json_(json), status_(status) {}

  const Json* Find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  std::string Text(const char* name) const {
    const Json* found = Find(name);
    if (found == nullptr) return "";
    if (found->is_string()) return found->get<std::string>();
    return Wrong(name, "text"), "";
  }
  std::vector<std::string> Texts(const char* name) const {
    std::vector<std::string> texts;
    const Json* found = Find(name);
    if (found == nullptr) return texts;
    bool right = found->is_array();
    for (size_t n = 0; right && n < found->size(); ++n) {
      right = (*found)[n].is_string();
      if (right) texts.push_back((*found)[n].get<std::string>());
    }
    if (!right) Wrong(name, "a list of texts");
    return texts;
  }
  std::optional<int64_t> Integer(const char* name) const {
    const Json* found = Find(name);
    if (found == nullptr) return std::nullopt;
    const std::optional<int64_t> value = AsInteger(*found);
    if (!value) Wrong(name, "an integer");
    return value;
  }
  std::vector<int64_t> Integers(const char* name) const {
    std::vector<int64_t> values;
    const Json* found = Find(name);
    if (found == nullptr) return values;
    bool right = found->is_array();
    for (size_t n = 0; right && n < found->size(); ++n) {
      const std::optional<int64_t> value = AsInteger((*found)[n]);
      right = value.has_value();
      if (right) values.push_back(*value);
    }
    if (!right) Wrong(name, "a list of integers");
    return values;
  }
  bool Truth(const char* name) const {
    const Json* found = Find(name);
    if (found == nullptr) return false;
    if (found->is_boolean()) return found->get<bool>();
    return Wrong(name, "true or false"), false;
  }
  // A number, or one as C's %a writes it.
  std::optional<double> Real(const char* name) const {
    const Json* found = Find(name);
    if (found == nullptr) return std::nullopt;
    if (found->is_number()) return found->get<double>();
    if (found->is_string()) {
      const auto text = found->get<std::string>();
      char* end = nullptr;
      const double value = std::strtod(text.c_str(), &end);
      if (!text.empty() && *end == '\0') return value;
    }
    Wrong(name, "a number");
    return std::nullopt;
  }
  // An object, or nothing.
  std::optional<Fields> Object(const char* name) const {
    const Json* found = Find(name);
    if (found == nullptr) return std::nullopt;
    if (found->is_object()) return Fields(*found, status_);
    Wrong(name, "an object");
    return std::nullopt;
  }

 private:
  static std::optional<int64_t> AsInteger(const Json& json) {
    if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) {
      return std::nullopt;
    }
    if (json.is_number_integer()) return json.get<int64_t>();
    if (!json.is_string()) return std::nullopt;
    const auto text = json.get<std::string>();
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = end == text.data() + text.size();
    if (error != std::errc() || !whole) return std::nullopt;
    return value;
  }
  void Wrong(const char* name, const char* wanted) const {
    if (!status_->ok()) return;
    *status_ =
        Status::Error(std::string("field '") + name + "' is not " + wanted);
  }

  const Json& json_;
  Status* status_;
};

Result<Json> ParseLine(std::string_view line) {
  Json json = ParseJson(line);
  if (!json.is_object()) {
    return Status::Error("the host wrote " + Shown(line) +
                         ", which is not a message (docs/wire.md)");
  }
  return json;
}

WireReceipt ReadReceipt(const Fields& fields, Status* status) {
  WireReceipt receipt;
  receipt.backend = Printable(fields.Text("backend"));
  receipt.target = Printable(fields.Text("target"));
  receipt.fallback_reason = Printable(fields.Text("fallback_reason"));
  receipt.guards = Printable(fields.Text("guards"));
  receipt.kept = Printable(fields.Text("kept"));
  receipt.threads = fields.Integer("threads");
  receipt.tiles_full = fields.Integer("tiles_full");
  receipt.tiles_partial = fields.Integer("tiles_partial");
  receipt.tiles_empty = fields.Integer("tiles_empty");
  receipt.seconds = fields.Real("seconds");
  receipt.processor_seconds = fields.Real("processor_seconds");
  receipt.clock = fields.Text("clock");
  receipt.synchronised = fields.Truth("synchronised");
  const std::vector<int64_t> tile = fields.Integers("tile");
  if (tile.size() == 2) {
    receipt.tile = {tile[0], tile[1]};
  } else if (!tile.empty() && status->ok()) {
    *status = Status::Error("field 'tile' is not [queries, keys]");
  }
  if (const auto fp = fields.Object("fp")) {
    const std::string rounding = fp->Text("rounding");
    if (!rounding.empty()) receipt.rounding = Printable(rounding);
    receipt.ftz = fp->Truth("ftz");
    receipt.daz = fp->Truth("daz");
  }
  if (const auto left = fields.Object("left")) {
    receipt.threads_left = left->Integer("threads").value_or(0);
    receipt.children_left = left->Integer("children").value_or(0);
  }
  return receipt;
}

std::vector<WireTable> ReadTables(const Json& json, Status* status) {
  std::vector<WireTable> tables;
  const auto found = json.find("tables");
  if (found == json.end() || !found->is_object()) return tables;
  for (const auto& [name, value] : found->items()) {
    if (!value.is_object()) {
      *status = Status::Error("table '" + Printable(name) + "' is no object");
      return tables;
    }
    const Fields fields(value, status);
    tables.push_back({name, fields.Text("dtype"),
                      fields.Integer("offset").value_or(-1),
                      fields.Integers("shape")});
  }
  return tables;
}

Status CheckVersion(const std::string& wire) {
  const std::string ours = kWireVersion;
  const auto major = [](const std::string& version) {
    return version.substr(0, version.find('.'));
  };
  if (major(wire) == major(ours)) return {};
  return Status::Error("the host speaks version '" + Printable(wire) +
                       "' of the wire, this judge " + ours +
                       ": want the same major version");
}

bool PowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

bool HostHello::Has(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

bool HostHello::Lacks(std::string_view output) const {
  return std::find(lacks.begin(), lacks.end(), output) != lacks.end();
}

Result<HostHello> ParseHello(std::string_view line) {
  ASSIGN_OR_RETURN(const Json json, ParseLine(line));
  Status status;
  const Fields fields(json, &status);
  if (fields.Text("type") == "error") {
    return Status::Error(Printable(fields.Text("message")));
  }
  if (fields.Text("type") != "hello") {
    return Status::Error("the host answered hello with " + Shown(line));
  }
  HostHello hello;
  hello.wire = fields.Text("wire");
  const Status version = CheckVersion(hello.wire);
  if (!version.ok()) return version;
  hello.name = Printable(fields.Text("name"));
  hello.version = Printable(fields.Text("version"));
  hello.commit = Printable(fields.Text("commit"));
  hello.ops = fields.Texts("ops");
  hello.lanes = fields.Texts("lanes");
  hello.features = fields.Texts("features");
  hello.profile = fields.Text("profile");
  hello.wants = fields.Texts("wants");
  hello.lacks = fields.Texts("lacks");
  for (const auto& [key, counts] : {std::pair{"threads", &hello.threads},
                                    std::pair{"splits", &hello.splits}}) {
    for (const int64_t count : fields.Integers(key)) {
      if (count < 1 || count > 4096) {
        return Status::Error("hello: '" + std::string(key) + "' holds " +
                             std::to_string(count) + "; want 1 ... 4096");
      }
      counts->push_back(static_cast<int>(count));
    }
  }
  hello.alignment = fields.Integer("alignment").value_or(0);
  if (fields.Find("isolation") != nullptr) {
    hello.isolation = fields.Text("isolation");
  }
  if (!status.ok()) return Status::Error("hello: " + status.message());
  if (hello.name.empty()) return Status::Error("hello: there is no 'name'");
  if (hello.ops.empty()) return Status::Error("hello: there are no 'ops'");
  if (hello.alignment != 0 &&
      (!PowerOfTwo(hello.alignment) || hello.alignment > 4096)) {
    return Status::Error("hello: 'alignment' is " +
                         std::to_string(hello.alignment) +
                         "; want a power of two up to 4096");
  }
  if (hello.isolation != "process" && hello.isolation != "none") {
    return Status::Error("hello: 'isolation' is '" +
                         Printable(hello.isolation) +
                         "'; want 'process' or 'none'");
  }
  return hello;
}

Result<WireReply> ParseReply(std::string_view line) {
  if (std::optional<WireReply> quick = QuickReply(line)) return *quick;
  return ParseAnyReply(line);
}

Result<WireReply> ParseAnyReply(std::string_view line) {
  ASSIGN_OR_RETURN(const Json json, ParseLine(line));
  Status status;
  const Fields fields(json, &status);
  const std::string type = fields.Text("type");
  WireReply reply;
  reply.id = fields.Integer("id").value_or(0);
  if (type == "done") {
    reply.kind = WireReply::Kind::kDone;
    reply.tables = ReadTables(json, &status);
  } else if (type == "unsupported") {
    reply.kind = WireReply::Kind::kUnsupported;
    reply.message = Printable(fields.Text("reason"));
  } else if (type == "error") {
    reply.kind = WireReply::Kind::kError;
    reply.message = Printable(fields.Text("message"));
    reply.error_kind = fields.Text("kind");
    reply.fatal = fields.Truth("fatal");
    reply.lacks = fields.Texts("lacks");
  } else if (type == "bye") {
    reply.kind = WireReply::Kind::kBye;
  } else {
    return Status::Error("the host answered with " + Shown(line) +
                         ": want done, unsupported or error");
  }
  if (const auto receipt = fields.Object("receipt")) {
    reply.receipt = ReadReceipt(*receipt, &status);
  } else if (reply.kind == WireReply::Kind::kBye) {
    reply.receipt = ReadReceipt(fields, &status);
  }
  if (!status.ok()) {
    return Status::Error("in " + Shown(line) + ": " + status.message());
  }
  return reply;
}

}  // namespace lockstep::verify
