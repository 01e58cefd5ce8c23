# The two flag targets, and the functions that make libraries, programs and
# tests. Compiler flags live here and nowhere else.

# Flags that the numerics contract needs. They belong to this build only: the
# public headers hold no arithmetic, so a project that links Lockstep keeps its
# own flags.
add_library(lockstep_numerics INTERFACE)
target_compile_features(lockstep_numerics INTERFACE cxx_std_20)
set(_numerics
    # Keeps IEEE semantics whatever CXXFLAGS says before it: no reassociation,
    # no finite-math assumptions, and no start-up code that sets FTZ/DAZ.
    -fno-fast-math
    # Exact: lets sqrt and fma compile to one instruction; only errno changes.
    -fno-math-errno
    # N4: fused only where the source says fma. g++ contracts by default, even
    # across statements. After -fno-fast-math, which may set it too.
    -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # N2: g++ 12.2 -O2 drops a conditional truncation of a float's bits,
  # `if (c) x = x & 0xffff0000`, when it substitutes temporaries at expansion.
  # tests/canary/ holds the pattern.
  list(APPEND _numerics -fno-tree-ter)
endif()
target_compile_options(lockstep_numerics
                       INTERFACE "$<BUILD_INTERFACE:${_numerics}>")

add_library(lockstep_warnings INTERFACE)
set(_warnings
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wnon-virtual-dtor
    -Wfloat-conversion)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's own std::stable_sort uses a function that it has deprecated,
  # and clang blames whoever instantiates it.
  list(APPEND _warnings -Wno-deprecated-declarations)
else()
  # g++ 12 finds the undefined vectors in its own AVX-512 headers uninitialised.
  list(APPEND _warnings -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 at -O3 sees overlaps of 2^63 bytes in std::string's operator+, and in
  # batches copies of as many, and loops of as many turns; clang and the sanitizers
  # look at bounds, too. It takes a batch's files for headers, whose types must not have
  # members of unnamed namespaces.
  list(APPEND _warnings -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
       -Wno-stringop-overread -Wno-aggressive-loop-optimizations -Wno-subobject-linkage)
endif()
if(LOCKSTEP_WERROR)
  list(APPEND _warnings -Werror)
endif()
target_compile_options(lockstep_warnings
                       INTERFACE "$<BUILD_INTERFACE:${_warnings}>")

# The contract's arithmetic is f32: a value silently widened to binary64 there is a
# different arithmetic. The judge computes in binary64 and widens all the time.
set(_f32_warnings -Wdouble-promotion)
set(_f32_rooms contract reference optimized)

# _lockstep_is_optimized(NAME RESULT): see LOCKSTEP_OPTIMIZE.
function(_lockstep_is_optimized name result)
  set(optimized TRUE)
  if(NOT LOCKSTEP_OPTIMIZE STREQUAL "all"
     AND NOT name MATCHES "^lockstep_(contract|team|reference|optimized|oracle|kernel_prelude)$")
    if(NOT LOCKSTEP_OPTIMIZE STREQUAL "judge"
       OR name MATCHES "^lockstep_(bench|cli|engine|fuzz|selftest)$"
       OR name MATCHES "^lockstep_(outer|program)_prelude$"
       OR NOT name MATCHES "^lockstep_")  # a program
      set(optimized FALSE)
    endif()
  endif()
  set(${result} ${optimized} PARENT_SCOPE)
endfunction()

# What every library, program and test of the project has in common.
function(_lockstep_common_settings name)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF
                                           POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PRIVATE lockstep_warnings)
  _lockstep_is_optimized(${name} optimized)
  if(NOT optimized)
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()

# The standard headers as the compiler keeps them once parsed (prelude.h), for what is
# compiled with the same flags: libraries; those that LOCKSTEP_OPTIMIZE makes an
# exception of, the unoptimised ones (outer) or the optimized (kernel); programs, whose
# code is position-independent in another way; tests, with GoogleTest's headers.
if(LOCKSTEP_PRECOMPILE)
  # By the header's name, as g++ takes it: the other way names the tree to ccache.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
  find_package(Python3 COMPONENTS Interpreter)
  set(_kinds library program test)
  if(LOCKSTEP_OPTIMIZE STREQUAL "judge")
    list(APPEND _kinds outer)
  elseif(LOCKSTEP_OPTIMIZE STREQUAL "kernels")
    list(APPEND _kinds kernel)
  endif()
  foreach(kind IN LISTS _kinds)
    set(prelude lockstep_${kind}_prelude)
    add_library(${prelude} OBJECT "${PROJECT_SOURCE_DIR}/cmake/prelude.cc")
    _lockstep_common_settings(${prelude})
    target_link_libraries(${prelude} PRIVATE lockstep_numerics)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      target_compile_options(${prelude}
                             PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
    target_precompile_headers(${prelude} PRIVATE
                              "${PROJECT_SOURCE_DIR}/cmake/prelude.h")
    if(Python3_FOUND)
      set_target_properties(
        ${prelude}
        PROPERTIES
          CXX_COMPILER_LAUNCHER
          "${Python3_EXECUTABLE};${PROJECT_SOURCE_DIR}/cmake/precompile.py;${PROJECT_SOURCE_DIR}"
      )
    endif()
    if(kind MATCHES "^(program|test)$")
      set_target_properties(${prelude} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${prelude} PRIVATE -fPIE)
    endif()
  endforeach()
  target_compile_options(lockstep_test_prelude PRIVATE -O0)
  if(LOCKSTEP_BUILD_TESTS)
    target_precompile_headers(lockstep_test_prelude PRIVATE <gtest/gtest.h>)
    target_link_libraries(lockstep_test_prelude PRIVATE GTest::gtest)
  endif()
endif()

# _lockstep_precompiled(NAME KIND): NAME's files start where the headers of its kind end.
function(_lockstep_precompiled name kind)
  if(LOCKSTEP_PRECOMPILE)
    _lockstep_is_optimized(${name} optimized)
    _lockstep_is_optimized(lockstep_${kind}_prelude prelude_optimized)
    if(kind STREQUAL "library" AND NOT optimized AND prelude_optimized)
      set(kind outer)
    elseif(kind STREQUAL "library" AND optimized AND NOT prelude_optimized)
      set(kind kernel)
    endif()
    target_precompile_headers(${name} REUSE_FROM lockstep_${kind}_prelude)
  endif()
endfunction()

# _lockstep_compile_quickly(NAME KIND): that, and NAME's files are compiled in batches:
# what many files instantiate is most of their time. A batch has at most 8 files of one
# folder, so that a new file changes few of them.
function(_lockstep_compile_quickly name kind)
  _lockstep_precompiled(${name} ${kind})
  get_target_property(files ${name} SOURCES)
  list(LENGTH files count)
  if(NOT LOCKSTEP_UNITY OR count EQUAL 1)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(file IN LISTS files)
    get_filename_component(folder "${file}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    math(EXPR batch "0${count_${folder}}")
    math(EXPR count_${folder} "${batch} + 1")
    math(EXPR batch "${batch} / 8")
    set_source_files_properties("${file}" PROPERTIES UNITY_GROUP "${folder}_${batch}")
  endforeach()
endfunction()

# lockstep_add_library(NAME SOURCES... [FOLDER FOLDER] [PUBLIC LIBS...] [PRIVATE LIBS...])
#   Static library lockstep_NAME (LOCKSTEP_SHARED: shared) with alias Lockstep::NAME,
#   installed and exported. With FOLDER it also has all sources below that
#   folder. Headers are included from the project root.
function(lockstep_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "PUBLIC;PRIVATE")
  if(arg_FOLDER)
    file(GLOB_RECURSE found RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS
         "${arg_FOLDER}/*.cc")
    list(APPEND arg_UNPARSED_ARGUMENTS ${found})
  endif()
  set(target lockstep_${name})
  if(arg_UNPARSED_ARGUMENTS)
    set(kind STATIC)
    if(LOCKSTEP_SHARED)
      set(kind SHARED)
    endif()
    add_library(${target} ${kind} ${arg_UNPARSED_ARGUMENTS})
    _lockstep_common_settings(${target})
    # Objects are the same, shared or not.
    set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE})
    if(name IN_LIST _f32_rooms)
      target_compile_options(${target} PRIVATE ${_f32_warnings})
    endif()
    if(name MATCHES "^(contract|reference|optimized|oracle)$")
      _lockstep_precompiled(${target} library)
    elseif(NOT name STREQUAL "team")
      _lockstep_compile_quickly(${target} library)
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(Lockstep::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(${target} ${scope} lockstep_numerics ${arg_PUBLIC})
  target_include_directories(
    ${target} ${scope} "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<INSTALL_INTERFACE:include/lockstep>")
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_LIBRARIES ${target})
endfunction()

# lockstep_add_program(NAME SOURCES... [LIBS LIBS...])
#   Program NAME in <build>/bin, installed.
function(lockstep_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBS")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  _lockstep_common_settings(${name})
  _lockstep_compile_quickly(${name} program)
  target_link_libraries(${name} PRIVATE lockstep_numerics ${arg_LIBS})
  set_property(GLOBAL APPEND PROPERTY LOCKSTEP_PROGRAMS ${name})
endfunction()

# lockstep_add_test(NAME SOURCES... [LIBS LIBS...] [LABELS LABELS...] [WHOLE])
#   GoogleTest program; every TEST becomes one ctest "NAME.Suite.Case", found
#   when ctest starts. WHOLE registers the program as a single ctest "NAME":
#   for suites of thousands of cheap cases, where starting processes would cost
#   more than the tests. It runs in the project's root, so "data/..." works.
function(lockstep_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE" "" "LIBS;LABELS")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  _lockstep_common_settings(${name})
  _lockstep_compile_quickly(${name} test)
  # What takes time to run is in the libraries: with tests unoptimised the release build
  # took 342 s, with tests like them 412 (two cores of an AMD EPYC, family 23).
  target_compile_options(${name} PRIVATE -O0)
  # Those that scripts/test.sh builds, for it runs them.
  if(NOT "slow" IN_LIST arg_LABELS)
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_TESTS ${name})
  endif()
  set_target_properties(
    ${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                       "${PROJECT_BINARY_DIR}/tests/bin")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE lockstep_numerics ${arg_LIBS}
                                        GTest::gtest_main GTest::gmock)
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(arg_WHOLE)
    add_test(
      NAME ${name}
      COMMAND ${name} --gtest_brief=1
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" COST 10)
  else()
    gtest_discover_tests(
      ${name}
      TEST_PREFIX "${name}."
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS "${arg_LABELS}")
  endif()
endfunction()

# lockstep_add_program_test(NAME SCRIPT [ARGUMENTS...] [LABEL LABEL] [MAY_SKIP]
#                           [ENVIRONMENT NAME=VALUE...])
#   A Python script that starts the built programs: it finds lockstep in LOCKSTEP, the
#   checkout in LOCKSTEP_SOURCE, and whether sanitizers slow it down in
#   LOCKSTEP_SANITIZED. MAY_SKIP: status 77 is a skip. What passed on the same contents
#   of the whole checkout is not run again (.ci/once.py), unless the label is nightly or
#   the build has sanitizers.
function(lockstep_add_program_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 arg "MAY_SKIP" "LABEL" "ENVIRONMENT")
  if(NOT arg_LABEL)
    set(arg_LABEL cli)
  endif()
  set(sanitized OFF)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    set(sanitized ON)
  endif()
  set(once "")
  if(NOT sanitized AND NOT arg_LABEL STREQUAL nightly)
    set(once
        "${LOCKSTEP_PYTHON}"
        -B
        "${PROJECT_SOURCE_DIR}/.ci/once.py"
        "${name}"
        reference
        optimized
        verify
        fuzz
        bench
        tests
        data
        docs
        examples
        python
        scripts
        cmake
        CMakeLists.txt
        CMakePresets.json
        README.md
        pyproject.toml
        action.yml
        .github
        --)
  endif()
  # The environment is a part of the command: it is a part of the mark.
  add_test(
    NAME ${name}
    COMMAND
      ${once} "${CMAKE_COMMAND}" -E env "LOCKSTEP=$<TARGET_FILE:lockstep>"
      "LOCKSTEP_SOURCE=${PROJECT_SOURCE_DIR}" "LOCKSTEP_SANITIZED=${sanitized}"
      PYTHONDONTWRITEBYTECODE=1 ${arg_ENVIRONMENT} "${LOCKSTEP_PYTHON}"
      "${CMAKE_CURRENT_SOURCE_DIR}/${script}" ${arg_UNPARSED_ARGUMENTS}
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  # What takes longest begins first, in a tree that has seen no times yet, too.
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} COST 20)
  if(arg_MAY_SKIP)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()
