# Toolchain file of scripts/wheels.sh: the clang of Python's package ziglang, which has
# libc++ and the headers of every glibc. LOCKSTEP_ZIG_FOLDER has the programs zig-cc,
# zig-c++, zig-ar and zig-ranlib of one target, and the libraries built for it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "${LOCKSTEP_ZIG_PROCESSOR}")
set(CMAKE_LIBRARY_ARCHITECTURE "${LOCKSTEP_ZIG_PROCESSOR}-linux-gnu")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LOCKSTEP_ZIG_FOLDER LOCKSTEP_ZIG_PROCESSOR)

foreach(tool IN ITEMS C:cc CXX:c++)
  string(REGEX MATCH "^(.*):(.*)$" tool "${tool}")
  set(CMAKE_${CMAKE_MATCH_1}_COMPILER "${LOCKSTEP_ZIG_FOLDER}/bin/zig-${CMAKE_MATCH_2}")
endforeach()
set(CMAKE_AR "${LOCKSTEP_ZIG_FOLDER}/bin/zig-ar")
set(CMAKE_RANLIB "${LOCKSTEP_ZIG_FOLDER}/bin/zig-ranlib")

# Nothing of this machine: its libraries are too new, or of another processor.
set(CMAKE_FIND_ROOT_PATH "${LOCKSTEP_ZIG_FOLDER}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(mode IN ITEMS LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${mode} ONLY)
endforeach()
