# The oracle, the envelopes and the probes; then the trial of these judges: each
# planted defect of tests/mutants/oracle_mutants.py must make this suite fail.
lockstep_add_test(
  oracle_test
  envelope_test.cc
  oracle_elementary_test.cc
  oracle_test.cc
  probes_test.cc
  LIBS
  lockstep_envelope
  lockstep_reference
  WHOLE)
find_package(Python3 COMPONENTS Interpreter)
# lockstep_add_mutants(NAME TEST FILTER LIBRARY...): tests/mutants/NAME.py breaks
# sources of the libraries; TEST must fail.
function(lockstep_add_mutants name test filter)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  add_test(
    NAME ${name}
    COMMAND
      Python3::Interpreter "${PROJECT_SOURCE_DIR}/tests/mutants/${name}.py" --root
      "${PROJECT_SOURCE_DIR}" --build "${PROJECT_BINARY_DIR}" --compiler
      "${CMAKE_CXX_COMPILER}" --objects "$<TARGET_OBJECTS:${test}>" --libraries
      "${ARGN}" --filter "${filter}")
  set_tests_properties(${name} PROPERTIES LABELS mutants TIMEOUT 900 PROCESSORS 2)
endfunction()
if(Python3_FOUND AND CMAKE_EXPORT_COMPILE_COMMANDS AND NOT CMAKE_CXX_FLAGS
                                                         MATCHES "fsanitize")
  lockstep_add_mutants(
    oracle_mutants oracle_test "*" lockstep_envelope lockstep_oracle lockstep_emulator
    lockstep_reference lockstep_contract GTest::gtest_main GTest::gtest)
  lockstep_add_mutants(
    scan_judge_mutants
    scan_judge_test
    "*"
    lockstep_selftest
    lockstep_verify
    lockstep_dialects
    lockstep_envelope
    lockstep_oracle
    lockstep_emulator
    lockstep_optimized
    lockstep_reference
    lockstep_contract
    hwy::hwy
    xxHash::xxhash
    GTest::gtest_main
    GTest::gtest)
  lockstep_add_mutants(
    laws_mutants
    laws_test
    "*"
    lockstep_verify
    lockstep_dialects
    lockstep_envelope
    lockstep_oracle
    lockstep_emulator
    lockstep_optimized
    lockstep_reference
    lockstep_contract
    hwy::hwy
    xxHash::xxhash
    GTest::gtest_main
    GTest::gtest)
  lockstep_add_mutants(
    judge_mutants
    judge_test
    "Bounded.*:Judge.*:Power.*"
    lockstep_verify
    lockstep_dialects
    lockstep_envelope
    lockstep_oracle
    lockstep_emulator
    lockstep_optimized
    lockstep_reference
    lockstep_contract
    hwy::hwy
    xxHash::xxhash
    GTest::gtest_main
    GTest::gtest)
endif()
