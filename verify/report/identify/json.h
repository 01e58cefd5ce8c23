// What was identified of a kernel, as JSON: in receipts, and as an event.
#ifndef LOCKSTEP_VERIFY_REPORT_IDENTIFY_JSON_H_
#define LOCKSTEP_VERIFY_REPORT_IDENTIFY_JSON_H_

#include <string>

#include "verify/base/io/json.h"
#include "verify/identify/evidence.h"

namespace lockstep::verify {

Json IdentifiedJson(const Identified& identified);
// One line of NDJSON, with its newline.
std::string IdentifiedEvent(const Identified& identified);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_IDENTIFY_JSON_H_
