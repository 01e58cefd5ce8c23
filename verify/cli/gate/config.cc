#include "verify/cli/gate/config.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

// Errors are values, and nothing is linked.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
// An array of tables of arrays is the deepest value that any key takes.
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

#include "verify/base/io/files.h"
#include "verify/base/nearest_name.h"
#include "verify/base/status_macros.h"
#include "verify/base/text.h"
#include "verify/case/case.h"
#include "verify/cli/gate/toml_depth.h"
#include "verify/domain/draws/further.h"
#include "verify/registry/ops.h"

namespace lockstep::verify::cli {
namespace {

constexpr size_t kMaxConfig = size_t{1} << 20;

const char* TypeName(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::none:
      return "nothing";
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number with a point";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::date:
      return "a date";
    case toml::node_type::time:
      return "a time";
    case toml::node_type::date_time:
      return "a date with a time";
  }
  return "something else";
}

// A value with its name, for messages.
struct Entry {
  std::string_view name;
  const toml::node& node;

  Status Wants(const std::string& what) const {
    return Status::Error(std::string(name) + ": want " + what + ", not " +
                         TypeName(node));
  }
};

Status ReadString(const Entry& entry, std::string* to) {
  const auto* text = entry.node.as_string();
  if (text == nullptr) return entry.Wants("a string");
  if (text->get().empty()) {
    return Status::Error(std::string(entry.name) + ": is empty");
  }
  *to = text->get();
  return {};
}

// One string, or an array of them.
Status ReadStrings(const Entry& entry, std::vector<std::string>* to) {
  const auto* array = entry.node.as_array();
  if (array == nullptr) {
    std::string one;
    if (!entry.node.is_string()) {
      return entry.Wants("a string or an array of strings");
    }
    const Status read = ReadString(entry, &one);
    if (read.ok()) to->push_back(one);
    return read;
  }
  if (array->empty()) {
    return Status::Error(std::string(entry.name) + ": the array is empty");
  }
  for (const toml::node& node : *array) {
    std::string one;
    RETURN_IF_ERROR(ReadString({entry.name, node}, &one));
    to->push_back(one);
  }
  return {};
}

// What an option takes as a word may be written as a number.
Status ReadWord(const Entry& entry, std::string* to) {
  if (!entry.node.is_number()) return ReadString(entry, to);
  std::ostringstream text;
  if (const auto* integer = entry.node.as_integer()) {
    text << integer->get();
  } else {
    text << entry.node.as_floating_point()->get();
  }
  *to = text.str();
  return {};
}

Status ReadBool(const Entry& entry, bool* to) {
  const auto* value = entry.node.as_boolean();
  if (value == nullptr) return entry.Wants("true or false");
  *to = value->get();
  return {};
}

Status ReadInteger(const Entry& entry, int64_t low, int64_t high, int64_t* to) {
  const auto* value = entry.node.as_integer();
  if (value == nullptr) return entry.Wants("an integer");
  if (value->get() < low || value->get() > high) {
    return Status::Error(std::string(entry.name) + ": " +
                         std::to_string(value->get()) + " is not in " +
                         std::to_string(low) + " ... " + std::to_string(high));
  }
  *to = value->get();
  return {};
}

Status ReadCases(const Entry& entry, Config* config) {
  RETURN_IF_ERROR(ReadStrings(entry, &config->cases));
  for (const std::string& file : config->cases) {
    if (file == "-") {
      return Status::Error(
          "cases: '-' is not a file; only --cases reads stdin");
    }
  }
  return {};
}

Status ReadFailOn(const Entry& entry, Config* config) {
  const Status read = ReadString(entry, &config->fail_on);
  if (!read.ok() || config->fail_on == "suspicious") return read;
  return Status::Error("fail_on: " + Quote(config->fail_on) +
                       " is not 'suspicious'");
}

Status ReadMaxSkipped(const Entry& entry, Config* config) {
  int64_t value = 0;
  const Status read = ReadInteger(entry, 0, INT64_MAX, &value);
  config->max_skipped = value;
  return read;
}

Status ReadDraws(const Entry& entry, Config* config) {
  int64_t value = 0;
  const Status read = ReadInteger(entry, 0, kMostFurther, &value);
  config->draws = value;
  return read;
}

struct Key {
  const char* name;
  Status (*read)(const Entry& entry, Config* config);
};

constexpr std::array<Key, 14> kKeys = {{
    {"all_rows",
     [](const Entry& e, Config* c) { return ReadBool(e, &c->all_rows); }},
    {"budget",
     [](const Entry& e, Config* c) { return ReadString(e, &c->budget); }},
    {"call_timeout",
     [](const Entry& e, Config* c) { return ReadWord(e, &c->call_timeout); }},
    {"candidate",
     [](const Entry& e, Config* c) { return ReadStrings(e, &c->candidates); }},
    {"candidate_memory",
     [](const Entry& e, Config* c) {
       return ReadWord(e, &c->candidate_memory);
     }},
    {"cases", ReadCases},
    {"draws", ReadDraws},
    {"fail_on", ReadFailOn},
    {"fresh_seed",
     [](const Entry& e, Config* c) { return ReadWord(e, &c->fresh_seed); }},
    {"max_memory",
     [](const Entry& e, Config* c) { return ReadWord(e, &c->max_memory); }},
    {"max_skipped", ReadMaxSkipped},
    {"profile",
     [](const Entry& e, Config* c) { return ReadString(e, &c->profile); }},
    {"require_executed",
     [](const Entry& e, Config* c) {
       return ReadBool(e, &c->require_executed);
     }},
    {"threads", [](const Entry& e,
                   Config* c) { return ReadInteger(e, 1, 1024, &c->threads); }},
}};

constexpr const char* kKnownFailure = "known_failure";

// "FILE:LINE: "
std::string Where(const std::string& path, const toml::source_region& region) {
  return path + ":" + std::to_string(region.begin.line) + ": ";
}

Status ReadExpires(const Entry& entry, std::chrono::sys_days today,
                   KnownFailure* known) {
  const auto* date = entry.node.as_date();
  if (date == nullptr) {
    return entry.Wants("a date without quotes, such as 2027-01-31");
  }
  const toml::date& day = date->get();
  const std::chrono::year_month_day last{std::chrono::year(day.year),
                                         std::chrono::month(day.month),
                                         std::chrono::day(day.day)};
  std::ostringstream text;
  text << day;
  known->expires = text.str();
  known->expired = std::chrono::sys_days(last) < today;
  return {};
}

Status CheckOp(const std::string& op) {
  for (const OpRow* known : Ops()) {
    if (op == known->text.name) return {};
  }
  return Status::Error(
      "op: no op " + Quote(op) + "; " +
      NearestIs(op, Ops(), [](const OpRow* row) { return row->text.name; }));
}

// One [[known_failure]]: all of its four keys.
Result<KnownFailure> ReadKnown(const std::string& path,
                               const toml::table& table,
                               std::chrono::sys_days today) {
  constexpr std::array<std::string_view, 4> kFields = {"op", "signature",
                                                       "expires", "reason"};
  KnownFailure known;
  known.line = table.source().begin.line;
  for (const auto& [name, node] : table) {
    const Entry entry{name.str(), node};
    const std::string where = Where(path, node.source());
    Status read;
    if (name == "op") {
      read = ReadString(entry, &known.op);
      if (read.ok()) read = CheckOp(known.op);
    } else if (name == "signature") {
      read = ReadStrings(entry, &known.signatures);
    } else if (name == "reason") {
      read = ReadString(entry, &known.reason);
    } else if (name == "expires") {
      read = ReadExpires(entry, today, &known);
    } else {
      read = Status::Error("unknown key " + Quote(name.str()) + "; " +
                           NearestIs(name.str(), kFields,
                                     [](std::string_view key) { return key; }));
    }
    if (!read.ok()) return Status::Error(where + read.message());
  }
  for (const std::string_view field : kFields) {
    if (table.contains(field)) continue;
    return Status::Error(Where(path, table.source()) + kKnownFailure +
                         ": lacks '" + std::string(field) +
                         "'; it has op, signature, expires and reason");
  }
  return known;
}

Status ReadAllKnown(const std::string& path, const toml::node& node,
                    std::chrono::sys_days today, Config* config) {
  const auto* array = node.as_array();
  const bool tables =
      array != nullptr &&
      std::all_of(array->begin(), array->end(),
                  [](const toml::node& one) { return one.is_table(); });
  if (!tables) {
    return Status::Error(Where(path, node.source()) +
                         "known_failure: want tables, each written as "
                         "[[known_failure]]");
  }
  for (const toml::node& one : *array) {
    ASSIGN_OR_RETURN(KnownFailure known,
                     ReadKnown(path, *one.as_table(), today));
    config->known.push_back(std::move(known));
  }
  return {};
}

std::string UnknownKey(std::string_view name) {
  std::vector<std::string> names = {kKnownFailure};
  for (const Key& key : kKeys) names.emplace_back(key.name);
  return "unknown key " + Quote(name) + "; " +
         NearestIs(name, names, [](const std::string& key) { return key; });
}

}  // namespace

Result<Config> ParseConfig(const std::string& path, std::string_view text,
                           std::chrono::sys_days today) {
  if (const int line = LineOfDeepKey(text); line > 0) {
    return Status::Error(
        path + ":" + std::to_string(line) + ": a key has more than " +
        std::to_string(kMostKeyParts) + " parts; keys of this file have none");
  }
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed) {
    return Status::Error(Where(path, parsed.error().source()) +
                         std::string(parsed.error().description()));
  }
  Config config;
  for (const auto& [name, node] : parsed.table()) {
    if (name == kKnownFailure) {
      RETURN_IF_ERROR(ReadAllKnown(path, node, today, &config));
      continue;
    }
    const auto* key =
        std::find_if(kKeys.begin(), kKeys.end(),
                     [&](const Key& one) { return name.str() == one.name; });
    const Status read = key == kKeys.end()
                            ? Status::Error(UnknownKey(name.str()))
                            : key->read({name.str(), node}, &config);
    if (!read.ok()) {
      return Status::Error(Where(path, node.source()) + read.message());
    }
  }
  return config;
}

Result<Config> ReadConfig(const std::string& path,
                          std::chrono::sys_days today) {
  ASSIGN_OR_RETURN(const auto bytes, ReadWholeFile(path, kMaxConfig));
  return ParseConfig(
      path,
      std::string_view(reinterpret_cast<const char*>(bytes.data()),
                       bytes.size()),
      today);
}

}  // namespace lockstep::verify::cli
