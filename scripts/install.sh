#!/usr/bin/env bash
# Builds Lockstep and installs it: programs, libraries, headers, the man page and
# completions. Needs Debian 12, as root or with sudo for missing packages.
#
#   scripts/install.sh PREFIX     such as /usr/local or ~/.local
caller=$PWD
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
  -h | --help)
    sed -n '2,/^caller/{/^caller/d;s/^# \{0,1\}//;p}' "scripts/install.sh"
    exit 0
    ;;
  "" | -*)
    printf 'install: error: want a folder, such as /usr/local or ~/.local\n' >&2
    exit 2
    ;;
esac
case $1 in
  /*) prefix=$1 ;;
  *) prefix=$caller/$1 ;;
esac

# The packages of the tests are more than a user of the programs needs, but one
# list is one truth.
scripts/install-deps.sh

# A build of its own: that of a developer has tests and benchmarks.
build_all() {
  cmake -S . -B build/install -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" -DLOCKSTEP_BUILD_TESTS=OFF \
    -DLOCKSTEP_BUILD_BENCH=OFF &&
    cmake --build build/install
}
mkdir -p build/install
phase "build" quietly build/install/build.log build_all
phase "install" quietly build/install/install.log \
  cmake --install build/install --prefix "$prefix"
printf '\nlockstep is installed in %s\n' "$prefix"
