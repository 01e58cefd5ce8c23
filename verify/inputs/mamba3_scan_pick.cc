#include "verify/inputs/mamba3_scan_pick.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/inputs/picks/picked.h"

namespace lockstep::verify {
namespace {

using T = ScanTensor;
using At = std::array<int64_t, 4>;

std::vector<int64_t> Count(int64_t n) {
  std::vector<int64_t> list(static_cast<size_t>(n));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

bool HasTokens(T tensor) { return tensor <= T::kRate || tensor == T::kDy; }
bool HasGroups(T tensor) { return tensor <= T::kK; }
bool HasTime(T tensor) { return tensor >= T::kDt && tensor <= T::kTau; }

// The first three axes: a line of channels.
using Line = std::array<int64_t, 3>;

class Picker {
 public:
  Picker(const Mamba3ScanData& from, const ScanPick& pick,
         const Mamba3ScanCase& to)
      : from_(from), pick_(pick), case_(to) {}

  Result<Mamba3ScanData> Run() {
    data_.problem = ToProblem(case_);
    if (!Exists()) return NoSuchPart();
    Status status = MakeScanRuns(case_, 0, &data_);
    for (size_t n = 0; n < kScanTensors && status.ok(); ++n) {
      status = Make(static_cast<T>(n));
    }
    if (!status.ok()) return status;
    ViewScan(&data_);
    return std::move(data_);
  }

 private:
  // Says whether the source has all that is picked, and the pick has as much as
  // the new case takes.
  bool Exists() const {
    const Mamba3ScanProblem& p = data_.problem;
    const Mamba3ScanProblem& source = from_.problem;
    return std::ssize(pick_.tokens) == p.batch * p.length &&
           AreAmong(pick_.tokens, source.batch * source.length) &&
           std::ssize(pick_.heads) == p.heads &&
           AreAmong(pick_.heads, source.heads) && p.ranks == source.ranks;
  }
  bool HasRuns() const {
    return std::ssize(pick_.runs) >= CountRuns(case_) &&
           AreAmong(pick_.runs, CountRuns(from_.problem, from_.inputs));
  }

  bool Wanted(T tensor) const {
    if (!IsCarry(tensor)) return from_.at(tensor).there();
    const bool angle = tensor == T::kCarryTheta || tensor == T::kDTheta;
    if (angle && data_.problem.angles == 0) return false;
    if (IsCarryCotangent(tensor)) {
      const auto* back = dynamic_cast<const Mamba3ScanBackwardCase*>(&case_);
      return back != nullptr && back->dcarry;
    }
    return data_.problem.carry_in && (tensor <= T::kCarryH || !case_.ssd);
  }

  ScanShape ShapeOf(T tensor) const {
    const MutableLaneView& view = from_.at(tensor).tensor.view;
    const Mamba3ScanProblem& p = data_.problem;
    if (HasTime(tensor)) return TimeShape(case_);
    if (HasTokens(tensor)) {
      const int64_t ranks = view.shape[2] / from_.problem.length;
      return TokenShape(case_, HasGroups(tensor) ? p.groups : p.heads, ranks,
                        view.shape[3]);
    }
    if (IsCarry(tensor)) {
      return CarryShape(tensor, data_.problem, CountRuns(case_));
    }
    if (view.shape[1] == p.heads) return {view.shape, view.strides};
    const At shape = {view.shape[0], p.heads, view.shape[2], view.shape[3]};
    return {shape, DenseStrides(shape)};
  }

  // Where a line of the new tensor comes from.
  Line SourceOf(T tensor, const Line& at) const {
    const auto head = [&](int64_t h) {
      return pick_.heads[static_cast<size_t>(h)];
    };
    if (HasTokens(tensor)) {
      const Mamba3ScanProblem& p = data_.problem;
      const int64_t ranks = HasGroups(tensor)  ? p.ranks
                            : tensor == T::kDy ? p.output_ranks()
                                               : 1;
      const int64_t token =
          pick_.tokens[static_cast<size_t>(at[0] * p.length + at[2] / ranks)];
      const int64_t length = from_.problem.length;
      return {token / length,
              HasGroups(tensor)
                  ? head(at[1] * p.group()) / from_.problem.group()
                  : head(at[1]),
              token % length * ranks + at[2] % ranks};
    }
    if (!IsCarry(tensor)) return {at[0], head(at[1]), at[2]};
    const int64_t run = pick_.runs[static_cast<size_t>(at[0])];
    if (tensor == T::kCarryK || tensor == T::kDK)
      return {run, at[1], head(at[2])};
    return {run, head(at[1]), at[2]};
  }

  Status Make(T tensor) {
    if (!Wanted(tensor)) return {};
    const ScanStorage& source = from_.at(tensor);
    if (IsCarry(tensor) && source.there() && !HasRuns()) return NoSuchPart();
    ScanStorage& made = data_.storage[static_cast<size_t>(tensor)];
    const ScanShape shape = ShapeOf(tensor);
    const Lane lane = source.there() ? source.tensor.view.lane : Lane::kF32;
    ASSIGN_OR_RETURN(auto allocated,
                     AllocateLaneTensor(lane, shape.shape, shape.strides, 0));
    made.name = source.name;
    made.tensor = std::move(allocated);
    if (source.there()) Copy(tensor, source.tensor.view, made.tensor.view);
    return {};
  }

  // Line by line; channels lie side by side in every tensor.
  void Copy(T tensor, const MutableLaneView& source,
            const MutableLaneView& made) const {
    const auto width = static_cast<int64_t>(LaneBytes(made.lane));
    const auto line = [width](const MutableLaneView& view, const Line& at) {
      return static_cast<char*>(view.data) +
             width * (at[0] * view.strides[0] + at[1] * view.strides[1] +
                      at[2] * view.strides[2]);
    };
    const auto bytes = static_cast<size_t>(width * made.shape[3]);
    Line at;
    for (at[0] = 0; at[0] < made.shape[0]; ++at[0]) {
      for (at[1] = 0; at[1] < made.shape[1]; ++at[1]) {
        for (at[2] = 0; at[2] < made.shape[2]; ++at[2]) {
          std::memcpy(line(made, at), line(source, SourceOf(tensor, at)),
                      bytes);
        }
      }
    }
  }

  const Mamba3ScanData& from_;
  const ScanPick& pick_;
  const Mamba3ScanCase& case_;
  Mamba3ScanData data_;
};

}  // namespace

ScanPick PickAll(const Mamba3ScanData& from) {
  const Mamba3ScanProblem& p = from.problem;
  return {Count(p.batch * p.length), Count(p.heads),
          Count(CountRuns(p, from.inputs))};
}

Result<Mamba3ScanData> PickScan(const Mamba3ScanData& from,
                                const ScanPick& pick,
                                const Mamba3ScanCase& to) {
  return Picker(from, pick, to).Run();
}

}  // namespace lockstep::verify
