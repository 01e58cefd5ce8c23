// What fuzzing says: for people, and as NDJSON for programs.
#ifndef LOCKSTEP_FUZZ_TEXT_H_
#define LOCKSTEP_FUZZ_TEXT_H_

#include <string>

#include "fuzz/run.h"
#include "fuzz/trial.h"

namespace lockstep::fuzz {

// "FAIL bits:o ..." with the shrunken line and the command that shows it.
std::string FaultText(const Fault& fault);
// Counts, rate, features that no case had, exit code if it is not 0.
std::string SummaryText(const Report& report, const verify::Domain& domain,
                        int exit_code);
// "1 200 cases, 1 500/s, 30 s left, 2 findings", for a terminal.
std::string ProgressText(const Report& report, double elapsed,
                         const verify::Budget& budget);

// One line each, newline included; schema: docs/schemas/fuzz.schema.json.
std::string FaultEvent(const Fault& fault, const Target& target);
std::string SummaryEvent(const Report& report, const verify::Domain& domain,
                         int exit_code);

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_TEXT_H_
