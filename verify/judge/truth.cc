#include "verify/judge/truth.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>

#include "reference/contract/team.h"
#include "verify/base/mixing.h"
#include "verify/ops/faults.h"

namespace lockstep::verify {
namespace {

bool Unwritten(Lane lane, uint32_t first, uint32_t second) {
  return first == kFirstPoison.of(lane) && second == kSecondPoison.of(lane);
}

void Store(const LaneTensor& tensor, int64_t at, uint32_t bits) {
  // As bits: a float that is loaded and stored need not keep those of a NaN.
  const size_t width = LaneBytes(tensor.view.lane);
  const auto narrow = static_cast<uint16_t>(bits);
  std::memcpy(
      static_cast<uint8_t*>(tensor.view.data) + static_cast<size_t>(at) * width,
      width == 4 ? static_cast<const void*>(&bits) : &narrow, width);
}

// Calls visit(index) for all elements of an output.
template <typename Visit>
void ForEachElement(const OutputSpec& spec, Visit&& visit) {
  for (int64_t line = 0; line < spec.lines(); ++line) {
    auto at = LineIndex(spec, line, 0);
    for (at[3] = 0; at[3] < spec.shape[3]; ++at[3]) visit(at);
  }
}

}  // namespace

std::vector<int64_t> RowsToCompare(const Trial& trial, bool all_rows) {
  const int64_t rows = trial.rows();
  const int64_t cost = std::max<int64_t>(trial.RowCost(), 1);
  std::vector<int64_t> chosen;
  if (all_rows || rows <= kFullReferenceCost / cost) {
    chosen.resize(static_cast<size_t>(rows));
    for (int64_t r = 0; r < rows; ++r) chosen[static_cast<size_t>(r)] = r;
    return chosen;
  }
  const int64_t least =
      cost <= kSampledReferenceCost ? kMinSampledRows : kMinLargeRows;
  const int64_t wanted =
      std::min(rows, std::max(kSampledReferenceCost / cost, least));
  std::set<int64_t> sample;
  for (const int64_t row : trial.faults().TellingRows()) {
    if (static_cast<int64_t>(sample.size()) >= (wanted + 1) / 2) break;
    sample.insert(row);
  }
  for (uint64_t n = 0; static_cast<int64_t>(sample.size()) < wanted; ++n) {
    sample.insert(static_cast<int64_t>(Mix(n) % static_cast<uint64_t>(rows)));
  }
  return {sample.begin(), sample.end()};
}

Truth ComputeTruth(const Trial& trial, bool all_rows, int threads) {
  const auto start = std::chrono::steady_clock::now();
  Truth truth;
  truth.rows = RowsToCompare(trial, all_rows);
  truth.sampled = static_cast<int64_t>(truth.rows.size()) < trial.rows();
  const auto& specs = trial.outputs();
  for (size_t t = 0; t < specs.size(); ++t) {
    auto& begin = truth.begin.emplace_back(1, size_t{0});
    for (const int64_t row : truth.rows) {
      begin.push_back(begin.back() +
                      trial.Lines(t, row).size() *
                          static_cast<size_t>(specs[t].shape[3]));
    }
    truth.bits.emplace_back(begin.back());
  }
  // Rows are independent (N16): the next free thread takes the next one.
  std::atomic<size_t> next{0};
  const auto work = [&] {
    RowBits bits;
    for (size_t n = next++; n < truth.rows.size(); n = next++) {
      trial.ReferenceRow(truth.rows[n], &bits);
      for (size_t t = 0; t < specs.size(); ++t) {
        std::copy(
            bits[t].begin(), bits[t].end(),
            truth.bits[t].begin() + static_cast<int64_t>(truth.begin[t][n]));
      }
    }
  };
  int64_t workers = threads > 0 ? threads : DefaultThreads();
  // A thread costs some 50 us: worth it from a few million operations on.
  const int64_t cost =
      trial.RowCost() * static_cast<int64_t>(truth.rows.size());
  workers = std::clamp<int64_t>(std::min(workers, cost >> 21), 1, 256);
  RunOwnThreads(workers, [&](int) { work(); });
  truth.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return truth;
}

void PoisonOutputs(const OutputSet& outputs, PoisonBits poison) {
  for (const LaneTensor& tensor : outputs.tensors) {
    Poison(tensor);
    const auto& n = tensor.view.shape;
    const auto& s = tensor.view.strides;
    const uint32_t bits = poison.of(tensor.view.lane);
    for (int64_t b = 0; b < n[0]; ++b) {
      for (int64_t h = 0; h < n[1]; ++h) {
        for (int64_t i = 0; i < n[2]; ++i) {
          for (int64_t c = 0; c < n[3]; ++c) {
            Store(tensor, b * s[0] + h * s[1] + i * s[2] + c * s[3], bits);
          }
        }
      }
    }
  }
}

std::vector<Comparison> CompareWithTruth(const Trial& trial, const Truth& truth,
                                         const OutputSet& produced,
                                         const OutputSet* again) {
  std::vector<Comparison> comparisons;
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    const LaneView made = produced.tensors[t].const_view();
    Comparer comparer(spec.name, spec.lane, spec.shape,
                      static_cast<int64_t>(truth.bits[t].size()));
    size_t next = 0;
    for (const int64_t row : truth.rows) {
      for (const int64_t line : trial.Lines(t, row)) {
        auto at = LineIndex(spec, line, 0);
        for (at[3] = 0; at[3] < spec.shape[3]; ++at[3], ++next) {
          const uint32_t bits = ElementBits(made, at);
          const bool unwritten =
              again != nullptr &&
              Unwritten(spec.lane, bits,
                        ElementBits(again->tensors[t].const_view(), at));
          comparer.Add(at, truth.bits[t][next], bits, unwritten);
        }
      }
    }
    comparisons.push_back(comparer.comparison());
  }
  return comparisons;
}

std::vector<Comparison> FindUnwritten(const Trial& trial,
                                      const OutputSet& first,
                                      const OutputSet& second) {
  std::vector<Comparison> comparisons;
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    const LaneView a = first.tensors[t].const_view();
    const LaneView b = second.tensors[t].const_view();
    Comparer comparer(spec.name, spec.lane, spec.shape,
                      spec.lines() * spec.shape[3]);
    ForEachElement(spec, [&](const auto& at) {
      const uint32_t bits = ElementBits(a, at);
      comparer.Add(at, bits, bits,
                   Unwritten(spec.lane, bits, ElementBits(b, at)));
    });
    comparisons.push_back(comparer.comparison());
  }
  return comparisons;
}

}  // namespace lockstep::verify
