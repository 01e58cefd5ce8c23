# The oracle, the envelopes and the probes; then the trial of these judges: each
# planted defect of tests/mutants/oracle_mutants.py must make this suite fail.
lockstep_add_test(
  oracle_test
  envelope_test.cc
  oracle_elementary_test.cc
  oracle_test.cc
  LIBS
  lockstep_envelope
  lockstep_reference
  WHOLE)
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND CMAKE_EXPORT_COMPILE_COMMANDS AND NOT CMAKE_CXX_FLAGS
                                                         MATCHES "fsanitize")
  add_test(
    NAME oracle_mutants
    COMMAND
      Python3::Interpreter
      "${PROJECT_SOURCE_DIR}/tests/mutants/oracle_mutants.py" --root
      "${PROJECT_SOURCE_DIR}" --build "${PROJECT_BINARY_DIR}" --compiler
      "${CMAKE_CXX_COMPILER}" --objects "$<TARGET_OBJECTS:oracle_test>"
      --libraries
      "$<TARGET_FILE:lockstep_envelope>;$<TARGET_FILE:lockstep_oracle>;$<TARGET_FILE:lockstep_emulator>;$<TARGET_FILE:lockstep_reference>;$<TARGET_FILE:lockstep_contract>;$<TARGET_FILE:GTest::gtest_main>;$<TARGET_FILE:GTest::gtest>"
  )
  set_tests_properties(oracle_mutants PROPERTIES LABELS mutants TIMEOUT 900)
endif()
