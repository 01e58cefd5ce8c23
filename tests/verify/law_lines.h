// What a law says of two answers, for tests.
#ifndef LOCKSTEP_TESTS_VERIFY_LAW_LINES_H_
#define LOCKSTEP_TESTS_VERIFY_LAW_LINES_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/judge/runs/kept.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Calls visit(expected, produced) with the bits of each element that the law
// speaks of: `base` answers the case, `there` the law's call.
template <class Visit>
void ForLawElements(const Trial& own, const OutputSet& base, const Law& law,
                    const LawCall& call, const OutputSet& there,
                    const Visit& visit) {
  for (size_t t = 0; t < call.kept.size(); ++t) {
    const OutputSpec& spec = own.outputs()[t];
    const int exponent = law.exponents.empty() ? 0 : law.exponents[t];
    for (const LinePair& lines : call.kept[t]) {
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        const std::optional<uint32_t> expected =
            TimesPowerOfTwo(spec.lane,
                            ElementBits(base.tensors[t].const_view(),
                                        LineIndex(spec, lines.own, c)),
                            exponent);
        if (!expected) continue;
        visit(*expected,
              ElementBits(there.tensors[t].const_view(),
                          LineIndex(call.trial->outputs()[t], lines.here, c)));
      }
    }
  }
}

// Whether the two agree.
inline bool Agree(const Trial& own, const OutputSet& base, const Law& law,
                  const LawCall& call, const OutputSet& there) {
  bool agree = true;
  ForLawElements(own, base, law, call, there,
                 [&](uint32_t x, uint32_t y) { agree = agree && x == y; });
  return agree;
}

// Gradients divided by their norm, as some optimizers want them: each depends
// on all cotangents, and none is linear in them.
inline void Normalise(const OutputSet& outputs) {
  for (const LaneTensor& tensor : outputs.tensors) {
    const MutableLaneView& view = tensor.view;
    const auto value = [&](const At& at) {
      return ElementValue(view.lane, ElementBits(tensor.const_view(), at));
    };
    double squares = 0;
    ForElements(view.shape,
                [&](const At& at) { squares += value(at) * value(at); });
    ForElements(view.shape, [&](const At& at) {
      SetElement(view, at, BitsOf(view.lane, value(at) / std::sqrt(squares)));
    });
  }
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_LAW_LINES_H_
