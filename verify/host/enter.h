// The one way into a kernel's code: everything that can come back from it other
// than by a return is looked after here.
#ifndef LOCKSTEP_VERIFY_HOST_ENTER_H_
#define LOCKSTEP_VERIFY_HOST_ENTER_H_

#include <functional>
#include <optional>
#include <string>

namespace lockstep::verify::host {

// How the kernel's code was left.
struct Left {
  int code = 0;  // that it returned
  bool exception = false;
  std::string message;  // of the exception
  double seconds = 0;
  // Of this process; none where any of its threads waited for something.
  std::optional<double> processor_seconds;
};

// Calls it. Where a longjmp leads back into an earlier call, nothing of this
// process can be relied on: `lost`, which must not return, is called there.
Left Enter(const std::function<int()>& kernel, void (*lost)());

// State of this thread's floating point unit, as a receipt has it.
struct FloatState {
  std::string rounding = "nearest";
  bool ftz = false;
  bool daz = false;
};
FloatState ReadFloatState();
// Sets it to what a program starts with.
void RestoreFloatState();

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_ENTER_H_
