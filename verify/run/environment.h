// The machine and the build, as far as bits could depend on them, and the
// check that they do not (N17).
#ifndef LOCKSTEP_VERIFY_RUN_ENVIRONMENT_H_
#define LOCKSTEP_VERIFY_RUN_ENVIRONMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify {

struct TargetState {
  std::string name;
  bool supported = false;    // by this CPU
  bool native_dot = false;   // bf16 dot instruction, self-test passed
  bool matrix_unit = false;  // of order=amx, likewise
};

struct Environment {
  std::string version;  // of Lockstep
  std::string commit;   // "unknown" outside a checkout
  bool dirty = false;   // uncommitted changes when it was built
  std::string compiler;
  std::string build_type;
  std::string highway;
  std::string system;   // kernel name and release
  std::string machine;  // hardware name
  std::string cpu;
  int threads = 0;      // cores that this process may use
  std::string waiting;  // how threads wait between calls; empty: not asked
  int64_t memory_bytes = 0;
  std::vector<TargetState> targets;  // compiled, best first
  std::string used;  // the target taken without a wish; empty: reference
  std::vector<TargetState> oracle;  // of the fp64 oracle, best last
  std::string rounding;  // "nearest", "upward", "downward", "toward_zero"
  bool ftz = false;      // subnormal results are flushed
  bool daz = false;      // subnormal operands are read as zero
  int contract_version = 0;
};

Environment ReadEnvironment();

// N17: rounding to nearest, no flushing, and the compiler has neither
// contracted, reassociated nor dropped a conditional truncation. The error
// says which promise is broken.
Status CheckArithmetic();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_ENVIRONMENT_H_
