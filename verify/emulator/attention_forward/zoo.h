// The zoo: correct ways to compute attention, each under its honest profile.
// A proof tier that accuses one of them is wrong.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ZOO_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ZOO_H_

#include <span>
#include <string_view>

#include "reference/contract/status.h"
#include "verify/emulator/attention_forward/variant.h"

namespace lockstep::verify {

std::span<const AttentionVariant> AttentionZoo();

// Errors: an unknown name; the message names the nearest.
Result<AttentionVariant> FindVariant(std::string_view name);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_FORWARD_ZOO_H_
