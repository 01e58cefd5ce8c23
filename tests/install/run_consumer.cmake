# Script of one consumer test; see CMakeLists.txt for its variables. PARTS: the consumers
# that are built and run, with a colon between them.
string(REPLACE ":" ";" PARTS "${PARTS}")

set(work "${BUILD}/tests/install/${NAME}")
set(build "${work}/build")
if(WAY STREQUAL "subproject")
  # As deep as the tree that has built us: so ccache knows what is compiled alike.
  set(build "${BUILD}-${NAME}")
endif()
file(REMOVE_RECURSE "${work}" "${build}")

function(run)
  list(JOIN ARGV " " line)
  execute_process(
    COMMAND ${ARGV}
    RESULT_VARIABLE code
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${line}\nfailed (${code}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(arguments -DCMAKE_BUILD_TYPE=${CONFIG} -DCMAKE_CXX_COMPILER=${COMPILER}
              -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
if(WAY STREQUAL "package")
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/prefix"
      --config "${CONFIG}")
  # Moved, so that nothing can lean on the place it was installed to.
  file(RENAME "${work}/prefix" "${work}/moved")
  string(PREPEND PREFIX_PATH "${work}/moved;")
else()
  list(APPEND arguments "-DLOCKSTEP_SOURCE=${SOURCE}" -DLOCKSTEP_WERROR=ON
       -DLOCKSTEP_ONE_TARGET=${ONE_TARGET})
endif()
string(REPLACE ";" "\\;" PREFIX_PATH "${PREFIX_PATH}")

# The example that docs/api.md shows, and what it says it prints.
file(READ "${SOURCE}/docs/api.md" page)
string(REPLACE ";" "\\;" page "${page}")
if(NOT page MATCHES "```cpp\n(.*)```\n```text\n([^`]*)```")
  message(FATAL_ERROR "docs/api.md shows no example with its output")
endif()
set(example "${CMAKE_MATCH_1}")
set(shown "${CMAKE_MATCH_2}")
string(REPLACE "\\;" ";" example "${example}")
string(REPLACE "\\;" ";" shown "${shown}")
file(WRITE "${work}/api.cc" "${example}")
list(APPEND arguments "-DAPI_EXAMPLE=${work}/api.cc")

run("${CMAKE_COMMAND}" -S "${SOURCE}/tests/install/consumer" -B "${build}"
    -G "${GENERATOR}" ${arguments} "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}")
foreach(part IN LISTS PARTS)
  run("${CMAKE_COMMAND}" --build "${build}" --target consumer_${part})
  run("${build}/${part}/consumer_${part}")
  message(STATUS "consumer of ${part} (${NAME}) says: ${output}")
  if(part STREQUAL "api")
    if(NOT output STREQUAL shown)
      message(FATAL_ERROR "docs/api.md shows\n${shown}but prints\n${output}")
    endif()
  elseif(NOT output MATCHES "bits equal: yes")
    message(FATAL_ERROR "the consumer's kernels disagree: ${output}")
  endif()
endforeach()

if(WAY STREQUAL "package")
  # The program came along and finds its libraries.
  run("${work}/moved/bin/lockstep" list ops)
  if(NOT output MATCHES "attention_forward")
    message(FATAL_ERROR "installed program lists no attention_forward: ${output}")
  endif()
  # So did the header for kernels of others, an example, and the host.
  run(gcc -std=c99 -fPIC -shared -I "${work}/moved/include"
      "${work}/moved/share/lockstep/examples/attention.c" -o
      "${work}/attention.so" -lm)
  run("${work}/moved/bin/lockstep" verify "attention_forward sq=5 skv=9 d=8 cap=30"
      --candidate "so:${work}/attention.so" --profile from-candidate)
  if(NOT output MATCHES "1 case: 1 pass")
    message(FATAL_ERROR "the example does not pass: ${output}")
  endif()
  # The public headers lean on nothing that was not installed.
  file(GLOB_RECURSE kernels "${work}/moved/include/*-inl.h")
  if(kernels)
    message(FATAL_ERROR "kernel headers were installed: ${kernels}")
  endif()
endif()
