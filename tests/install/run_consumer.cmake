# Script of one consumer test; see CMakeLists.txt for its variables.

set(work "${BUILD}/tests/install/${WAY}")
file(REMOVE_RECURSE "${work}")

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
  list(APPEND arguments "-DLOCKSTEP_SOURCE=${SOURCE}")
endif()
string(REPLACE ";" "\\;" PREFIX_PATH "${PREFIX_PATH}")

run("${CMAKE_COMMAND}" -S "${SOURCE}/tests/install/consumer" -B "${work}/build"
    -G "${GENERATOR}" ${arguments} "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}")
run("${CMAKE_COMMAND}" --build "${work}/build" --target consumer)
run("${work}/build/consumer")
message(STATUS "consumer (${WAY}) says: ${output}")
if(NOT output MATCHES "bits equal: yes")
  message(FATAL_ERROR "the consumer's kernels disagree: ${output}")
endif()

if(WAY STREQUAL "package")
  # The program came along and finds its libraries.
  run("${work}/moved/bin/lockstep" list ops)
  if(NOT output MATCHES "attention_forward")
    message(FATAL_ERROR "installed program lists no attention_forward: ${output}")
  endif()
  # The public headers lean on nothing that was not installed.
  file(GLOB_RECURSE kernels "${work}/moved/include/*-inl.h")
  if(kernels)
    message(FATAL_ERROR "kernel headers were installed: ${kernels}")
  endif()
endif()
