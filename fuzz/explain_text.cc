// What an explanation says to people and programs.
#include <string>

#include "fuzz/explain.h"
#include "verify/base/format.h"
#include "verify/base/printable.h"
#include "verify/report/json_text.h"

namespace lockstep::fuzz {
std::string ExplainedText(const Explained& explained) {
  std::string text = "on    " + verify::Printable(explained.line) + "\n";
  int64_t rank = 0;
  for (const verify::Explanation& cause : explained.causes) {
    text += verify::Format("%-5d ", static_cast<int>(++rank)) +
            verify::Printable(verify::ExplanationText(cause)) + "\n      " +
            verify::Printable(cause.candidate) + "\n";
  }
  if (explained.causes.empty()) {
    text += (explained.none.empty() ? verify::UnlikeText(explained.nearest)
                                    : explained.none) +
            "\n";
  }
  return text + "held against " + std::to_string(explained.tried) +
         " emulated kernels, on " + std::to_string(explained.cases) +
         (explained.cases == 1 ? " case\n" : " cases\n");
}

std::string ExplainedJson(const Explained& explained) {
  verify::Json json = {{"schema", 1},
                       {"case", explained.line},
                       {"causes", verify::CausesJson(explained.causes)},
                       {"cases", explained.cases},
                       {"kernels", explained.tried}};
  if (!explained.none.empty()) json["none"] = explained.none;
  if (explained.nearest) {
    json["nearest"] = {{"cause", explained.nearest->bug},
                       {"score", explained.nearest->explained}};
  }
  return verify::DumpJson(json, 2) + "\n";
}

}  // namespace lockstep::fuzz
