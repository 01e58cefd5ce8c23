# Every library that Lockstep uses, and who uses it.
#
#   hwy::hwy                      optimized/ (SIMD), bench/ (peaks)
#   OpenMP::OpenMP_CXX            reference/contract/team.cc (threads)
#   xsimd                         verify/oracle/ (fp64 witness)
#   Random123::Random123          verify/ (counter-based inputs)
#   xxHash::xxhash                verify/ (digests)
#   nlohmann_json::nlohmann_json  verify/ (receipts, events)
#   CLI11::CLI11                  verify/ (programs)
#   toml++ (MIT, headers alone)   verify/cli/gate/config.cc (lockstep.toml)
#   GTest::gtest_main GTest::gmock  tests/
#   benchmark::benchmark          bench/

if(CMAKE_CXX_BYTE_ORDER STREQUAL "BIG_ENDIAN")
  message(FATAL_ERROR "Lockstep wants a little-endian processor: digests, captured "
                      "tensors and the wire are little-endian, and no code turns them")
endif()
include(LockstepHighway)
if(LOCKSTEP_USE_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  # Who links an installed Lockstep needs the OpenMP runtime of the compiler that
  # built it, which need not be that of their own: LockstepConfig.cmake finds it.
  set(LOCKSTEP_OPENMP "$<BUILD_INTERFACE:OpenMP::OpenMP_CXX>"
                      "$<INSTALL_INTERFACE:Lockstep::openmp>")
elseif(LOCKSTEP_INSTALL)
  message(FATAL_ERROR "LOCKSTEP_INSTALL exports libraries built with OpenMP; "
                      "want LOCKSTEP_USE_OPENMP=ON, or LOCKSTEP_INSTALL=OFF")
else()
  find_package(Threads REQUIRED)
  set(LOCKSTEP_OPENMP Threads::Threads)
endif()
find_package(xsimd REQUIRED)
find_package(Random123 REQUIRED)
find_package(xxHash REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 REQUIRED)
# Its package's target links a shared library, which the installed programs would
# then need; the headers do without.
find_path(LOCKSTEP_TOML_INCLUDE toml++/toml.h REQUIRED)
mark_as_advanced(LOCKSTEP_TOML_INCLUDE)
if(LOCKSTEP_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(LOCKSTEP_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
