// Which instruction sets the oracle has, and which this CPU runs.
#include <span>
#include <vector>

#include "verify/oracle/kernels.h"
#include "verify/oracle/targets.h"

namespace lockstep::oracle {
namespace {

constexpr Target kCompiled[] = {
    Target::kScalar,
#if defined(__x86_64__)
    Target::kAvx2,
    Target::kAvx512,
#endif
};

}  // namespace

std::span<const Target> CompiledTargets() { return kCompiled; }

bool IsSupported(Target target) {
#if defined(__x86_64__)
  if (target == Target::kAvx2) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  }
  if (target == Target::kAvx512) {
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw");
  }
#endif
  return target == Target::kScalar;
}

const Kernels& KernelsOf(Target target) {
#if defined(__x86_64__)
  if (target == Target::kAvx512) return kAvx512Kernels;
  if (target == Target::kAvx2) return kAvx2Kernels;
#endif
  return kScalarKernels;
}

const char* TargetName(Target target) {
  switch (target) {
    case Target::kScalar:
      return "scalar";
    case Target::kAvx2:
      return "avx2";
    case Target::kAvx512:
      return "avx512";
  }
  return "?";
}

std::span<const Target> SupportedTargets() {
  static const std::vector<Target> kTargets = [] {
    std::vector<Target> targets;
    for (const Target target : kCompiled) {
      if (IsSupported(target)) targets.push_back(target);
    }
    return targets;
  }();
  return kTargets;
}

}  // namespace lockstep::oracle
