# Finds Highway >= 1.2: on the system, under CMAKE_PREFIX_PATH, or where
# scripts/install-deps.sh puts it when the system's package is older. Used by the
# build and, installed beside LockstepConfig.cmake, by the projects that use it.

find_package(hwy 1.2 CONFIG QUIET)
if(NOT hwy_FOUND)
  if(DEFINED ENV{LOCKSTEP_CACHE})
    set(_lockstep_cache "$ENV{LOCKSTEP_CACHE}")
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(_lockstep_cache "$ENV{XDG_CACHE_HOME}/lockstep")
  else()
    set(_lockstep_cache "$ENV{HOME}/.cache/lockstep")
  endif()
  file(GLOB _lockstep_highways LIST_DIRECTORIES true
       "${_lockstep_cache}/highway-*")
  list(SORT _lockstep_highways COMPARE NATURAL ORDER DESCENDING)
  find_package(hwy 1.2 CONFIG QUIET PATHS ${_lockstep_highways}
               NO_DEFAULT_PATH)
  if(NOT hwy_FOUND)
    message(
      FATAL_ERROR
        "Highway >= 1.2 was not found, neither on the system nor in "
        "${_lockstep_cache}. On Debian run scripts/install-deps.sh; elsewhere "
        "install Highway and name its prefix in CMAKE_PREFIX_PATH.")
  endif()
  unset(_lockstep_cache)
  unset(_lockstep_highways)
endif()
