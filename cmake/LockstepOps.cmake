# The ops: the one list of the rooms that each has a unit in. Adding an op means one
# same-named unit in every room it declares, one line at the end of this file and one
# row in verify/registry/ops.cc. Configuring fails until every declared room is
# furnished.

set(LOCKSTEP_OP_ROOMS contract reference optimized text emulator oracle inputs allowed
                      trial domain docs)

# lockstep_declare_op(NAME ROOMS ROOMS...)
function(lockstep_declare_op name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ROOMS")
  set(contract reference/contract/${name}.h)
  set(reference reference/${name}.h reference/${name}.cc)
  set(optimized optimized/${name}.h optimized/${name}.cc
                optimized/${name}-inl.h)
  set(text verify/case/${name}*)
  set(emulator verify/emulator/${name}/kernel.h)
  set(oracle verify/oracle/${name}/truth.h)
  set(inputs verify/inputs/${name}*)
  set(allowed verify/allowed/${name}/envelope.h verify/allowed/${name}/probes.h)
  set(trial verify/ops/${name}/trial.h)
  set(domain verify/domain/${name}.h)
  set(docs docs/ops/${name}.md)
  foreach(room IN LISTS arg_ROOMS)
    if(NOT room IN_LIST LOCKSTEP_OP_ROOMS)
      message(FATAL_ERROR "op ${name}: '${room}' is no room; rooms are "
                          "${LOCKSTEP_OP_ROOMS}")
    endif()
    foreach(file IN LISTS ${room})
      file(GLOB found "${PROJECT_SOURCE_DIR}/${file}")
      if(NOT found)
        message(FATAL_ERROR "op ${name} declares the room '${room}' in "
                            "cmake/LockstepOps.cmake, but ${file} is missing")
      endif()
    endforeach()
  endforeach()
  file(STRINGS "${PROJECT_SOURCE_DIR}/verify/registry/ops.cc" row
       REGEX "verify/ops/${name}/")
  if(NOT row)
    message(FATAL_ERROR "op ${name} has no row in verify/registry/ops.cc")
  endif()
endfunction()

lockstep_declare_op(attention_forward ROOMS ${LOCKSTEP_OP_ROOMS})
# Its keys and masks are attention_forward's.
lockstep_declare_op(attention_backward ROOMS contract reference optimized text inputs trial
                    domain docs)
# What keys there were is no matter of a merge: parts have weights of their own.
lockstep_declare_op(attention_merge ROOMS contract reference optimized text emulator
                    oracle inputs trial domain docs)
# mamba3_step is the same scan, token by token: it has these units, too.
lockstep_declare_op(mamba3_scan ROOMS ${LOCKSTEP_OP_ROOMS})
lockstep_declare_op(mamba3_scan_backward ROOMS contract reference optimized text inputs
                    trial domain docs)
# Its kernel, emulator, oracle and envelopes are mamba3_scan's, with tau = +infinity.
lockstep_declare_op(ssd_scan ROOMS contract reference text inputs trial domain docs)
# Its unit of tables is a room of its own, verify/tables.
lockstep_declare_op(block_plan ROOMS text trial domain)
