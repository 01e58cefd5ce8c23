#include "verify/op.h"

namespace lockstep::verify {

std::string Variation::Suffix() const {
  std::string text;
  if (target) text += "@" + *target;
  if (tile) {
    text += ",tile=" + std::to_string(tile->first) + "x" +
            std::to_string(tile->second);
  }
  if (threads) text += ",threads=" + std::to_string(*threads);
  if (native_dot) text += *native_dot ? ",native=1" : ",native=0";
  if (chunk) text += ",chunk=" + std::to_string(*chunk);
  if (shift != 0) text += ",shift=" + std::to_string(shift);
  return text;
}

int64_t Execution::Count(const std::string& name) const {
  for (const Counter& counter : counters) {
    if (counter.name == name) return counter.value;
  }
  return 0;
}

std::array<int64_t, 4> LineIndex(const OutputSpec& spec, int64_t line,
                                 int64_t c) {
  const auto& n = spec.shape;
  return {line / (n[1] * n[2]), line / n[2] % n[1], line % n[2], c};
}

}  // namespace lockstep::verify
