#include "verify/report/identify/json.h"

#include <utility>

namespace lockstep::verify {

Json IdentifiedJson(const Identified& identified) {
  Json fields = Json::array();
  for (const FieldEvidence& field : identified.fields) {
    fields.push_back({{"field", field.field},
                      {"value", field.value},
                      {"word", WordName(field.word)},
                      {"evidence", field.evidence},
                      {"line", field.line}});
  }
  return {{"candidate", identified.candidate},
          {"op", identified.op},
          {"text", ProfileText(identified.profile)},
          {"digest", ProfileDigest(identified.profile)},
          {"calls", identified.calls},
          {"fields", std::move(fields)},
          {"warnings", identified.warnings}};
}

std::string IdentifiedEvent(const Identified& identified) {
  Json json = IdentifiedJson(identified);
  json["kind"] = "identified";
  return DumpJson(json, -1) + "\n";
}

}  // namespace lockstep::verify
