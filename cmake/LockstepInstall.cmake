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

# Headers are included from the project root ("reference/contract/types.h"), so
# they keep their folders, below one folder of our own.
foreach(room IN ITEMS reference optimized verify fuzz)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${room}")
    install(
      DIRECTORY "${PROJECT_SOURCE_DIR}/${room}"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lockstep"
      FILES_MATCHING
      PATTERN "*.h"
      PATTERN "*-inl.h" EXCLUDE)
  endif()
endforeach()

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
