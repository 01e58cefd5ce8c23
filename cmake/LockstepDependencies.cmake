# Every library that Lockstep uses, and who uses it.
#
#   hwy::hwy                      optimized/ (SIMD), bench/ (peaks)
#   OpenMP::OpenMP_CXX            optimized/ (threads)
#   xsimd                         verify/oracle/ (fp64 witness)
#   Random123::Random123          verify/ (counter-based inputs)
#   xxHash::xxhash                verify/ (digests)
#   nlohmann_json::nlohmann_json  verify/ (receipts, events)
#   CLI11::CLI11                  verify/ (programs)
#   GTest::gtest_main GTest::gmock  tests/
#   benchmark::benchmark          bench/

include(LockstepHighway)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(xsimd REQUIRED)
find_package(Random123 REQUIRED)
find_package(xxHash REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 REQUIRED)
if(LOCKSTEP_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(LOCKSTEP_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
