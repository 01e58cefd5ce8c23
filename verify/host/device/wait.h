// Devices that a kernel has handed work to.
#ifndef LOCKSTEP_VERIFY_HOST_DEVICE_WAIT_H_
#define LOCKSTEP_VERIFY_HOST_DEVICE_WAIT_H_

namespace lockstep::verify::host {

// Waits until the devices of this thread have done what they were given, where
// the kernel has loaded CUDA or HIP: a launch that was not waited for is no
// time. Returns whether there was one to wait for.
bool WaitForDevice();

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_DEVICE_WAIT_H_
