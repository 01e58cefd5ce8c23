#include "verify/cli/help/describe.h"

#include "verify/report/json_text.h"

namespace lockstep::verify::cli {
namespace {

Json ToJson(const OptionText& option) {
  return {{"names", option.names},      {"argument", option.argument},
          {"help", option.help},        {"type", option.type},
          {"words", option.words},      {"required", option.required},
          {"repeated", option.repeated}};
}

std::string Text(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

bool Yes(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_boolean() && at->get<bool>();
}

// The list below `key`; empty where there is none.
Json List(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_array() ? *at : Json::array();
}

std::vector<std::string> Words(const Json& object, const char* key) {
  std::vector<std::string> words;
  for (const Json& word : List(object, key)) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return words;
}

OptionText OptionFrom(const Json& json) {
  OptionText option;
  option.names = Words(json, "names");
  option.argument = Text(json, "argument");
  option.help = Text(json, "help");
  option.type = Text(json, "type");
  option.words = Words(json, "words");
  option.required = Yes(json, "required");
  option.repeated = Yes(json, "repeated");
  return option;
}

}  // namespace

std::string DescriptionJson(const ProgramText& program) {
  Json verbs = Json::array();
  for (const VerbText& verb : program.verbs) {
    Json options = Json::array();
    for (const OptionText& option : verb.options) {
      options.push_back(ToJson(option));
    }
    verbs.push_back({{"name", verb.name},
                     {"description", verb.description},
                     {"footer", verb.footer},
                     {"options", options}});
  }
  const Json json = {{"kind", "command line"},
                     {"description", program.description},
                     {"footer", program.footer},
                     {"verbs", verbs}};
  return DumpJson(json, 2) + "\n";
}

Result<ProgramText> ParseDescription(const std::string& text) {
  const Json json = ParseJson(text);
  if (!json.is_object() || Text(json, "kind") != "command line") {
    return Status::Error("no description of a command line");
  }
  ProgramText program;
  program.description = Text(json, "description");
  program.footer = Text(json, "footer");
  for (const Json& one : List(json, "verbs")) {
    if (!one.is_object()) continue;
    VerbText verb;
    verb.name = Text(one, "name");
    verb.description = Text(one, "description");
    verb.footer = Text(one, "footer");
    for (const Json& option : List(one, "options")) {
      if (option.is_object()) verb.options.push_back(OptionFrom(option));
    }
    program.verbs.push_back(std::move(verb));
  }
  return program;
}

}  // namespace lockstep::verify::cli
