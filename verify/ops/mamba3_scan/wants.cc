// What hosts want made of a scan's runs.
#include <cstdint>
#include <string>
#include <vector>

#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {

std::string RunsTrial::AddWanted(const std::string& want,
                                 KernelInputs* inputs) const {
  const Mamba3ScanProblem& p = data_.problem;
  if (want != "segments" && want != "cu_seqlens") {
    return std::string(OpName(case_)) + " has no such input";
  }
  std::vector<int32_t> starts, ids;
  for (size_t n = 0; n < runs_.size(); ++n) {
    const reference::Run& run = runs_[n];
    if (want == "segments" && run.first == run.end) {
      return "a run is empty, and no token can say so";
    }
    starts.push_back(static_cast<int32_t>(run.row * p.length + run.first));
    ids.insert(ids.end(), static_cast<size_t>(run.end - run.first),
               static_cast<int32_t>(n));
  }
  starts.push_back(static_cast<int32_t>(p.batch * p.length));
  if (want == "segments") {
    inputs->AddIntegers("segments", {p.batch, p.length}, ids);
  } else {
    inputs->AddIntegers("cu_seqlens", {static_cast<int64_t>(starts.size())},
                        starts);
  }
  return "";
}

std::string Mamba3StepTrial::AddWanted(const std::string& want,
                                       KernelInputs*) const {
  return "'" + want + "' has no meaning for a step";
}

}  // namespace lockstep::verify
