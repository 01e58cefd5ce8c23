# Declares an op that has no unit anywhere: what configuring says of it.
cmake_minimum_required(VERSION 3.25)
include("${PROJECT_SOURCE_DIR}/cmake/LockstepOps.cmake")
if(ROOM STREQUAL "none")
  lockstep_declare_op(scan_of_nothing)
else()
  lockstep_declare_op(scan_of_nothing ROOMS ${ROOM})
endif()
