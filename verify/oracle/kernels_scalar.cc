#include "verify/oracle/kernels_impl.h"

namespace lockstep::oracle {

const Kernels kScalarKernels = MakeKernels<ScalarLane>();

}  // namespace lockstep::oracle
