#include "verify/oracle/kernels_impl.h"

namespace lockstep::oracle {

const Kernels kAvx2Kernels = MakeKernels<Batch<xsimd::fma3<xsimd::avx2>>>();

}  // namespace lockstep::oracle
