# Install and export, so that find_package(Lockstep) gives Lockstep::reference,
# Lockstep::optimized and Lockstep::verify. tests/install/ is the proof.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(_libraries GLOBAL PROPERTY LOCKSTEP_LIBRARIES)
get_property(_programs GLOBAL PROPERTY LOCKSTEP_PROGRAMS)
install(
  TARGETS lockstep_numerics lockstep_warnings ${_libraries} ${_programs}
  EXPORT LockstepTargets
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")

# Completions and the man page say what the parser says: made of what the programs tell,
# when they are built. A build for another machine that cannot run them has none, nor
# has one without Python.
find_package(Python3 COMPONENTS Interpreter)
if(TARGET lockstep AND Python3_FOUND AND (NOT CMAKE_CROSSCOMPILING
                                          OR CMAKE_CROSSCOMPILING_EMULATOR))
  set(_pages "${PROJECT_BINARY_DIR}/pages")
  set(_all_pages "${_pages}/bash-completion/completions/lockstep"
                 "${_pages}/zsh/site-functions/_lockstep"
                 "${_pages}/fish/vendor_completions.d/lockstep.fish"
                 "${_pages}/man/man1/lockstep.1")
  add_custom_command(
    OUTPUT ${_all_pages}
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/cmake/pages.py" "${_pages}"
            "$<TARGET_FILE:lockstep>" "$<TARGET_FILE:lockstep-fuzz>"
            "$<TARGET_FILE:lockstep-bench>"
    DEPENDS lockstep lockstep-bench lockstep-fuzz "${PROJECT_SOURCE_DIR}/cmake/pages.py"
    VERBATIM)
  add_custom_target(lockstep_pages ALL DEPENDS ${_all_pages})
  install(DIRECTORY "${_pages}/" DESTINATION "${CMAKE_INSTALL_DATADIR}")
endif()

# All that is installed, and no test, so that `cmake --install` works behind it.
add_custom_target(lockstep_installed DEPENDS ${_all_pages})
add_dependencies(lockstep_installed ${_libraries} ${_programs})

# Headers are included from the project root ("reference/contract/status.h"), so
# they keep their folders, below one folder of our own.
foreach(room IN ITEMS reference optimized verify fuzz)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${room}")
    install(
      DIRECTORY "${PROJECT_SOURCE_DIR}/${room}"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lockstep"
      FILES_MATCHING
      PATTERN "*.h"
      PATTERN "*-inl.h" EXCLUDE
      PATTERN "verify/host" EXCLUDE)
  endif()
endforeach()

# What kernels of others include, "lockstep/candidate.h", and whole ones to start
# from.
install(FILES "${PROJECT_SOURCE_DIR}/verify/host/include/lockstep/candidate.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lockstep")
install(FILES "${PROJECT_SOURCE_DIR}/examples/attention.c"
              "${PROJECT_SOURCE_DIR}/examples/scan.cc"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/lockstep/examples")

# The OpenMP runtime: libomp for clang, libgomp for g++.
set(LOCKSTEP_OPENMP_LIBRARY "")
foreach(_library IN LISTS OpenMP_CXX_LIBRARIES)
  if(_library MATCHES "omp[^/]*$")
    set(LOCKSTEP_OPENMP_LIBRARY "${_library}")
  endif()
endforeach()
if(NOT LOCKSTEP_OPENMP_LIBRARY)
  message(FATAL_ERROR "no OpenMP runtime among '${OpenMP_CXX_LIBRARIES}': "
                      "whoever links the installed libraries would lack it")
endif()
cmake_path(GET LOCKSTEP_OPENMP_LIBRARY PARENT_PATH LOCKSTEP_OPENMP_FOLDER)
cmake_path(GET LOCKSTEP_OPENMP_LIBRARY STEM LOCKSTEP_OPENMP_NAME)
string(REGEX REPLACE "^lib" "" LOCKSTEP_OPENMP_NAME "${LOCKSTEP_OPENMP_NAME}")

set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep")
install(
  EXPORT LockstepTargets
  NAMESPACE Lockstep::
  DESTINATION "${_package}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/LockstepConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/LockstepConfig.cmake"
  INSTALL_DESTINATION "${_package}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/LockstepConfig.cmake"
        "${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/LockstepHighway.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindRandom123.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindxxHash.cmake"
  DESTINATION "${_package}")
