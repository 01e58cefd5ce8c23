// Cases as the calls that judging them takes, for kernels that run elsewhere:
// the folder that verify/candidate/calls/index.h describes, and a loop over it.
#ifndef LOCKSTEP_VERIFY_REPORT_EXPORT_CALLS_H_
#define LOCKSTEP_VERIFY_REPORT_EXPORT_CALLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "reference/contract/status.h"
#include "verify/candidate/calls/index.h"
#include "verify/candidate/calls/recorder.h"
#include "verify/case/case.h"
#include "verify/inputs/materialise.h"
#include "verify/judge/judge.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

struct CallExport {
  std::string folder;  // made with the first call
  // What the kernel will claim; absent: whatever a built-in profile may claim.
  std::optional<NumericProfile> profile;
  bool expected = false;  // the reference's answers, too
};

class CallExporter {
 public:
  explicit CallExporter(CallExport request);

  // Writes the calls of a case, and of so many further draws, that are not
  // written yet; how many it has. Errors: inputs cannot be made, or a file
  // cannot be written.
  //   Requires: ValidateCase passes.
  Result<int64_t> Add(const Case& c, int64_t draws,
                      const MaterialiseOptions& options);
  // Writes the loop, and the index, without which the folder is none.
  Status Finish();

 private:
  Status Write(const RecordedCall& call);
  // Inputs that an earlier call has are the same file again, where the file
  // system can do that.
  Status WriteInputsOnce(const RecordedCall& call, const KernelInputs& inputs,
                         const std::string& path);
  Status Rehearse(const Case& c, JudgeOptions judge);

  CallExport request_;
  CallRecorder recorder_;
  CallIndex index_;
  std::map<std::string, std::string> written_;  // by digest and case line
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_EXPORT_CALLS_H_
