// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): draws that depend on nothing
// but a seed. Cases are drawn from counters (verify/domain/draw.h).
#ifndef LOCKSTEP_VERIFY_BASE_MIXING_H_
#define LOCKSTEP_VERIFY_BASE_MIXING_H_

#include <cstdint>

namespace lockstep::verify {

inline constexpr uint64_t kMixStep = 0x9e3779b97f4a7c15u;

inline uint64_t Mix(uint64_t x) {
  x += kMixStep;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The next word of the sequence that *state has come to.
inline uint64_t NextMixed(uint64_t* state) {
  const uint64_t word = Mix(*state);
  *state += kMixStep;
  return word;
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_MIXING_H_
