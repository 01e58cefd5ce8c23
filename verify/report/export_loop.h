// The Python script that `lockstep export` writes beside the calls: it runs a
// kernel on all of them.
#ifndef LOCKSTEP_VERIFY_REPORT_EXPORT_LOOP_H_
#define LOCKSTEP_VERIFY_REPORT_EXPORT_LOOP_H_

namespace lockstep::verify {

inline constexpr const char* kLoopFile = "lockstep_calls.py";

// Needs NumPy; for kernels of PyTorch and JAX these, too.
extern const char* const kLoopText;

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_EXPORT_LOOP_H_
