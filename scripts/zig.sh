#!/usr/bin/env bash
# Compiles for another machine with the clang of Python's package ziglang, which has
# libc++ and the headers of every glibc. Debian's apt-get brings the libraries' sources
# and the headers of Python.
#
#   scripts/zig.sh libraries PROCESSOR        x86_64 or aarch64
#   scripts/zig.sh build PROCESSOR TARGET...  those and their libraries
#
# build/wheels/PROCESSOR has all that a target needs: bin/ the compiler's programs,
# include/ and lib/ the libraries, python/ the headers of Python, build/ the tree.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

ZIG_FOLDER=$PWD/build/wheels
ZIG_GLIBC=2.28
ZIG_PYTHON=$ZIG_FOLDER/venv/bin/python
# Libraries of headers alone; the system's Debian packages have them.
ZIG_HEADERS=(libcli11-dev nlohmann-json3-dev librandom123-dev libxsimd-dev
  libtomlplusplus-dev)
# The release of Debian whose Highway and Python are new enough.
ZIG_NEXT=trixie

die() {
  printf 'zig.sh: error: %s\n' "$*" >&2
  exit 1
}

# The name of a processor in Debian's package names.
debian_architecture() {
  case $1 in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) die "there is no target '$1'; want x86_64 or aarch64" ;;
  esac
}

# An environment with the versions of scripts/wheels.txt.
zig_tools() {
  local made=$ZIG_FOLDER/venv/made
  cmp -s scripts/wheels.txt "$made" && return
  rm -rf "$ZIG_FOLDER/venv"
  python3 -m venv "$ZIG_FOLDER/venv"
  "$ZIG_PYTHON" -m pip install --quiet --disable-pip-version-check \
    -r scripts/wheels.txt || die "pip cannot get the compiler of scripts/wheels.txt"
  cp scripts/wheels.txt "$made"
}

# The sources that are compiled for every target.
zig_sources() {
  local dir=$ZIG_FOLDER/sources
  [[ -e $dir/made ]] && return
  mkdir -p "$dir"
  LOG=$dir/log
  open_archive "$dir" deb-src amd64 "$ZIG_NEXT"
  fetch_source "$dir" highway
  touch "$dir/made"
}

zig_programs() {
  local processor=$1 place=$2 zig tool
  zig=$("$ZIG_PYTHON" -c 'import os, ziglang
print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
  mkdir -p "$place/bin"
  # By itself it has a sanitizer in what is not optimized, as tests are. Without symbols
  # everywhere (-s): it builds the C++ library anew, 40 s of a core, for other links.
  for tool in cc c++; do
    printf '#!/bin/sh\nexec "%s" %s -target %s-linux-gnu.%s -fno-sanitize=undefined -s "$@"\n' \
      "$zig" "$tool" "$processor" "$ZIG_GLIBC" >"$place/bin/zig-$tool"
  done
  for tool in ar ranlib; do
    printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" "$tool" >"$place/bin/zig-$tool"
  done
  chmod +x "$place"/bin/zig-*
}

# Headers and CMake files of Debian's packages, as they lie there.
zig_headers() {
  local processor=$1 place=$2 file
  dpkg -L "${ZIG_HEADERS[@]}" | grep -E '^/usr/(include|share/cmake|lib/[^/]*/cmake)/' |
    while read -r file; do
      [[ -d $file ]] || install -D -m 644 "$file" "$place${file#/usr}"
    done
  # Where CMake looks for this processor's.
  [[ -d $place/lib/$processor-linux-gnu ]] ||
    mv "$place/lib/$(uname -m)-linux-gnu" "$place/lib/$processor-linux-gnu"
  cp /usr/include/xxhash.h "$place/include"
}

zig_cmake() {
  local processor=$1 source=$2 build=$3
  shift 3
  cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    "-DCMAKE_TOOLCHAIN_FILE=$PWD/cmake/zig.cmake" -DLOCKSTEP_ZIG_PROCESSOR="$processor" \
    "-DLOCKSTEP_ZIG_FOLDER=$ZIG_FOLDER/$processor" "$@"
}

zig_xxhash() {
  local place=$1 objects=$1/objects
  mkdir -p "$objects"
  printf '#define %s\n' XXH_STATIC_LINKING_ONLY XXH_IMPLEMENTATION >"$objects/xxhash.c"
  printf '#include "xxhash.h"\n' >>"$objects/xxhash.c"
  "$place/bin/zig-cc" -O3 -fPIC "-I$place/include" -c "$objects/xxhash.c" \
    -o "$objects/xxhash.o"
  rm -f "$place/lib/libxxhash.a"
  "$place/bin/zig-ar" rcs "$place/lib/libxxhash.a" "$objects/xxhash.o"
}

zig_highway() {
  local processor=$1 place=$2
  zig_cmake "$processor" "$ZIG_FOLDER/sources/highway" "$place/highway" \
    -DCMAKE_INSTALL_PREFIX="$place" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
    -DBUILD_TESTING=OFF -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF \
    -DHWY_ENABLE_CONTRIB=OFF
  cmake --build "$place/highway"
  cmake --install "$place/highway"
}

zig_googletest() {
  local processor=$1 place=$2
  zig_cmake "$processor" /usr/src/googletest "$place/googletest" \
    -DCMAKE_INSTALL_PREFIX="$place" -DCMAKE_INSTALL_LIBDIR=lib
  cmake --build "$place/googletest"
  cmake --install "$place/googletest"
}

# The headers of the oldest Python, and of a newer one for its stable interface.
zig_python() {
  local processor=$1 place=$2 release package
  for release in "$(debian_release)" "$ZIG_NEXT"; do
    package=libpython3.11-dev
    [[ $release == "$ZIG_NEXT" ]] && package=libpython3.13-dev
    LOG=$place/packages/$release/log
    mkdir -p "${LOG%/*}"
    open_archive "${LOG%/*}" deb "$(debian_architecture "$processor")" "$release"
    unpack_packages "${LOG%/*}" "$place/python" "$package"
  done
}

# All that a target needs before Lockstep itself; a second call finds it in place.
zig_target() {
  local processor=$1 place=$ZIG_FOLDER/$1
  debian_architecture "$processor" >/dev/null
  zig_tools
  zig_sources
  zig_programs "$processor" "$place"
  [[ -e $place/made ]] && return
  zig_headers "$processor" "$place"
  zig_xxhash "$place"
  zig_highway "$processor" "$place"
  zig_googletest "$processor" "$place"
  zig_python "$processor" "$place"
  touch "$place/made"
}

# Configures build/wheels/PROCESSOR/build: the programs, the extensions and the tests.
zig_configure() {
  local processor=$1 place=$ZIG_FOLDER/$1 headers=$ZIG_FOLDER/$1/python/usr/include
  zig_cmake "$processor" . "$place/build" -DLOCKSTEP_BUILD_PYTHON=ON \
    -DLOCKSTEP_USE_OPENMP=OFF -DLOCKSTEP_INSTALL=OFF -DLOCKSTEP_BUILD_BENCH=OFF \
    -DLOCKSTEP_PRECOMPILE=OFF -DLOCKSTEP_CCACHE=OFF \
    -DPython_EXECUTABLE="$ZIG_PYTHON" \
    "-DLOCKSTEP_PYTHON_HEADERS=cp311=$headers/python3.11;cp312-abi3=$headers/python3.13"
}

zig_build() {
  local processor=$1
  shift
  zig_target "$processor"
  zig_configure "$processor"
  cmake --build "$ZIG_FOLDER/$processor/build" --target "$@"
}

case ${1:-} in
  libraries) zig_target "${2:-}" ;;
  build) zig_build "${@:2}" ;;
  *)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "scripts/zig.sh"
    [[ ${1:-} == --help || ${1:-} == -h ]] || exit 2
    ;;
esac
