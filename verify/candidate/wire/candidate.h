// Kernels in a process of their own that speaks the wire (docs/wire.md): one
// class for every door behind which such a process stands.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIRE_CANDIDATE_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIRE_CANDIDATE_H_

#include <memory>
#include <string>
#include <vector>

#include "verify/candidate/candidate.h"

namespace lockstep::verify {

struct WireLaunch {
  std::string door;                    // "cmd", "so": the backend in reports
  std::string spec;                    // whole, as a replay line takes it
  std::vector<std::string> arguments;  // of the host, its program first
};

// Starts nothing yet: Start() does, or the first call.
std::unique_ptr<Candidate> MakeWireCandidate(WireLaunch launch);

// What a started host says that its kernel computes: its features and wants
// (docs/wire.md). None of other candidates.
std::vector<std::string> ClaimsOf(const Candidate& candidate);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIRE_CANDIDATE_H_
