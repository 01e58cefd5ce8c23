// Laws of a scan that need no truth.
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "verify/case_mamba3_scan.h"
#include "verify/ops/mamba3_scan.h"

namespace lockstep::verify {
namespace {

// Multiply-adds of a case above which its laws are not tried.
constexpr int64_t kLawWork = int64_t{1} << 28;

Mamba3ScanCase& ScanOf(Case* c) {
  auto* step = std::get_if<Mamba3StepCase>(&c->op);
  return step != nullptr ? *step : std::get<Mamba3ScanCase>(c->op);
}

// Tokens from `first` on of one set of inputs become those of another.
void TakeTokens(const Mamba3ScanData& from, int64_t first, Mamba3ScanData* to) {
  using T = ScanTensor;
  for (const T tensor :
       {T::kQ, T::kK, T::kV, T::kZ, T::kDt, T::kA, T::kTau, T::kRate}) {
    if (!to->at(tensor).there()) continue;
    const MutableLaneView& source = from.at(tensor).tensor.view;
    const MutableLaneView& target = to->at(tensor).tensor.view;
    const size_t width = LaneBytes(target.lane);
    const int64_t ranks = target.shape[2] / to->problem.length;
    const auto at = [&](const MutableLaneView& view, int64_t b, int64_t h,
                        int64_t t, int64_t c) {
      const int64_t offset = b * view.strides[0] + h * view.strides[1] +
                             t * view.strides[2] + c * view.strides[3];
      return static_cast<char*>(view.data) +
             offset * static_cast<int64_t>(width);
    };
    for (int64_t b = 0; b < target.shape[0]; ++b) {
      for (int64_t h = 0; h < target.shape[1]; ++h) {
        for (int64_t t = first * ranks; t < target.shape[2]; ++t) {
          for (int64_t c = 0; c < target.shape[3]; ++c) {
            std::memcpy(at(target, b, h, t, c), at(source, b, h, t, c), width);
          }
        }
      }
    }
  }
}

}  // namespace

std::unique_ptr<Trial> Mamba3ScanTrial::MakeAnother(const Case& request,
                                                    Mamba3ScanData data) const {
  return std::make_unique<Mamba3ScanTrial>(request, std::move(data));
}

Result<std::unique_ptr<Trial>> Mamba3ScanTrial::Changed(
    const Case& request) const {
  Result<Mamba3ScanData> data = MaterialiseMamba3Scan(request, {});
  if (!data.ok()) return data.status();
  return MakeAnother(request, std::move(data.value()));
}

std::vector<std::vector<int64_t>> Mamba3ScanTrial::LinesOfRuns(
    const std::vector<bool>& runs) const {
  std::vector<std::vector<int64_t>> kept(outputs_.size());
  for (int64_t row = 0; row < rows(); ++row) {
    if (!runs[static_cast<size_t>(row / data_.problem.heads)]) continue;
    for (size_t t = 0; t < outputs_.size(); ++t) {
      const auto lines = Lines(t, row);
      kept[t].insert(kept[t].end(), lines.begin(), lines.end());
    }
  }
  return kept;
}

// Tokens of the second half change: the first half does not.
Status Mamba3ScanTrial::AddCausality(std::vector<Law>* laws) const {
  const Mamba3ScanProblem& p = data_.problem;
  const int64_t half = p.length / 2;
  if (half == 0) return {};
  std::vector<bool> early;
  for (const auto& run : runs_) early.push_back(run.end <= half);
  auto kept = LinesOfRuns(early);
  kept[0].clear();
  const int64_t per_token = p.output_ranks() * p.heads;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t line = 0; line < half * per_token; ++line) {
      kept[0].push_back(b * p.length * per_token + line);
    }
  }
  Case other = case_;
  other.seed += 1;
  ScanOf(&other)
      .carry.clear();  // costs as much as the tokens, and stays unused
  const Result<Mamba3ScanData> drawn = MaterialiseMamba3Scan(other, {});
  if (!drawn.ok()) return drawn.status();
  Result<Mamba3ScanData> data = MaterialiseMamba3Scan(case_, {});
  if (!data.ok()) return data.status();
  TakeTokens(drawn.value(), half, &data.value());
  laws->push_back({"causality", MakeAnother(case_, std::move(data.value())),
                   std::move(kept)});
  return {};
}

// A NaN in one run reaches no other run.
Status Mamba3ScanTrial::AddIsolation(std::vector<Law>* laws) const {
  if (runs_.size() < 2 || request_.poison || ProbeOf(request_)) return {};
  size_t poisoned = 0;
  while (poisoned < runs_.size() &&
         runs_[poisoned].first == runs_[poisoned].end) {
    ++poisoned;
  }
  if (poisoned == runs_.size()) return {};
  Case other = case_;
  ScanOf(&other).poison = static_cast<int64_t>(poisoned);
  std::vector<bool> others(runs_.size(), true);
  others[poisoned] = false;
  Result<std::unique_ptr<Trial>> trial = Changed(other);
  if (!trial.ok()) return trial.status();
  laws->push_back({"isolation", std::move(trial.value()), LinesOfRuns(others)});
  return {};
}

// Runs by offsets and runs by segment ids are the same runs.
Status Mamba3ScanTrial::AddEncoding(std::vector<Law>* laws) const {
  const Mamba3ScanProblem& p = data_.problem;
  if (p.batch != 1 || std::holds_alternative<Mamba3StepCase>(case_.op)) {
    return {};
  }
  for (const auto& run : runs_) {
    if (run.first == run.end) return {};
  }
  Case other = case_;
  Mamba3ScanCase& scan = ScanOf(&other);
  scan.seg = {};
  scan.cu.clear();
  if (p.runs == Mamba3ScanProblem::Runs::kCuSeqlens) {
    scan.seg.kind = Segments::Kind::kRuns;
    scan.seg.rows.resize(1);
    int32_t id = 0;
    for (const auto& run : runs_) {
      scan.seg.rows[0].push_back({id++, run.end - run.first});
    }
  } else {
    scan.cu = {0};
    for (const auto& run : runs_) scan.cu.push_back(run.end);
  }
  Result<std::unique_ptr<Trial>> trial = Changed(other);
  if (!trial.ok()) return trial.status();
  laws->push_back({"encoding", std::move(trial.value()),
                   LinesOfRuns(std::vector<bool>(runs_.size(), true))});
  return {};
}

Result<std::vector<Law>> Mamba3ScanTrial::Laws() const {
  std::vector<Law> laws;
  // Three more copies of the inputs: not for cases that are large.
  if (rows() > kLawWork / RowCost()) return laws;
  for (const auto add :
       {&Mamba3ScanTrial::AddCausality, &Mamba3ScanTrial::AddIsolation,
        &Mamba3ScanTrial::AddEncoding}) {
    if (const Status status = (this->*add)(&laws); !status.ok()) return status;
  }
  return laws;
}

}  // namespace lockstep::verify
