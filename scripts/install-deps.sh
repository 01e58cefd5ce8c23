#!/usr/bin/env bash
# Installs everything Lockstep needs to build and test itself on Debian.
#
#   scripts/install-deps.sh            install what is missing
#   scripts/install-deps.sh --dry-run  print what would be done, change nothing
#
# Runs as root, or as a user with sudo. A second run finds everything in place
# and returns at once. Two steps:
#
#   1. the packages below, through apt-get;
#   2. Highway >= 1.2. Debian 12 has 1.0.3, which lacks the native bf16 dot and
#      the Zen 4 / SPR targets. There the *source package* of the next stable
#      release is fetched through apt-get (signatures and hashes checked by it),
#      with a private apt state, from the archive and with the keyring that the
#      system's own configuration names; the system's package sources stay as
#      they are. The library alone is built, into
#      ${LOCKSTEP_CACHE:-${XDG_CACHE_HOME:-~/.cache}/lockstep}/highway-VERSION,
#      where cmake/LockstepDependencies.cmake looks for it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

readonly HIGHWAY_MIN=1.2.0
readonly -A NEXT_RELEASE=([bookworm]=trixie)

readonly PACKAGES=(
  # Compilers: clang for the release and the sanitizers, g++ as the second one.
  clang-19 lld-19 libomp-19-dev libclang-rt-19-dev llvm-19
  clang-format-19 clang-tidy-19 g++
  # Build.
  cmake ninja-build ccache pkg-config git ca-certificates dpkg-dev
  # Libraries (see cmake/LockstepDependencies.cmake).
  libxsimd-dev libgtest-dev libgmock-dev libbenchmark-dev libcli11-dev
  nlohmann-json3-dev librandom123-dev libxxhash-dev libtomlplusplus-dev
  # Generators, the clauses in NumPy and the workflows of the tests.
  python3 python3-numpy python3-mpmath python3-yaml
  # The Python package: pip builds it in an environment of its own.
  python3-dev python3-venv python3-pip patchelf
)

DRY_RUN=0
SUDO=()
LOG=""

say() { printf 'install-deps: %s\n' "$*"; }
die() {
  printf 'install-deps: error: %s\n' "$*" >&2
  exit 1
}

usage() { sed -n '2,/^set -euo/{/^set -euo/d;s/^# \{0,1\}//;p}' "$0"; }

cache_root() {
  printf '%s\n' "${LOCKSTEP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lockstep}"
}

# Packages of PACKAGES that are not installed, one a line.
missing_packages() {
  local installed
  installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' \
    "${PACKAGES[@]}" 2>/dev/null || true) "
  local package
  for package in "${PACKAGES[@]}"; do
    [[ $installed == *" installed:$package "* ]] || printf '%s\n' "$package"
  done
}

require_root() {
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null ||
      die "packages are missing (${MISSING[*]}) and installing them needs" \
        "root: run this script as root, or install sudo"
    SUDO=(sudo)
  fi
}

apt_get_system() {
  "${SUDO[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -y -o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
    -o Dpkg::Use-Pty=0 "$@"
}

install_packages() {
  read -ra MISSING <<<"$(missing_packages | paste -sd ' ')"
  if ((${#MISSING[@]} == 0)); then
    say "all ${#PACKAGES[@]} packages are installed"
    return
  fi
  if ((DRY_RUN)); then
    say "would run: apt-get update"
    say "would run: apt-get install --no-install-recommends ${MISSING[*]}"
    return
  fi
  require_root
  say "installing ${#MISSING[@]} packages: ${MISSING[*]}"
  # An unreachable third-party source must not stop us; the install step fails
  # when the packages themselves cannot be had.
  apt_get_system update >"$LOG" 2>&1 || true
  apt_get_system install --no-install-recommends "${MISSING[@]}" \
    >>"$LOG" 2>&1 || explain_apt_failure "the missing packages"
}

version_at_least() { dpkg --compare-versions "$1" ge "$2"; }

# Version of the Highway whose headers lie under the include folder $1.
highway_version_in() {
  sed -n 's/^#define HWY_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\).*/\2/p' \
    "$1/hwy/base.h" "$1/hwy/highway.h" 2>/dev/null | head -n 3 | paste -sd .
}

# Prints the prefix of a usable Highway, or fails.
find_highway() {
  local prefix version
  for prefix in /usr/local /usr "$(cache_root)"/highway-*; do
    [[ -e $prefix/include/hwy/highway.h ]] || continue
    compgen -G "$prefix/lib*/cmake/hwy/hwy-config.cmake" >/dev/null ||
      compgen -G "$prefix/lib/*/cmake/hwy/hwy-config.cmake" >/dev/null ||
      continue
    version=$(highway_version_in "$prefix/include")
    if [[ -n $version ]] && version_at_least "$version" "$HIGHWAY_MIN"; then
      printf '%s (%s)\n' "$prefix" "$version"
      return 0
    fi
  done
  return 1
}

fetch_highway_source() {
  local dir=$1 release next
  release=$(debian_release)
  next=${NEXT_RELEASE[$release]:-}
  [[ -n $next ]] || die "Highway >= $HIGHWAY_MIN is neither installed nor" \
    "packaged for '$release'; install it from source and point" \
    "CMAKE_PREFIX_PATH at it"
  say "fetching the source package of Highway from Debian's '$next'"
  open_archive "$dir" deb-src "$(dpkg --print-architecture)" "$next"
  fetch_source "$dir" highway
}

build_highway() {
  local dir version prefix
  dir=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$dir'" EXIT
  fetch_highway_source "$dir"
  version=$(highway_version_in "$dir/highway")
  version_at_least "$version" "$HIGHWAY_MIN" ||
    die "the source package is Highway $version, older than $HIGHWAY_MIN"
  prefix=$(cache_root)/highway-$version
  say "building Highway $version (library only)"
  # Static and position independent: linked into every Lockstep library alike.
  # Release without the contrib math and sort code, which Lockstep must not use.
  {
    cmake -S "$dir/highway" -B "$dir/build" -G Ninja \
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
      -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_CXX_COMPILER=clang++-19 \
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
      -DBUILD_TESTING=OFF -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF \
      -DHWY_ENABLE_CONTRIB=OFF &&
      cmake --build "$dir/build" &&
      rm -rf "$prefix.new" &&
      cmake --install "$dir/build" --prefix "$prefix.new"
  } >>"$LOG" 2>&1 || {
    tail -n 15 "$LOG" >&2
    die "building Highway failed (full log: $LOG)"
  }
  # Moved in one step: a half-installed library is never found.
  rm -rf "$prefix"
  mv "$prefix.new" "$prefix"
  say "Highway $version is installed in $prefix"
}

install_highway() {
  local found candidate
  if found=$(find_highway); then
    say "Highway: $found"
    return
  fi
  candidate=$(apt-cache policy libhwy-dev 2>/dev/null |
    awk '/Candidate:/ { print $2 }')
  if [[ -n $candidate && $candidate != "(none)" ]] &&
    version_at_least "$candidate" "$HIGHWAY_MIN"; then
    if ((DRY_RUN)); then
      say "would run: apt-get install --no-install-recommends libhwy-dev"
      return
    fi
    MISSING=(libhwy-dev)
    require_root
    apt_get_system install --no-install-recommends libhwy-dev >>"$LOG" 2>&1 ||
      explain_apt_failure "libhwy-dev"
    say "Highway: $(find_highway)"
    return
  fi
  if ((DRY_RUN)); then
    say "would fetch the source package 'highway' (>= $HIGHWAY_MIN) of" \
      "Debian's next stable release with a private apt state"
    say "would build it (library only) into $(cache_root)/highway-VERSION"
    return
  fi
  build_highway
}

main() {
  while (($#)); do
    case $1 in
      --dry-run) DRY_RUN=1 ;;
      -h | --help)
        usage
        exit 0
        ;;
      *) die "unknown option '$1' (known: --dry-run, --help)" ;;
    esac
    shift
  done
  command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
    die "this script needs a Debian system with apt-get; elsewhere install" \
      "the packages listed in it by hand"
  LOG=$(mktemp /tmp/lockstep-install-deps.XXXXXX)
  install_packages
  install_highway
  rm -f "$LOG"
}

main "$@"
