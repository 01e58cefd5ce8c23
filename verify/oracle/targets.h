// The instruction sets that the oracles are compiled for.
#ifndef LOCKSTEP_VERIFY_ORACLE_TARGETS_H_
#define LOCKSTEP_VERIFY_ORACLE_TARGETS_H_

#include <cstdint>
#include <span>

namespace lockstep::oracle {

// kScalar is plain C++ with std::fma.
enum class Target : uint8_t { kScalar, kAvx2, kAvx512 };
const char* TargetName(Target target);
// Those of this build, best last; IsSupported: by this CPU.
std::span<const Target> CompiledTargets();
bool IsSupported(Target target);
// Compiled in and supported by this CPU, best last; never empty.
std::span<const Target> SupportedTargets();

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_TARGETS_H_
