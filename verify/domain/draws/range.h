// Numbers of draws that the lane of their tensor holds.
#ifndef LOCKSTEP_VERIFY_DOMAIN_DRAWS_RANGE_H_
#define LOCKSTEP_VERIFY_DOMAIN_DRAWS_RANGE_H_

#include <cstdint>
#include <vector>

#include "reference/contract/tensor_view.h"
#include "verify/case/values.h"

namespace lockstep::verify {

// Scales the terms of these tensors for a lane with a short range (f16, fp8).
// Its numbers, and products of two, are then neither infinite nor all 0. Lanes
// with f32's range take any draw.
void KeepInRange(Lane lane, uint8_t tensors, std::vector<FillTerm>* terms);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_DRAWS_RANGE_H_
