// One file of answers, computed elsewhere: safetensors, or in its place arrays
// of NumPy. It is hostile until judged.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_ANSWER_FILE_H_
#define LOCKSTEP_VERIFY_CANDIDATE_ANSWER_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/io/safetensors.h"
#include "verify/candidate/candidate.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

inline constexpr const char* kUsualAnswer = "outputs.safetensors";

// The outputs of a folder: a file, or the folder itself where it has arrays of
// NumPy. A folder with exactly one other safetensors file beside what `export`
// wrote (inputs, expected) may call it as it likes. Errors: none there, or more
// than one.
Result<std::string> FindAnswer(const std::string& place);

// Why the answer was not computed but is the judge's own, written by `export`:
// its file has that name, is a link to it, or has the same bytes. Empty if
// nothing does. An honest kernel's tensors may be equal; its file, with another
// writer's header, hardly is.
std::string WhoseAnswer(const std::string& path, int64_t max_bytes);

// " has no tensor 'lse', which is part of the answer (...); it has: o".
std::string NoTensor(const OutputSpec& spec, const SafetensorsFile& file);

// Whether the output may be missing: the profile says that the kernel has none.
inline bool MayLack(const CaseRequest& request, const OutputSpec& spec) {
  return !request.Has(spec.name);
}

struct AnswerFile {
  std::string path;
  const SafetensorsFile* file = nullptr;
};

// Reads the tensors of that file into the trial's `outputs`. An optional tensor
// that is absent becomes NaN. kMismatch: a tensor has another type or shape.
// kError: a required tensor is missing. kRan: the message is WhoseAnswer's.
RunOutcome TakeAnswer(const AnswerFile& answer, const CaseRequest& request,
                      const Trial& trial, const OutputSet& outputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_ANSWER_FILE_H_
