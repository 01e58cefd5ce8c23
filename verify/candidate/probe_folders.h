// A case's probes as files beside its own, for candidates that are files:
//
//   DIR/probes/NAME/inputs.safetensors, expected.safetensors   by export
//   DIR/probes/NAME/outputs.safetensors                        the answer
//   DIR/probes/index.txt     a line for each: NAME, a tab, the case
#ifndef LOCKSTEP_VERIFY_CANDIDATE_PROBE_FOLDERS_H_
#define LOCKSTEP_VERIFY_CANDIDATE_PROBE_FOLDERS_H_

#include <string>
#include <vector>

#include "verify/case/case.h"

namespace lockstep::verify {

struct ProbeFolder {
  std::string name;  // "cancel"; a second probe of that name: "cancel-2"
  Case call;
};

// The name of the probe that a line's inputs are; none: the line itself.
std::string ProbeName(const std::string& line);

// Every probe that proves something for the case under some built-in profile;
// none for a case that is a probe. Requires: ValidateCase passes.
std::vector<ProbeFolder> ProbeFolders(const Case& c);

std::string FormatProbeIndex(const std::vector<ProbeFolder>& probes);

// The folder in `directory`/probes of that probe: by the index where there is
// one that names the case, else by its name.
std::string FindProbeFolder(const std::string& directory, const Case& probe);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_PROBE_FOLDERS_H_
