// Scalar code once more for processors that have fused multiply-add.
//
// fma is correctly rounded, so that no bit depends on whether the processor has
// the instruction. A file that is compiled for any processor calls the library
// for it. That takes several times as long, and the compiler vectorises no loop
// around the call. So what consists of it is compiled twice in its own file,
// and chosen when it runs.
#ifndef LOCKSTEP_REFERENCE_CONTRACT_WITH_FMA_H_
#define LOCKSTEP_REFERENCE_CONTRACT_WITH_FMA_H_

// Before the body of a lambda that WithFma runs, and before the functions it is
// made of: they become part of both copies.
#define LOCKSTEP_IN_BOTH __attribute__((always_inline))

#if defined(__x86_64__) && !defined(__FMA__)
#define LOCKSTEP_WITH_FMA __attribute__((target("avx2,fma")))
#else
#define LOCKSTEP_WITH_FMA
#endif

namespace lockstep {

#if defined(__x86_64__) && !defined(__FMA__)
inline bool HasFma() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
// Every compiler that targets such a processor takes the instruction by itself.
inline constexpr bool HasFma() { return false; }
#endif

// Internal to each file that uses it, as the lambda is: no linker takes code
// for one processor in place of code for all.
template <typename Body>
LOCKSTEP_WITH_FMA static auto RunWithFma(const Body& body) {
  return body();
}

// body(), which is `[&]() LOCKSTEP_IN_BOTH { ... }`.
template <typename Body>
LOCKSTEP_IN_BOTH inline auto WithFma(const Body& body) {
  return HasFma() ? RunWithFma(body) : body();
}

// kFunction(args...), a function of this file that is LOCKSTEP_IN_BOTH.
template <auto kFunction, typename... Args>
LOCKSTEP_IN_BOTH inline auto InBoth(Args... args) {
  return WithFma([&]() LOCKSTEP_IN_BOTH { return kFunction(args...); });
}

}  // namespace lockstep

#endif  // LOCKSTEP_REFERENCE_CONTRACT_WITH_FMA_H_
