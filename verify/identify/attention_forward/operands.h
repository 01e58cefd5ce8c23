// The conclusion about operands, once all of them have been asked.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_OPERANDS_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_OPERANDS_H_

#include "verify/identify/asker.h"

namespace lockstep::verify {

// A unit that rounds the operands of one product rounds those of both, alike,
// and weights, too. Otherwise they are reported.
void SettleOperands(NumberType weights_are, Asker* kernel);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_OPERANDS_H_
