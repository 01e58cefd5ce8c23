// How many of the drawn problems of a test are tried.
#ifndef LOCKSTEP_TESTS_SUPPORT_VOLUME_H_
#define LOCKSTEP_TESTS_SUPPORT_VOLUME_H_

#include <cstdint>

namespace lockstep::test {

// Of n problems, or of what n problems are expected to show. A sanitizer makes
// each four times as long and sees in a quarter of them what it would see in
// all: it looks at addresses and ranges, not at values.
constexpr uint32_t Volume(uint32_t n) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return n / 4;
#endif
#endif
  return n;
}

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_VOLUME_H_
