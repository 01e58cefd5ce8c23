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

}  // namespace lockstep::verify::cli
