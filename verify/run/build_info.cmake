# cmake -P: writes OUTPUT from TEMPLATE with the checkout's commit, and leaves
# it alone where nothing changed, so that nothing is compiled for it.
set(LOCKSTEP_COMMIT unknown)
set(LOCKSTEP_DIRTY false)
find_program(git git)
if(git)
  execute_process(
    COMMAND "${git}" -C "${SOURCE}" rev-parse HEAD
    OUTPUT_VARIABLE commit
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed)
  if(NOT failed)
    set(LOCKSTEP_COMMIT "${commit}")
    execute_process(
      COMMAND "${git}" -C "${SOURCE}" status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes
      ERROR_QUIET)
    if(changes)
      set(LOCKSTEP_DIRTY true)
    endif()
  endif()
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
