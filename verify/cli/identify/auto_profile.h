// --profile auto: what `lockstep identify` sees is what is judged by.
#ifndef LOCKSTEP_VERIFY_CLI_IDENTIFY_AUTO_PROFILE_H_
#define LOCKSTEP_VERIFY_CLI_IDENTIFY_AUTO_PROFILE_H_

#include <atomic>
#include <memory>
#include <vector>

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/cli/session.h"

namespace lockstep::verify::cli {

// Asks the only candidate of a group whose profile is auto, in the op and lane
// of its cases; otherwise nothing happens. Errors: a CI job without
// --allow-auto, several candidates, cases of two ops or lanes, a kernel that
// cannot be asked.
Status IdentifyFor(const SessionOptions& options,
                   const std::vector<std::unique_ptr<Candidate>>& candidates,
                   JobGroup* group, const std::atomic<bool>* stop);

// What a person has to know before the verdicts, on stderr.
void NoteIdentified(const Identified& identified);

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_IDENTIFY_AUTO_PROFILE_H_
