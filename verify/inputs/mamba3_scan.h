// From a mamba3_scan case to its tensors, as inputs.h does for attention.
#ifndef LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_H_
#define LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"
#include "verify/base/tensor.h"
#include "verify/case/case.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/inputs/materialise.h"

namespace lockstep::verify {

class CounterGenerator;

// The tensors that a scan may read, in the order of their streams.
enum class ScanTensor : uint8_t {
  kQ,
  kK,
  kV,
  kZ,
  kDt,
  kA,
  kTau,
  kRate,
  kBq,
  kBk,
  kD,
  kPsi,
  kZeta,
  kPhi,
  kNormWeight,
  kCarryTheta,
  kCarryH,
  kCarryK,
  kCarryV,
  // Of gradients: the cotangents of y and of the carry that is left.
  kDy,
  kDTheta,
  kDH,
  kDK,
  kDV,
};
inline constexpr size_t kScanTensors = 24;

// An initial carry, or the cotangent of one.
inline bool IsCarry(ScanTensor tensor) {
  return tensor >= ScanTensor::kCarryTheta && tensor != ScanTensor::kDy;
}
inline bool IsCarryCotangent(ScanTensor tensor) {
  return tensor >= ScanTensor::kDTheta;
}

// One of them with its memory, as [row or run, head, position, channel].
// Positions are tokens and their ranks (q, k), ranks (weights), or the tensor's
// own axis. Those that the problem does not ask for stay empty.
struct ScanStorage {
  const char* name = nullptr;
  std::vector<int64_t> file_shape;  // the contract's axes
  LaneTensor tensor;

  bool there() const { return tensor.view.data != nullptr; }
};

// Problem and inputs, with the memory behind the views. Moving keeps them good.
struct Mamba3ScanData {
  Mamba3ScanProblem problem;
  Mamba3ScanInputs inputs;

  std::array<ScanStorage, kScanTensors> storage;
  GuardedBuffer segments;

  const ScanStorage& at(ScanTensor tensor) const {
    return storage[static_cast<size_t>(tensor)];
  }
  // As AttentionForwardData's.
  std::string InputDigest() const;
  std::string StorageDigest() const;
};

// Shape and strides in elements of a tensor [row, head, position, channel].
struct ScanShape {
  std::array<int64_t, 4> shape{};
  std::array<int64_t, 4> strides{};
};
// q and k: heads are groups, positions t * ranks + r; v, z, vartheta: ranks 1;
// y: output ranks.
ScanShape TokenShape(const Mamba3ScanCase& c, int64_t heads, int64_t ranks,
                     int64_t channels);
// a, dt, tau: positions are tokens, one channel.
ScanShape TimeShape(const Mamba3ScanCase& c);

// A carry tensor, dense, for so many runs.
ScanShape CarryShape(ScanTensor tensor, const Mamba3ScanProblem& problem,
                     int64_t runs);

// Streams 0, 1, 2 as in inputs_fill.h; 3 is attention's sink.
uint32_t StreamOf(ScanTensor tensor);

// The parts of materialising that need no draws. Ids or cu_seqlens as the
// case's runs have them; Requires: data->problem is the case's.
Status MakeScanRuns(const Mamba3ScanCase& c, int64_t shift,
                    Mamba3ScanData* data);
// The contract's views of the storage.
void ViewScan(Mamba3ScanData* data);
// [b, t, r, h, c] from [b, h, t * r, c].
BasicLaneView<const void, 5> RankedTokens(const ScanStorage& storage,
                                          int64_t ranks);
// A carry whose theta is that tensor. A theta without angles is no tensor, but
// has its shape.
Mamba3Carry<const float> CarryViews(const Mamba3ScanData& data,
                                    ScanTensor theta);
// NaN and infinities in q, k, v and z of one run.
void PoisonScanRun(const CounterGenerator& generator, int64_t run,
                   Mamba3ScanData* data);

// Errors: those of Materialise, and what the contract refuses.
Result<Mamba3ScanData> MaterialiseMamba3Scan(const Case& c,
                                             const MaterialiseOptions& options);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_MAMBA3_SCAN_H_
