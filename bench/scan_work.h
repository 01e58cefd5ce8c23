// A scan with its tensors, for benchmarks: dense, filled from a fixed seed,
// checked against the reference before it is timed.
#ifndef LOCKSTEP_BENCH_SCAN_WORK_H_
#define LOCKSTEP_BENCH_SCAN_WORK_H_

#include <cstdint>
#include <vector>

#include "optimized/mamba3_scan.h"
#include "reference/contract/mamba3_scan.h"

namespace lockstep::bench {

// Storage for a tensor of either lane: bf16 values fill the first half.
using Storage = std::vector<float>;

// Storage of a carry of `runs` runs.
struct CarryStorage {
  Storage theta, h, k, v;

  void Resize(const Mamba3ScanProblem& p);
  Mamba3Carry<float> View(const Mamba3ScanProblem& p);
};

// One run a row. The views of `inputs` and `outputs` borrow the storage.
class ScanWork {
 public:
  explicit ScanWork(const Mamba3ScanProblem& problem);
  ScanWork(const ScanWork&) = delete;
  ScanWork& operator=(const ScanWork&) = delete;

  Status Run(const optimized::Mamba3ScanCaps& caps,
             optimized::Mamba3ScanExecution* execution);
  // Of the last Run: y and the carry have the reference's bits.
  bool HasReferenceBits();
  // Of the last Run: root mean square of y's difference from the reference's,
  // over that of the reference's y.
  double RelativeError();
  // From now on a Run continues where the last one stopped, in place.
  void ChainCarry() { inputs.carry = Constant(outputs.carry); }

  // 1 + 6 r for each state element and token: decay, two updates and one
  // read-out a rank.
  double Flop() const;
  double Bytes() const;  // of inputs and outputs

  Mamba3ScanProblem problem;
  Mamba3ScanInputs inputs;
  Mamba3ScanOutputs outputs;

 private:
  static Mamba3Carry<const float> Constant(const Mamba3Carry<float>& carry);
  void FillInputs();
  // The reference's y in `y`, its carry in `carry`.
  void RunReference(Storage& y, CarryStorage& carry);

  Storage q_, k_, v_, z_, a_, dt_, tau_, vartheta_;
  Storage bq_, bk_, d_, psi_, zeta_, phi_, y_;
  CarryStorage carry_in_, carry_out_;
};

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_SCAN_WORK_H_
