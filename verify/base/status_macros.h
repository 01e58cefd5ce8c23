// Errors handed on to the caller: what stands behind most calls that can fail.
#ifndef LOCKSTEP_VERIFY_BASE_STATUS_MACROS_H_
#define LOCKSTEP_VERIFY_BASE_STATUS_MACROS_H_

#include <utility>

#include "reference/contract/status.h"

#define LOCKSTEP_JOIN_TEXT(a, b) a##b
#define LOCKSTEP_JOIN(a, b) LOCKSTEP_JOIN_TEXT(a, b)

// RETURN_IF_ERROR(F()): returns the Status of F from this function, unless it
// is ok.
#define RETURN_IF_ERROR(...) \
  LOCKSTEP_RETURN_IF_ERROR(LOCKSTEP_JOIN(status_, __COUNTER__), __VA_ARGS__)
#define LOCKSTEP_RETURN_IF_ERROR(status, ...) \
  if (::lockstep::Status status = __VA_ARGS__; !status.ok()) return status

// ASSIGN_OR_RETURN(T x, F()): declares x with the value of F, a Result<T>, or
// returns its Status from this function.
#define ASSIGN_OR_RETURN(declaration, ...)                                    \
  LOCKSTEP_ASSIGN_OR_RETURN(LOCKSTEP_JOIN(result_, __COUNTER__), declaration, \
                            __VA_ARGS__)
#define LOCKSTEP_ASSIGN_OR_RETURN(result, declaration, ...) \
  auto result = __VA_ARGS__;                                \
  if (!result.ok()) return result.status();                 \
  declaration = std::move(result.value())

#endif  // LOCKSTEP_VERIFY_BASE_STATUS_MACROS_H_
