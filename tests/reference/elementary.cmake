# The elementary functions (N14) on all 2^32 arguments.

# Every implementation under one interface: scalar, scalar compiled for FMA, with
# planted defects, twins.
add_library(
  lockstep_elementary_sides STATIC
  ${PROJECT_SOURCE_DIR}/tests/support/elementary_oracle.cc
  ${PROJECT_SOURCE_DIR}/tests/support/elementary_planted.cc
  ${PROJECT_SOURCE_DIR}/tests/support/elementary_scalar.cc
  ${PROJECT_SOURCE_DIR}/tests/support/elementary_twins.cc)
target_include_directories(lockstep_elementary_sides
                           PUBLIC "${PROJECT_SOURCE_DIR}")
target_link_libraries(
  lockstep_elementary_sides
  PUBLIC lockstep_reference lockstep_optimized
  PRIVATE hwy::hwy lockstep_numerics lockstep_warnings)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(lockstep_elementary_sides
                 PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/elementary_fused.cc)
  set_source_files_properties(
    ${PROJECT_SOURCE_DIR}/tests/support/elementary_fused.cc
    PROPERTIES COMPILE_OPTIONS "-O3;-mavx2;-mfma")
  target_compile_definitions(lockstep_elementary_sides
                             PRIVATE LOCKSTEP_FUSED_SCALAR)
endif()

add_executable(elementary_sweep elementary_sweep.cc)
target_link_libraries(
  elementary_sweep PRIVATE lockstep_elementary_sides lockstep_numerics
                           lockstep_warnings ${LOCKSTEP_OPENMP} xxHash::xxhash)
set_target_properties(elementary_sweep PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                  "${PROJECT_BINARY_DIR}/tests/bin")

find_package(Python3 COMPONENTS Interpreter QUIET)
set(_sweep $<TARGET_FILE:elementary_sweep>)
if(Python3_FOUND)  # the same program need not sweep twice
  list(PREPEND _sweep "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/.ci/once.py"
       sweep "${PROJECT_SOURCE_DIR}/data/golden/elementary.digests" ${_sweep} --)
endif()

# add_sweep(NAME ARGUMENTS...): exit code 0 expected.
function(add_sweep name)
  add_test(
    NAME elementary_sweep.${name}
    COMMAND ${_sweep} ${ARGN}
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(
    elementary_sweep.${name} PROPERTIES LABELS sweep PROCESSORS 2
                                        SKIP_RETURN_CODE 77)
endfunction()

add_sweep(twins)
add_sweep(scalar_fma --side=scalar_fma)
# As the library compiles it, fma is a call: four blocks instead of half an hour.
add_sweep(scalar --side=scalar --blocks=00,3e,3f,c2)
# One wrong last bit in each table of coefficients: every function that reads
# one differs somewhere.
foreach(function IN ITEMS Exp2Core Exp2 Exp Log2SplitZ Log2SplitK Log2Core Log2
                          TanhCore Tanh Sigmoid Silu Softplus SinTurnsCore
                          CosTurnsCore)
  add_sweep(finds_planted_${function} --side=planted --blocks=3e,3f
            --functions=${function})
  set_tests_properties(elementary_sweep.finds_planted_${function}
                       PROPERTIES PASS_REGULAR_EXPRESSION "1 sweeps, 1 wrong")
endforeach()

lockstep_add_test(reference_elementary_test elementary_test.cc
                  LIBS lockstep_elementary_sides)

if(Python3_FOUND)
  add_test(
    NAME coefficients_are_generated
    COMMAND
      ${Python3_EXECUTABLE}
      ${PROJECT_SOURCE_DIR}/reference/contract/generate_coefficients.py --check)
  set_tests_properties(coefficients_are_generated
                       PROPERTIES LABELS slow SKIP_RETURN_CODE 77)
endif()
