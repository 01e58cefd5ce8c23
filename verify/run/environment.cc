#include "verify/run/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cfenv>
#include <cfloat>
#include <cstddef>
#include <fstream>

#include "optimized/plan.h"
#include "reference/contract/cores.h"
#include "reference/contract/numerics.h"
#include "verify/oracle/targets.h"
#include "verify/run/build_info.h"

namespace lockstep::verify {
namespace {

// Everything below reads its operands through volatile, so that it is computed
// here and now, not by the compiler.

bool FlushesResults() {
  volatile float smallest = FLT_MIN;
  volatile float half = 0.5f;
  volatile float result = smallest * half;
  return std::bit_cast<uint32_t>(static_cast<float>(result)) == 0;
}

bool FlushesOperands() {
  volatile float subnormal = std::bit_cast<float>(0x00400000u);
  volatile float big = 0x1p64f;
  volatile float result = subnormal * big;
  return std::bit_cast<uint32_t>(static_cast<float>(result)) == 0;
}

// What the arithmetic does. fegetround says it of the x87 unit on x86-64, whose
// control word is not the one (MXCSR) that vector instructions obey.
std::string RoundingOfSums() {
  volatile float one = 1.0f;
  volatile float tiny = 0x1p-60f;
  volatile float above = one + tiny;
  volatile float below = one - tiny;
  volatile float minus = -one - tiny;
  if (above > 1.0f) return minus < -1.0f ? "unknown" : "upward";
  if (minus < -1.0f) return "downward";
  return below < 1.0f ? "toward_zero" : "nearest";
}

std::string RoundingName() {
  switch (std::fegetround()) {
    case FE_TONEAREST:
      return RoundingOfSums();
    case FE_UPWARD:
      return "upward";
    case FE_DOWNWARD:
      return "downward";
    case FE_TOWARDZERO:
      return "toward_zero";
  }
  return "unknown";
}

// (1 + 2^-12)^2 rounds to 1 + 2^-11: fused, 2^-24 is left.
bool Contracts() {
  volatile float a = 0x1.001p+0f;
  volatile float c = -0x1.002p+0f;
  const float x = a;
  const float y = c;
  const float result = x * x + y;
  return result != 0.0f;
}

// A sum of 1, 2^24, -2^24, ... is 0 from left to right and not otherwise.
bool Reassociates() {
  volatile float one = 1.0f;
  volatile float big = 0x1p25f;
  std::array<float, 64> terms{};
  for (size_t n = 0; n < terms.size(); n += 4) {
    terms[n] = one;
    terms[n + 1] = big;
    terms[n + 2] = -big;
    terms[n + 3] = 0.0f;
  }
  float sum = 0.0f;
  for (const float term : terms) sum += term;
  return sum != 0.0f;
}

// The pattern of N2 that a compiler is known to have dropped.
bool DropsTruncation() {
  volatile uint32_t seed = 0x3f812345u;
  volatile int yes = 1;
  std::array<uint32_t, 16> bits{};
  const int truncate = yes;
  for (size_t n = 0; n < bits.size(); ++n) {
    uint32_t x = seed + static_cast<uint32_t>(n);
    if (truncate != 0) x = x & 0xffff0000u;
    bits[n] = x;
  }
  for (const uint32_t x : bits) {
    if (x != 0x3f810000u) return true;
  }
  return false;
}

// x86 has a name; ARM has numbers of the maker and the part.
std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  std::string maker;
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) return value;
    if (line.starts_with("CPU implementer")) maker = value;
    if (line.starts_with("CPU part") && !maker.empty()) {
      return "ARM implementer " + maker + " part " + value;
    }
  }
  return "unknown";
}

std::string CompilerName() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
  return std::string("gcc ") + __VERSION__;
#else
  return "unknown";
#endif
}

}  // namespace

Environment ReadEnvironment() {
  Environment environment;
  environment.version = kBuildVersion;
  environment.commit = kBuildCommit;
  environment.dirty = kBuildDirty;
  environment.compiler = CompilerName();
  environment.build_type = kBuildType;
  environment.highway = kBuildHighway;
  utsname names{};
  if (uname(&names) == 0) {
    environment.system =
        std::string(names.sysname) + " " + std::string(names.release);
    environment.machine = names.machine;
  }
  environment.cpu = CpuName();
  environment.threads = UsableCores();
  environment.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
                             static_cast<int64_t>(sysconf(_SC_PAGE_SIZE));
  for (const optimized::Target& target : optimized::Targets()) {
    environment.targets.push_back(
        {target.name, target.supported, target.native_dot, target.matrix_unit});
    if (target.supported && environment.used.empty()) {
      environment.used = target.name;
    }
  }
  for (const oracle::Target target : oracle::CompiledTargets()) {
    environment.oracle.push_back({oracle::TargetName(target),
                                  oracle::IsSupported(target), false, false});
  }
  environment.rounding = RoundingName();
  environment.ftz = FlushesResults();
  environment.daz = FlushesOperands();
  environment.contract_version = kContractVersion;
  return environment;
}

Status CheckArithmetic() {
  if (RoundingName() != "nearest") {
    return Status::Error("rounding mode is " + RoundingName() +
                         ", the contract needs nearest (N17)");
  }
  if (FlushesResults()) {
    return Status::Error(
        "subnormal results are flushed (FTZ); the contract "
        "needs gradual underflow (N17)");
  }
  if (FlushesOperands()) {
    return Status::Error(
        "subnormal operands are read as zero (DAZ); the "
        "contract needs gradual underflow (N17)");
  }
  if (Contracts()) {
    return Status::Error(
        "this build contracts a*b+c (N4); compile with "
        "-ffp-contract=off");
  }
  if (Reassociates()) {
    return Status::Error(
        "this build reassociates sums (N17); compile without "
        "-ffast-math");
  }
  if (DropsTruncation()) {
    return Status::Error(
        "this build drops a conditional truncation (N2); "
        "compile with -fno-tree-ter");
  }
  return {};
}

}  // namespace lockstep::verify
