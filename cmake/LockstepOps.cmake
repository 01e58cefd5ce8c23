# The ops: the one list. Adding an op means one same-named unit in every room it
# declares, one line at the end of this file and one row in verify/op_list.cc.
# Configuring fails until every declared room is furnished.

# lockstep_declare_op(NAME ROOMS ROOMS...)
function(lockstep_declare_op name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ROOMS")
  set(contract reference/contract/${name}.h)
  set(reference reference/${name}.h reference/${name}.cc)
  set(optimized optimized/${name}.h optimized/${name}.cc
                optimized/${name}-inl.h)
  set(verify verify/ops/${name}.cc)
  set(bench bench/${name}_bench.cc)
  foreach(room IN LISTS arg_ROOMS)
    if(NOT DEFINED ${room})
      message(FATAL_ERROR "op ${name}: '${room}' is no room; rooms are "
                          "contract reference optimized verify bench")
    endif()
    foreach(file IN LISTS ${room})
      if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${file}")
        message(FATAL_ERROR "op ${name} declares the room '${room}' in "
                            "cmake/LockstepOps.cmake, but ${file} is missing")
      endif()
    endforeach()
  endforeach()
endfunction()
