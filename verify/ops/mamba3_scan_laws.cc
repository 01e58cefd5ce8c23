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

Result<std::vector<Law>> Mamba3ScanTrial::Laws() const {
  std::vector<Law> laws;
  const Mamba3ScanProblem& p = data_.problem;
  // Three more copies of the inputs: not for cases that are large.
  if (rows() > kLawWork / RowCost()) return laws;
  Status status;
  // Lines of the rows (heads of runs) that `keeps` names.
  const auto lines_of = [&](auto&& keeps) {
    std::vector<std::vector<int64_t>> kept(outputs_.size());
    for (int64_t row = 0; row < rows(); ++row) {
      if (!keeps(row / p.heads)) continue;
      for (size_t t = 0; t < outputs_.size(); ++t) {
        const auto lines = Lines(t, row);
        kept[t].insert(kept[t].end(), lines.begin(), lines.end());
      }
    }
    return kept;
  };
  const auto add = [&](const char* name, const Case& c, auto&& change,
                       std::vector<std::vector<int64_t>> kept) {
    if (!status.ok()) return;
    Result<Mamba3ScanData> data = MaterialiseMamba3Scan(c, {});
    status = data.ok() ? change(&data.value()) : data.status();
    if (!status.ok()) return;
    laws.push_back(
        {name, MakeAnother(c, std::move(data.value())), std::move(kept)});
  };
  const auto nothing = [](Mamba3ScanData*) { return Status(); };

  if (const int64_t half = p.length / 2; half > 0) {
    auto kept = lines_of([&](int64_t run) {
      return runs_[static_cast<size_t>(run)].end <= half;
    });
    kept[0].clear();
    const int64_t per_token = p.output_ranks() * p.heads;
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t line = 0; line < half * per_token; ++line) {
        kept[0].push_back(b * p.length * per_token + line);
      }
    }
    add(
        "causality", case_,
        [&](Mamba3ScanData* data) {
          Case other = case_;
          other.seed += 1;
          const auto drawn = MaterialiseMamba3Scan(other, {});
          if (!drawn.ok()) return drawn.status();
          TakeTokens(drawn.value(), half, data);
          return Status();
        },
        std::move(kept));
  }
  if (runs_.size() > 1 && !request_.poison && !ProbeOf(request_)) {
    Case other = case_;
    int64_t poisoned = 0;
    while (runs_[static_cast<size_t>(poisoned)].first ==
           runs_[static_cast<size_t>(poisoned)].end) {
      ++poisoned;
    }
    ScanOf(&other).poison = poisoned;
    add("isolation", other, nothing,
        lines_of([&](int64_t run) { return run != poisoned; }));
  }
  bool empty = p.batch != 1 || std::holds_alternative<Mamba3StepCase>(case_.op);
  for (const auto& run : runs_) empty = empty || run.first == run.end;
  if (!empty) {
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
    add("encoding", other, nothing, lines_of([](int64_t) { return true; }));
  }
  if (!status.ok()) return status;
  return laws;
}

}  // namespace lockstep::verify
