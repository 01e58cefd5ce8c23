# Options. Few, prefixed, and on only when Lockstep is the top project.

option(LOCKSTEP_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(LOCKSTEP_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(LOCKSTEP_INSTALL "Install and export Lockstep::" ${PROJECT_IS_TOP_LEVEL})
option(LOCKSTEP_WERROR "Treat warnings as errors" OFF)
option(LOCKSTEP_CCACHE "Compile through ccache if it is there"
       ${PROJECT_IS_TOP_LEVEL})
# A sub-project goes without both, and shows so every night that each file of the
# libraries includes what it uses (tests/install/).
option(LOCKSTEP_PRECOMPILE "Parse the standard headers once" ${PROJECT_IS_TOP_LEVEL})
option(LOCKSTEP_UNITY "Compile the files of a target in batches"
       ${PROJECT_IS_TOP_LEVEL})
# A change in one source file then links one library, and no program.
option(LOCKSTEP_SHARED "Build the libraries shared, for use in the build folder alone" OFF)
set(CMAKE_LINK_DEPENDS_NO_SHARED "${LOCKSTEP_SHARED}")
# For sanitizer builds: the same vector code once instead of once per target.
option(LOCKSTEP_ONE_TARGET "Compile a single SIMD target (AVX2)" OFF)

# For builds that run briefly: what is not optimized is compiled in two thirds of the
# time. The judge's libraries take most of the time of long tests.
set(LOCKSTEP_OPTIMIZE
    all
    CACHE STRING "kernels: definitions, kernels and oracle; judge: and its libraries")
set_property(CACHE LOCKSTEP_OPTIMIZE PROPERTY STRINGS all judge kernels)
if(NOT LOCKSTEP_OPTIMIZE MATCHES "^(all|judge|kernels)$")
  message(FATAL_ERROR "LOCKSTEP_OPTIMIZE is ${LOCKSTEP_OPTIMIZE}, not one of all, judge "
                      "and kernels")
endif()

# Off: threads of the standard library, for a process that has another OpenMP
# runtime already.
option(LOCKSTEP_USE_OPENMP "Take threads from OpenMP" ON)
option(LOCKSTEP_BUILD_PYTHON "Build the Python package's extension (pip does)" OFF)
# For wheels that run elsewhere: Pythons that need not run here (scripts/wheels.sh).
set(LOCKSTEP_PYTHON_HEADERS
    ""
    CACHE STRING "One extension each: TAG=FOLDER of Python.h, such as cp312-abi3=DIR")

option(LOCKSTEP_LIBFUZZER "Link the coverage-guided targets to libFuzzer" OFF)

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

if(LOCKSTEP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(LOCKSTEP_CCACHE_PROGRAM ccache)
  mark_as_advanced(LOCKSTEP_CCACHE_PROGRAM)
  if(LOCKSTEP_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${LOCKSTEP_CCACHE_PROGRAM}")
  endif()
endif()
