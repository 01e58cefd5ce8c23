# The oracle, the envelopes and the probes; tests/mutants has the trial of these
# judges.
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
