// A kernel as a shared object: its functions, and what it says about itself.
#ifndef LOCKSTEP_VERIFY_HOST_LIBRARY_H_
#define LOCKSTEP_VERIFY_HOST_LIBRARY_H_

#include <string>

#include "nlohmann/json.hpp"
#include "reference/contract/status.h"
#include "verify/host/include/lockstep/candidate.h"

namespace lockstep::verify::host {

using Json = nlohmann::json;

struct Library {
  // Of ops that it does not have: null.
  decltype(&lockstep_open) open = nullptr;
  decltype(&lockstep_close) close = nullptr;
  decltype(&lockstep_attention_forward) attention_forward = nullptr;
  decltype(&lockstep_attention_backward) attention_backward = nullptr;
  decltype(&lockstep_attention_merge) attention_merge = nullptr;
  decltype(&lockstep_mamba3_scan) mamba3_scan = nullptr;
  decltype(&lockstep_mamba3_scan_backward) mamba3_scan_backward = nullptr;
  decltype(&lockstep_mamba3_scan) mamba3_step = nullptr;
  decltype(&lockstep_ssd_scan) ssd_scan = nullptr;
  decltype(&lockstep_block_plan) block_plan = nullptr;
  std::string device;  // of its tensors; empty: memory of the CPU
  // Its answer to hello (docs/wire.md).
  Json hello;

  // Loads it for as long as the process lives. Errors: no such file, no shared
  // object, a function that is missing, another version of candidate.h.
  static Result<Library> Load(const std::string& path);
};

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_LIBRARY_H_
