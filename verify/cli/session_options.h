// What was typed for a session, as options of its runs.
#ifndef LOCKSTEP_VERIFY_CLI_SESSION_OPTIONS_H_
#define LOCKSTEP_VERIFY_CLI_SESSION_OPTIONS_H_

#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/cli/session.h"
#include "verify/run/run.h"

namespace lockstep::verify::cli {

// Options as typed into options of the run. Errors: usage.
Result<RunOptions> ResolveOptions(const SessionOptions& options);

// Of the words of --claims: what is tried, and what is claimed for this run,
// which is one of `invariance`. Errors: usage.
Status ReadClaims(const std::string& words, SessionOptions* options);

// The words of a replay line (JudgeOptions::replay_options) back into options.
// Errors: one that is none of them.
Status ApplyReplayOptions(const std::vector<std::string>& words,
                          SessionOptions* options);

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_SESSION_OPTIONS_H_
