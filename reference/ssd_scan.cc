#include "reference/ssd_scan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/ssd_scan.h"
#include "reference/contract/tensor_view.h"
#include "reference/mamba3_scan.h"

namespace lockstep::reference {

Status SsdScan(const SsdScanProblem& problem, const SsdScanInputs& inputs,
               const SsdScanOutputs& outputs) {
  Status valid = Validate(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  const SsdAsMamba3 scan = AsMamba3(problem, inputs, outputs);
  Mamba3ScanOutputs out{scan.y, {}};
  // Mamba-3 also carries k and v, which beta = 0 never uses.
  std::vector<float> k;
  std::vector<float> v;
  if (outputs.carry.data != nullptr) {
    const int64_t runs = outputs.carry.shape[0];
    const std::array<int64_t, 4> k_shape{runs, 1, problem.heads,
                                         problem.state_dim};
    const std::array<int64_t, 3> v_shape{runs, problem.heads, problem.head_dim};
    k.resize(static_cast<size_t>(runs * problem.heads * problem.state_dim));
    v.resize(static_cast<size_t>(runs * problem.heads * problem.head_dim));
    out.carry = {{nullptr, {runs, problem.heads, 0}, {}},
                 outputs.carry,
                 {k.data(), k_shape, DenseStrides(k_shape)},
                 {v.data(), v_shape, DenseStrides(v_shape)}};
  }
  ComputeMamba3Scan(scan.problem, scan.inputs, out);
  return valid;
}

}  // namespace lockstep::reference
