// Devices that a kernel has handed work to.
#ifndef LOCKSTEP_VERIFY_HOST_DEVICE_WAIT_H_
#define LOCKSTEP_VERIFY_HOST_DEVICE_WAIT_H_

namespace lockstep::verify::host {

// Waits until the devices of this thread have done their work, where the kernel
// has loaded CUDA or HIP. The time of a launch that was not waited for says
// nothing. Returns whether there was one to wait for.
bool WaitForDevice();

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_DEVICE_WAIT_H_
