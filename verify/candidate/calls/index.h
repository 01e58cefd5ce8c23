// The index of a folder of calls, DIR/index.json: which cases were exported,
// and which numbered calls each of them needs.
//
//   DIR/index.json
//   DIR/calls/N/inputs.safetensors, call.json    call N, from 1, by `export`
//   DIR/calls/N/outputs.safetensors              its answer
//   DIR/calls/N/unsupported.txt                  or why there is none
#ifndef LOCKSTEP_VERIFY_CANDIDATE_CALLS_INDEX_H_
#define LOCKSTEP_VERIFY_CANDIDATE_CALLS_INDEX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify {

// Raised when digests of calls or the layout change.
inline constexpr int64_t kCallFormat = 1;

struct IndexedCall {
  int64_t number = 0;
  std::string digest;  // CallDigest
  std::string what;    // "the case", "again", "probe cancel", "law split", ...
};

struct IndexedCase {
  std::string line;  // minimal
  std::vector<int64_t> calls;
};

struct CallIndex {
  std::string profile;  // that probes and laws were chosen for; empty: any
  int64_t draws = 0;    // further draws of each case, at most
  std::vector<IndexedCase> cases;
  std::vector<IndexedCall> calls;
};

std::string IndexFile(const std::string& folder);
// "calls/12", as messages name it and as it lies in the folder.
std::string CallFolder(int64_t number);

std::string FormatCallIndex(const CallIndex& index);
// Errors: one line: torn, of another format, a number that is none.
Result<CallIndex> ParseCallIndex(const std::string& path,
                                 std::string_view text);
Result<CallIndex> ReadCallIndex(const std::string& folder);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_CALLS_INDEX_H_
