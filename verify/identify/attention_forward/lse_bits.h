// The bits of the lse of a single key, by the ways in which kernels come from a
// score to an exponent.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_LSE_BITS_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_LSE_BITS_H_

#include <span>

#include "verify/profile/profile.h"

namespace lockstep::verify {

inline constexpr double kLog2E = 0x1.71547652b82fep0;

struct LseForm {
  ExpBase base = ExpBase::kE;
  Shift shift = Shift::kSubtract;
  // Of base 2: maximum times scale, plus a natural logarithm, as
  // FlashAttention-2 forms it.
  bool natural_log = false;
  const char* text = "natural";
};
std::span<const LseForm> LseForms();

// Of a key with score s times `factor`, which the kernel holds apart.
float LseOfOne(const LseForm& form, float s, double factor);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_LSE_BITS_H_
