#include "fuzz/check/arithmetic.h"

namespace lockstep::fuzz::check {

std::vector<std::string> ArithmeticsOf(const std::string& lane) {
  if (lane == "bf16") {
    return {"flash-bf16", "mma-bf16", "splash-bf16", "torch-math-bf16",
            "eager-bf16"};
  }
  if (lane == "f16") return {"flash-f16", "mma-f16", "eager-f16"};
  return {"cpu-f32"};
}

std::string ProfileOf(const std::string& base, const Looked& looked,
                      bool bits) {
  std::string text = "base = " + base + "; name = check-" + base;
  for (const std::string& field : looked.fields) {
    const bool leave_out = (bits && field == "repeat = no") ||
                           (base.ends_with("f32") && field == "out = f32");
    if (!leave_out) text += "; " + field;
  }
  return text;
}

}  // namespace lockstep::fuzz::check
