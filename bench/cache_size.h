// How large the data caches of this machine are.
#ifndef LOCKSTEP_BENCH_CACHE_SIZE_H_
#define LOCKSTEP_BENCH_CACHE_SIZE_H_

#include <cstddef>
#include <string>

namespace lockstep::bench {

// Bytes of the data cache of level 1, 2 or 3 that the first core reads through,
// 0 where there is none or the system does not say. Linux's folder of the
// core's caches is asked first, C's sysconf where there is no such folder:
// glibc 2.36 says 320 MiB for the 32 MiB of the third level of an AMD EPYC
// (family 25).
size_t CacheBytes(int level, const std::string& folder =
                                 "/sys/devices/system/cpu/cpu0/cache");

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_CACHE_SIZE_H_
