#include "verify/oracle/kernels_impl.h"

namespace lockstep::oracle {

const Kernels kAvx512Kernels = MakeKernels<Batch<xsimd::avx512bw>>();

}  // namespace lockstep::oracle
