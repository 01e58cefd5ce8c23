// Cotangents as the domains of gradients draw them, with their features.
#ifndef LOCKSTEP_VERIFY_DOMAIN_DRAWS_COTANGENT_H_
#define LOCKSTEP_VERIFY_DOMAIN_DRAWS_COTANGENT_H_

#include <vector>

#include "verify/case/values.h"
#include "verify/domain/draw.h"

namespace lockstep::verify {

std::vector<FillTerm> DrawCotangent(Draw* draw, bool mild);

// normal, int, onehot, constant, special, tiny, zero: whether each is there.
std::vector<bool> CotangentFeatures(const std::vector<FillTerm>& terms);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_DRAWS_COTANGENT_H_
