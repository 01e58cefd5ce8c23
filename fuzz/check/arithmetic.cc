#include "fuzz/check/arithmetic.h"

#include "verify/candidate/candidate.h"

namespace lockstep::fuzz::check {
namespace {

Arithmetic Plain(const std::string& name) { return {name, name, ""}; }

// Weights in 16 bits, and an exp of 13 bits as vector libraries have it.
Arithmetic FastExp(const std::string& lane) {
  return {"flash-" + lane + " with a fast exp", "cpu-f32",
          "; lane = " + lane + "; p = " + lane +
              "; exp_rel = 0x1p-13; exp_zero = weights; ftz = yes"};
}

}  // namespace

std::vector<Arithmetic> ArithmeticsOf(const std::string& lane) {
  if (lane == "bf16") {
    return {Plain("flash-bf16"), FastExp("bf16"),
            Plain("mma-bf16"),   Plain("splash-bf16"),
            Plain("eager-bf16"), Plain("torch-math-bf16")};
  }
  if (lane == "f16") {
    return {Plain("flash-f16"), FastExp("f16"), Plain("mma-f16"),
            Plain("eager-f16")};
  }
  return {Plain("cpu-f32")};
}

std::vector<Arithmetic> ArithmeticsOf(const Looked& looked,
                                      const std::string& lane) {
  if (looked.op == "ssd_scan" && !looked.own_profile) {
    return {Plain("scan-f32"), Plain("scan-chunked")};
  }
  if (!looked.own_profile) return ArithmeticsOf(lane);
  return {{"its own", verify::kProfileFromCandidate, ""}};
}

std::string ProfileOf(const Arithmetic& arithmetic, const Looked& looked,
                      bool bits) {
  if (looked.own_profile) return arithmetic.base;
  std::string text = "base = " + arithmetic.base + "; name = check-" +
                     arithmetic.base + arithmetic.fields;
  for (const std::string& field : looked.fields) {
    const bool leave_out =
        (bits && field == "repeat = no") ||
        (arithmetic.name.ends_with("f32") && field == "out = f32");
    if (!leave_out) text += "; " + field;
  }
  return text;
}

}  // namespace lockstep::fuzz::check
