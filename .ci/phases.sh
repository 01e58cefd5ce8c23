#!/usr/bin/env bash
# The phases of .ci/run that build in a tree of their own: phases.sh NAME.
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/common.sh"

second_compiler() {
  build release-gcc golden_tests
  ctest --preset release-gcc -L 'golden|canary' --quiet --no-tests=error \
    --output-on-failure -O build/release-gcc/ctest.log
}

second_programs() { build release-gcc lockstep-bench lockstep-fuzz; }

# Tests of volume: the same code on hundreds of cases, or thousands of verdicts, took
# half of the unit tests' time under sanitizers. Every eighth case of the files of
# slow tests is judged here instead, and every emulated kernel in a few.
VOLUME=$(printf '%s|' EveryCorrectKernel EveryMutantIsFound IsRoundedOnceAndFlushed \
  ByChanceAsOftenAsItSays ShowOneTokenAmongMany '^probes_length_test$' '^selftest_test$')
VOLUME=${VOLUME%|}
# Of programs that are one test.
VOLUME_WITHIN=$(printf '%s:' Bounded.ASingleKeyAmongManyIsFoundByProbes \
  'BoundedLongest.*' 'Calibrated.Seldom*' \
  DomainTest.EveryCaseIsLegalAndDrawnOnPurpose DomainTest.ReductionsEnd \
  'All/Identify*Bug.IsNotLearned/*' 'Identify*.*StillFail' \
  'Identify*.ZooIsNeverHeldToMoreThanItHas' IdentifyChunk.SeesChunksOfKernels \
  Matrix.IsTheSameOnAnyNumberOfThreads \
  Emulator.WithoutFaultIsTheContract 'Envelope.NeverAccuses*' \
  'Probes.NeverAccuse*' Replay.EveryFindingOfEveryMutantComesAgain \
  ScanLaws.NoCorrectKernelBreaksOne 'Statistics.Seldom*')

# A sanitizer's report is a failure even where a program would go on.
address_and_undefined() {
  local lockstep=build/asan-ubsan/bin/lockstep
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
  export LSAN_OPTIONS=suppressions=$PWD/.ci/leaks.supp:print_suppressions=0
  export UBSAN_OPTIONS=print_stacktrace=1
  build asan-ubsan quick_tests canary_sanitizer lockstep-host
  ctest --preset asan-ubsan -R canary_sanitizer --no-tests=error
  GTEST_FILTER="-$VOLUME_WITHIN" ctest --preset asan-ubsan --no-tests=error \
    -L unit -LE 'slow|nightly' -E "$VOLUME"
  "$lockstep" verify --cases data/cases/smoke.cases
  "$lockstep" verify --cases data/cases/attention_backward.cases --shard 1/8
  "$lockstep" verify --cases data/cases/attention_merge.cases
  "$lockstep" verify --cases data/cases/mamba3_scan_backward.cases --shard 1/8
  "$lockstep" verify --cases data/cases/ssd_scan.cases --shard 1/8
  "$lockstep" selftest --zoo --budget 200cases
  "$lockstep" fuzz --budget 400cases
  LOCKSTEP_PART=$((16#$(git rev-parse --short=7 HEAD || echo 0) % 16))/16 memory
}

# Every kernel that the judge replays, every law and the judge itself, on 2000 drawn
# shapes. The commit says which sixteenth belongs to the phase above; by hand
# `.ci/phases.sh memory` runs all of it.
memory() {
  export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1
  export LSAN_OPTIONS=suppressions=$PWD/.ci/leaks.supp:print_suppressions=0
  export UBSAN_OPTIONS=print_stacktrace=1
  build asan-ubsan lockstep_memory_trial
  build/asan-ubsan/tests/bin/lockstep_memory_trial 2000 "${LOCKSTEP_PART:-0/1}"
}

# The programs as their users meet them, under the same sanitizers: what reads
# hostile input, is interrupted, and writes files.
programs() {
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
  export LSAN_OPTIONS=suppressions=$PWD/.ci/leaks.supp:print_suppressions=0
  export UBSAN_OPTIONS=print_stacktrace=1
  build asan-ubsan lockstep lockstep-fuzz lockstep-host
  ctest --preset asan-ubsan --no-tests=error \
    -R '^cli\.(bad_input|friendly|mask_file|outputs|plan|robust|verdicts|wide_output)$'
}

# Archer tells the sanitizer which accesses OpenMP has ordered; without it every
# barrier looks like a race.
threads() {
  export OMP_TOOL_LIBRARIES=libarcher.so OMP_NUM_THREADS=2
  export TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1
  build tsan lockstep canary_sanitizer
  ctest --preset tsan -R canary_sanitizer --no-tests=error
  build/tsan/bin/lockstep verify --cases data/cases/smoke.cases --threads 2
}

case ${1:-} in
  second_compiler | second_programs | address_and_undefined | memory | programs | \
    threads) "$1" ;;
  *)
    printf 'phases.sh: unknown phase %s\n' "${1:-}" >&2
    exit 2
    ;;
esac
