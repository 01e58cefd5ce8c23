// The ops whose kernels can be asked, a row each.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ROWS_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ROWS_H_

#include <span>

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/identify/identify.h"

namespace lockstep::verify {

struct IdentifyRow {
  const char* op;
  Result<Identified> (*ask)(const IdentifyRequest&, Candidate&);
};
std::span<const IdentifyRow> IdentifyRows();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ROWS_H_
