#include "optimized/ssd_scan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/mamba3_scan.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/ssd_scan.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::optimized {

Status SsdScan(const SsdScanProblem& problem, const SsdScanInputs& inputs,
               const Mamba3ScanCaps& caps, const SsdScanOutputs& outputs,
               Mamba3ScanExecution* execution) {
  const Status valid = Validate(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  const SsdAsMamba3 scan = AsMamba3(problem, inputs, outputs);
  if (outputs.carry.data == nullptr) {
    return Mamba3Scan(scan.problem, scan.inputs, caps, {scan.y, {}}, execution);
  }
  // A carry is whole; beta = 0 never uses these parts of it.
  const int64_t runs = outputs.carry.shape[0];
  const int64_t heads = problem.heads;
  std::vector<float> k(static_cast<size_t>(runs * heads * problem.state_dim));
  std::vector<float> v(static_cast<size_t>(runs * heads * problem.head_dim));
  const std::array<int64_t, 4> k_shape{runs, 1, heads, problem.state_dim};
  const std::array<int64_t, 3> v_shape{runs, heads, problem.head_dim};
  const Mamba3Carry<float> carry{{nullptr, {runs, heads, 0}, {}},
                                 outputs.carry,
                                 {k.data(), k_shape, DenseStrides(k_shape)},
                                 {v.data(), v_shape, DenseStrides(v_shape)}};
  return Mamba3Scan(scan.problem, scan.inputs, caps, {scan.y, carry},
                    execution);
}

}  // namespace lockstep::optimized
