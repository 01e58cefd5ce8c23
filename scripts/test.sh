#!/usr/bin/env bash
# The tests that a newcomer waits for, from a fresh clone: installs what is missing,
# builds the release programs, judges the smoke cases and runs the unit, golden,
# command-line and documentation tests. ctest's summary comes last; the exit code is
# 0 only if everything passed. Tests of the programs that passed on the same contents of
# the checkout are not run again; LOCKSTEP_FRESH=1 runs all. What CI runs beyond that:
# .ci/run.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "scripts/test.sh"
    exit 0
    ;;
  "") ;;
  *)
    printf 'test.sh: unknown option %s (known: --help)\n' "$1" >&2
    exit 2
    ;;
esac

smoke_cases() {
  build/release/bin/lockstep verify --cases data/cases/smoke.cases
}

# One test more than cores, since those of hosts wait for time limits to pass: 263 s on
# two cores, 281 without (AMD EPYC, family 25, model 17).
ring() {
  CTEST_PARALLEL_LEVEL=$((JOBS + 1)) ctest --preset quick --no-tests=error
}

phase "dependencies" scripts/install-deps.sh
phase "build release" build release quick_tests
phase "smoke cases" quietly build/smoke.log smoke_cases || true
phase "unit, golden, command-line and documentation tests" \
  ring || true
print_phases
((${#PHASE_FAILED[@]} == 0))
