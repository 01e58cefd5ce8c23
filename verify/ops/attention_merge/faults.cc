// Null answers, and the right answer with single faults planted. A case must be
// able to tell each of them from the truth.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_merge/case.h"
#include "verify/ops/attention_merge/trial.h"

namespace lockstep::verify {
namespace {

// The part of a row whose weight is the largest but for `than`; -1: no other
// part saw a key.
int64_t Heaviest(const AttentionMergeData& data, int64_t h, int64_t n,
                 int64_t than) {
  int64_t best = -1;
  float most = -std::numeric_limits<float>::infinity();
  for (int64_t s = 0; s < data.problem.parts; ++s) {
    const float lse = data.inputs.lse(s, h, n);
    if (s == than || !std::isfinite(lse) || lse <= most) continue;
    best = s;
    most = lse;
  }
  return best;
}

// One row as a problem of its own, whose parts may be changed.
struct OneRow {
  OneRow(const AttentionMergeTrial& trial, int64_t row)
      : problem(trial.data().problem) {
    const AttentionMergeData& data = trial.data();
    const int64_t h = row / problem.rows;
    const int64_t n = row % problem.rows;
    problem.heads = problem.rows = 1;
    problem.lane = Lane::kF32;
    for (int64_t s = 0; s < problem.parts; ++s) {
      lse.push_back(data.inputs.lse(s, h, n));
      for (int64_t c = 0; c < problem.value_dim; ++c) {
        o.push_back(static_cast<float>(ElementValue(
            data.inputs.o.lane, ElementBits(data.inputs.o, {s, h, n, c}))));
      }
    }
  }
  void Repeat(int64_t s) {
    const auto channels = static_cast<size_t>(problem.value_dim);
    const auto from = static_cast<size_t>(s) * channels;
    for (size_t c = 0; c < channels; ++c) o.push_back(o[from + c]);
    lse.push_back(lse[static_cast<size_t>(s)]);
    ++problem.parts;
  }
  float& Value(int64_t s, int64_t c) {
    return o[static_cast<size_t>(s * problem.value_dim + c)];
  }
  void Answer(const AttentionMergeTrial& trial, RowBits* bits) const {
    const int64_t d = problem.value_dim;
    const AttentionMergeInputs inputs = {
        {o.data(), Lane::kF32, {problem.parts, 1, 1, d}, {d, d, d, 1}},
        {lse.data(), {problem.parts, 1, 1}, {1, 1, 1}}};
    trial.RowOf(problem, inputs, 0, bits);
  }

  AttentionMergeProblem problem;
  std::vector<float> lse;
  std::vector<float> o;
};

class MergeFaults {
 public:
  MergeFaults(const AttentionMergeTrial& trial, uint64_t salt)
      : trial_(trial), p_(trial.data().problem), state_(salt) {}

  std::vector<PlantedFault> All() {
    for (const int64_t row : trial_.faults().TellingRows()) {
      const int64_t h = row / p_.rows;
      const int64_t n = row % p_.rows;
      first_ = Heaviest(trial_.data(), h, n, -1);
      if (first_ < 0) continue;
      second_ = Heaviest(trial_.data(), h, n, first_);
      row_ = row;
      name_ = "row [h=" + std::to_string(h) + " n=" + std::to_string(n) + "]";
      // A row with two parts tells more than a row with one.
      if (second_ >= 0 || p_.parts == 1) break;
    }
    if (row_ < 0) return {};
    Parts();
    Rows();
    return std::move(faults_);
  }

 private:
  int64_t Draw(int64_t n) {
    return static_cast<int64_t>(NextMixed(&state_) % static_cast<uint64_t>(n));
  }

  void Plant(const char* kind, const std::string& what,
             std::function<void(OneRow*)> change, int64_t from = -1) {
    const int64_t source = from < 0 ? row_ : from;
    faults_.push_back({kind,
                       name_ + " " + what,
                       {row_},
                       [trial = &trial_, source, change = std::move(change)](
                           int64_t, RowBits* bits) {
                         OneRow row(*trial, source);
                         change(&row);
                         row.Answer(*trial, bits);
                       }});
  }

  void Parts() {
    const int64_t first = first_;
    const int64_t second = second_;
    const int64_t channel = Draw(p_.value_dim);
    Plant("channel",
          "with channel " + std::to_string(channel) + " of part " +
              std::to_string(first) + " lost",
          [=](OneRow* row) { row->Value(first, channel) = 0; });
    if (second < 0) return;
    Plant("part", "without part " + std::to_string(second), [=](OneRow* row) {
      row->lse[static_cast<size_t>(second)] =
          -std::numeric_limits<float>::infinity();
    });
    Plant("part_twice", "with part " + std::to_string(second) + " twice",
          [=](OneRow* row) { row->Repeat(second); });
    Plant("weight",
          "with the weights of parts " + std::to_string(first) + " and " +
              std::to_string(second) + " exchanged",
          [=](OneRow* row) {
            std::swap(row->lse[static_cast<size_t>(first)],
                      row->lse[static_cast<size_t>(second)]);
          });
  }

  void Rows() {
    const auto nothing = [](OneRow*) {};
    if (p_.rows > 1) {
      const int64_t n = row_ % p_.rows;
      const int64_t other = n > 0 ? row_ - 1 : row_ + 1;
      Plant("row", "with the parts of row " + std::to_string(other % p_.rows),
            nothing, other);
    }
    if (p_.heads > 1) {
      const int64_t h = (row_ / p_.rows + 1) % p_.heads;
      Plant("head", "with the parts of head " + std::to_string(h), nothing,
            h * p_.rows + row_ % p_.rows);
    }
  }

  const AttentionMergeTrial& trial_;
  const AttentionMergeProblem& p_;
  uint64_t state_;
  int64_t row_ = -1;
  int64_t first_ = -1;
  int64_t second_ = -1;
  std::string name_;
  std::vector<PlantedFault> faults_;
};

}  // namespace

std::vector<PlantedFault> AttentionMergeTrial::PlantFaults(
    uint64_t salt) const {
  return MergeFaults(*this, salt).All();
}

std::vector<NullCandidate> AttentionMergeTrial::Nulls() const {
  std::vector<NullCandidate> nulls;
  nulls.push_back({"zeros", [this](int64_t, RowBits* bits) {
                     bits->assign(2, {});
                     (*bits)[0].assign(
                         static_cast<size_t>(data_.problem.value_dim), 0u);
                     (*bits)[1] = {0u};
                   }});
  nulls.push_back({"mean_of_parts", [this](int64_t row, RowBits* bits) {
                     OneRow one(*this, row);
                     for (float& lse : one.lse) {
                       if (std::isfinite(lse)) lse = 0;
                     }
                     one.Answer(*this, bits);
                   }});
  return nulls;
}

Result<std::unique_ptr<Trial>> AttentionMergeTrial::AskedAs(
    const Case& other) const {
  Case asked = other;
  auto& values = asked.Get<AttentionMergeCase>();
  std::vector<int64_t> parts(static_cast<size_t>(data_.problem.parts));
  std::iota(parts.begin(), parts.end(), int64_t{0});
  ASSIGN_OR_RETURN(AttentionMergeData data,
                   PickParts(data_, parts, 0, &values));
  data.problem = ToProblem(values);
  return std::unique_ptr<Trial>(
      std::make_unique<AttentionMergeTrial>(asked, std::move(data)));
}

}  // namespace lockstep::verify
