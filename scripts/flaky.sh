#!/usr/bin/env bash
# Whether a test depends on time, load or another test: runs those of a newcomer N times
# (3 if not said), eight at a time, with four busy loops beside them. Prints the tests
# executed a round; fewer than all, or a failure, is exit 1. Takes several minutes a
# round, on a machine that has nothing else to do.
# Usage: scripts/flaky.sh [N]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' scripts/flaky.sh
    exit 0
    ;;
esac
rounds=${1:-3}
if ! [[ $rounds =~ ^[1-9][0-9]*$ ]]; then
  printf "flaky.sh: '%s': want a number of rounds, such as 3\n" "$rounds" >&2
  exit 2
fi

build release
all=$(ctest --preset quick -N | sed -n 's/^Total Tests: //p')
loops=()
trap 'kill "${loops[@]}" 2>/dev/null' EXIT
for _ in 1 2 3 4; do
  (while :; do :; done) &
  loops+=($!)
done

bad=0
for ((round = 1; round <= rounds; ++round)); do
  log=build/release/flaky-$round.log
  code=0
  LOCKSTEP_FRESH=1 ctest --preset quick -j 8 --output-on-failure >"$log" 2>&1 || code=$?
  executed=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*(Passed|Failed|\*\*\*)' "$log" || true)
  skipped=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*(Skipped|Not Run)' "$log" || true)
  printf 'round %d: %d of %d tests executed, %d of them skipped, exit %d\n' \
    "$round" "$executed" "$all" "$skipped" "$code"
  if ((code || executed != all)); then
    bad=1
    sed -n '/The following tests FAILED/,$p' "$log"
    printf 'all of it: %s\n' "$log"
  fi
done
exit "$bad"
