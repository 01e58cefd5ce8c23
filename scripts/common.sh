# Shared by the scripts of this folder: source it. Goes to the checkout's root,
# names the number of jobs, and times phases.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

JOBS=${LOCKSTEP_JOBS:-$(nproc)}
# A smoke job or a test that ignores this machine's cores is not wanted.
export CTEST_PARALLEL_LEVEL=$JOBS CMAKE_BUILD_PARALLEL_LEVEL=$JOBS

# What one checkout compiled serves the next one, wherever that lies.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# And files that start with precompiled headers (cmake/prelude.h), which ccache serves
# only if told that no source uses __DATE__ or __TIME__, and to another checkout only by
# the sums of cmake/precompile.py.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1

PHASE_NAMES=()
PHASE_SECONDS=()
PHASE_FAILED=()

# phase NAME COMMAND...: runs it, prints its name first and its time after.
phase() {
  local name=$1 start=$SECONDS code=0
  shift
  printf '\n==> %s\n' "$name"
  "$@" || code=$?
  PHASE_NAMES+=("$name")
  PHASE_SECONDS+=($((SECONDS - start)))
  if ((code)); then
    PHASE_FAILED+=("$name")
    printf '==> %s FAILED (exit %d)\n' "$name" "$code"
  fi
  return "$code"
}

# quietly LOG COMMAND...: the end of its output; all of it lies in LOG.
quietly() {
  local log=$1 code=0
  shift
  "$@" >"$log" 2>&1 || code=$?
  tail -n "$((code ? 80 : 3))" "$log"
  return "$code"
}

print_phases() {
  local i
  printf '\nTime per phase:\n'
  for i in "${!PHASE_NAMES[@]}"; do
    printf '  %5d s  %s\n' "${PHASE_SECONDS[i]}" "${PHASE_NAMES[i]}"
  done
}

# One line of what is built now, on a terminal; nothing elsewhere.
show_progress() {
  local line
  if [[ ! -t 1 ]]; then
    cat >/dev/null
    return
  fi
  printf 'the first build takes minutes; later ones take what has changed\n'
  while read -r line; do
    [[ $line == \[* ]] && printf '\r\033[K%.*s' "$((${COLUMNS:-80} - 1))" "$line"
  done
  printf '\r\033[K'
}

# build PRESET [TARGET...]: configures and builds, quietly unless it fails.
build() {
  local preset=$1 log
  shift
  mkdir -p "build/$preset"
  log=build/$preset/build.log
  if ! { cmake --preset "$preset" &&
    cmake --build --preset "$preset" ${1:+--target "$@"}; } 2>&1 |
    tee "$log" | show_progress; then
    tail -n 60 "$log"
    printf 'building the preset %s failed; full log: %s\n' "$preset" "$log" >&2
    return 1
  fi
}
