#!/usr/bin/env bash
# Passes every test, from a fresh clone: installs what is missing, then
#
#   second compiler   g++ builds the programs; golden digests and canary
#   asan-ubsan        one SIMD target; unit tests, the smoke cases, fuzzing
#   tsan              one SIMD target, libomp with Archer; the smoke cases on
#                     two threads
#   release           everything, including the consumer project
#
# A failing phase does not hide the next ones. ctest's summary of the release
# build comes last; the exit code is 0 only if every phase passed.
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

# The phases are subshells: their environment ends with them.
second_compiler() (
  build release-gcc golden_tests lockstep-fuzz && ctest --preset release-gcc -L 'golden|canary' --quiet \
    --no-tests=error --output-on-failure -O build/release-gcc/ctest.log
)

# A sanitizer's report is a failure even where a program would go on.
address_and_undefined() (
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1
  export UBSAN_OPTIONS=print_stacktrace=1
  build asan-ubsan &&
    ctest --preset asan-ubsan -R canary_sanitizer --no-tests=error &&
    ctest --preset asan-ubsan -L unit -LE slow --no-tests=error &&
    build/asan-ubsan/bin/lockstep verify --cases data/cases/smoke.cases &&
    build/asan-ubsan/bin/lockstep fuzz --budget 400cases
)

# Archer tells the sanitizer which accesses OpenMP has ordered; without it every
# barrier looks like a race.
threads() (
  export OMP_TOOL_LIBRARIES=libarcher.so OMP_NUM_THREADS=2
  export TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1
  build tsan lockstep canary_sanitizer &&
    ctest --preset tsan -R canary_sanitizer --no-tests=error &&
    build/tsan/bin/lockstep verify --cases data/cases/smoke.cases --threads 2
)

quietly() { # quietly LOG COMMAND...: its output only if it fails
  local log=$1
  shift
  if "$@" >"$log" 2>&1; then
    tail -n 3 "$log"
  else
    tail -n 80 "$log"
    return 1
  fi
}

phase "dependencies" scripts/install-deps.sh
mkdir -p build
phase "build release" build release || true
phase "second compiler: goldens" quietly build/gcc.log second_compiler || true
phase "asan-ubsan: unit tests, smoke cases, fuzzing" \
  quietly build/asan.log address_and_undefined || true
phase "tsan: smoke cases" quietly build/tsan.log threads || true
print_phases
if ((${#PHASE_FAILED[@]})); then
  printf '\nFAILED phases: %s\n' "$(IFS=,; echo "${PHASE_FAILED[*]}")"
fi
printf '\n==> release: all tests\n'
ctest --preset release --no-tests=error
((${#PHASE_FAILED[@]} == 0))
