# The oracle, the envelopes and the probes; tests/mutants has the trial of these
# judges.
lockstep_add_test(
  oracle_test
  envelope_test.cc
  envelope_wide_test.cc
  oracle_elementary_test.cc
  oracle_lanes_test.cc
  oracle_test.cc
  probes_shown_test.cc
  probes_test.cc
  LIBS
  lockstep_allowed
  lockstep_reference
  WHOLE)

# What a CPU without AVX-512 can still show of that unit: its code.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME oracle_avx512_code
         COMMAND Python3::Interpreter -B
                 "${CMAKE_CURRENT_SOURCE_DIR}/oracle_avx512_test.py"
                 "$<TARGET_FILE:lockstep_oracle>")
set_tests_properties(oracle_avx512_code PROPERTIES LABELS unit
                                                   SKIP_RETURN_CODE 77)

# What a new CPU can show of an old one: no code that files share is above it.
add_test(NAME baseline_code
         COMMAND Python3::Interpreter -B
                 "${CMAKE_CURRENT_SOURCE_DIR}/baseline_code_test.py"
                 "$<TARGET_FILE:lockstep>")
set_tests_properties(baseline_code PROPERTIES LABELS unit
                                              SKIP_RETURN_CODE 77)

# Apart from oracle_test, which runs once for every mutant.
lockstep_add_test(probes_length_test probes_length_test.cc LIBS
                  lockstep_allowed lockstep_reference WHOLE)
