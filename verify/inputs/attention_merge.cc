// What the exact probes hold: an lse that is an integer, and integers as o.
#include "verify/inputs/attention_merge.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/digest.h"
#include "verify/base/elements.h"
#include "verify/base/mixing.h"
#include "verify/base/random/deviates.h"
#include "verify/base/row_view.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward_file.h"
#include "verify/inputs/fill.h"
#include "verify/inputs/picks/picked.h"

namespace lockstep::verify {
namespace {

constexpr uint32_t kStreamO = 0;
constexpr uint32_t kStreamLse = 1;
constexpr uint32_t kStreamMarks = 2;
constexpr uint32_t kStreamBlank = 3;

// In natural units and in binary ones: exp of it is below every f32. The
// second part of a probe that selects has a weight that tells the base.
constexpr double kFarBelow = 1000;
constexpr double kNearBelow = 2;
// The o of a part of a probe that saw no key.
constexpr double kUnread = 96;
constexpr int64_t kLargestSum = 6;

void ShowTensors(AttentionMergeData* data) {
  data->inputs.o = data->o.const_view();
  data->inputs.lse = RowView(data->lse.const_view());
}

Status Allocate(const AttentionMergeCase& c, int64_t shift,
                AttentionMergeData* data) {
  const std::array<int64_t, 4> o{c.parts, c.heads, c.rows, c.value_dim};
  const std::array<int64_t, 4> lse{c.parts, c.heads, c.rows, 1};
  ASSIGN_OR_RETURN(
      data->o, AllocateLaneTensor(c.lane, o, MergeStrides(c.layout, o), shift));
  ASSIGN_OR_RETURN(
      data->lse,
      AllocateLaneTensor(Lane::kF32, lse, MergeStrides(c.layout, lse), shift));
  data->problem = ToProblem(c);
  ShowTensors(data);
  return {};
}

// The numbers of one row of a probe.
class ProbeRow {
 public:
  ProbeRow(ProbeKind kind, const AttentionMergeProblem& problem, uint64_t seed,
           int64_t line)
      : kind_(kind),
        parts_(problem.parts),
        first_(line == 0),
        hash_(Mix(seed ^ Mix(static_cast<uint64_t>(line)))) {
    chosen_ = static_cast<int64_t>(hash_ % static_cast<uint64_t>(parts_));
  }

  float Lse(int64_t s) const {
    if (!Seen(s)) return -HUGE_VALF;
    return static_cast<float>(Level() - Below(s));
  }

  // Part s of one channel; `sum`: of the parts before that were seen.
  double Value(int64_t s, int64_t channel, int64_t* sum) const {
    if (!Seen(s)) return kUnread;
    const uint64_t word = Of(s, channel);
    const int64_t sign = (word & 1) != 0 ? -1 : 1;
    if (kind_ == ProbeKind::kMergeSelect) {
      return static_cast<double>(sign *
                                 (1 + static_cast<int64_t>((word >> 8) % 127)));
    }
    int64_t value = sign * (1 + static_cast<int64_t>((word >> 8) % 3));
    if (std::abs(*sum + value) > kLargestSum) value = -value;
    *sum += value;
    return static_cast<double>(value);
  }

 private:
  uint64_t Of(int64_t s, int64_t channel) const {
    return Mix(hash_ + Mix(static_cast<uint64_t>(s)) +
               Mix(~static_cast<uint64_t>(channel)));
  }

  double Below(int64_t s) const {
    if (kind_ != ProbeKind::kMergeSelect || s == chosen_) return 0;
    return s == Second() ? kNearBelow : kFarBelow;
  }
  int64_t Second() const { return (chosen_ + 1 + parts_ / 3) % parts_; }

  // A row in sixteen has no part that saw a key; elsewhere the chosen one did.
  bool Seen(int64_t s) const {
    if (!first_ && (hash_ >> 8) % 16 == 0) return false;
    const bool second = kind_ == ProbeKind::kMergeSelect && s == Second();
    return s == chosen_ || second || Of(s, -1) % 4 != 0;
  }

  double Level() const {
    constexpr double kFar[] = {200, -200, 2000, -30000};
    if (kind_ == ProbeKind::kMergeShift) return kFar[(hash_ >> 16) % 4];
    return static_cast<double>((hash_ >> 16) % 17) - 8;
  }

  ProbeKind kind_;
  int64_t parts_;
  bool first_;
  uint64_t hash_;
  int64_t chosen_ = 0;
};

class MergeMaterialiser {
 public:
  MergeMaterialiser(const Case& c, const MaterialiseOptions& options)
      : merge_(c.Get<AttentionMergeCase>()),
        options_(options),
        generator_(c.gen, c.seed) {}

  Result<AttentionMergeData> Run() {
    RETURN_IF_ERROR(Allocate(merge_, options_.alignment_shift, &data_));
    if (const auto probe = ProbeOf(merge_)) {
      FillProbe(*probe);
    } else {
      RETURN_IF_ERROR(FillO());
      RETURN_IF_ERROR(FillLse());
    }
    if (PoisonsEmptyParts(merge_)) PoisonEmpty();
    return std::move(data_);
  }

 private:
  // The file that a term names; none: no term names any.
  Result<std::optional<SafetensorsFile>> FileOf(
      const std::vector<FillTerm>& terms) {
    std::optional<SafetensorsFile> file;
    for (const FillTerm& term : terms) {
      if (term.kind != FillKind::kFile) continue;
      ASSIGN_OR_RETURN(file, OpenPinned(term.path, term.digest, options_));
    }
    return file;
  }

  Status FillO() {
    FillPlan plan;
    plan.stream = kStreamO;
    plan.terms = merge_.fill;
    ASSIGN_OR_RETURN(const auto file, FileOf(merge_.fill));
    if (file) {
      RETURN_IF_ERROR(
          PlanFileTensor(*file, "o_parts", data_.o.view.shape, &plan));
    }
    FillTensor(generator_, plan, data_.o.view);
    return {};
  }

  Status FillLse() {
    FillPlan plan;
    plan.stream = kStreamLse;
    plan.terms = merge_.lse;
    ASSIGN_OR_RETURN(const auto file, FileOf(merge_.lse));
    if (file) {
      ASSIGN_OR_RETURN(const auto tensor,
                       file->Get("lse_parts", "F32",
                                 {merge_.parts, merge_.heads, merge_.rows}));
      plan.file = tensor.bytes;
    }
    FillTensor(generator_, plan, data_.lse.view);
    const auto& shape = data_.lse.view.shape;
    int64_t element = 0;
    ForElements(shape, [&](const At& at) {
      if (!merge_.letters.empty()) {
        SetLse(at, merge_.letters[static_cast<size_t>(at[0])].value);
      }
      Mark(at, element++);
    });
    return {};
  }

  void SetLse(const At& at, double value) {
    SetElement(data_.lse.view, at, Bits(value));
  }

  void Mark(const At& at, int64_t element) {
    const auto draw = generator_.Draw(kStreamMarks, element);
    if (draw[0] < Threshold(merge_.empty.value)) SetLse(at, -HUGE_VAL);
    if (draw[1] < Threshold(merge_.nan.value)) SetLse(at, NAN);
    if (draw[2] < Threshold(merge_.posinf.value)) SetLse(at, HUGE_VAL);
    const int64_t row = at[1] * merge_.rows + at[2];
    if (generator_.Draw(kStreamBlank, row)[0] < Threshold(merge_.blank.value)) {
      SetLse(at, -HUGE_VAL);
    }
  }

  void FillProbe(ProbeKind kind) {
    for (int64_t h = 0; h < merge_.heads; ++h) {
      for (int64_t n = 0; n < merge_.rows; ++n) {
        const ProbeRow row(kind, data_.problem, generator_.seed(),
                           h * merge_.rows + n);
        for (int64_t s = 0; s < merge_.parts; ++s) {
          const float lse = row.Lse(s);
          SetElement(data_.lse.view, {s, h, n, 0},
                     std::bit_cast<uint32_t>(lse));
        }
        for (int64_t c = 0; c < merge_.value_dim; ++c) {
          int64_t sum = 0;
          for (int64_t s = 0; s < merge_.parts; ++s) {
            SetElement(data_.o.view, {s, h, n, c},
                       BitsOf(merge_.lane, row.Value(s, c, &sum)));
          }
        }
      }
    }
  }

  void PoisonEmpty() {
    ForElements(data_.lse.view.shape, [&](const At& at) {
      if (data_.inputs.lse(at[0], at[1], at[2]) == -HUGE_VALF) {
        PoisonRow(generator_, kStreamO, data_.o.view, {at[0], at[1], at[2]});
      }
    });
  }

  const AttentionMergeCase& merge_;
  const MaterialiseOptions& options_;
  CounterGenerator generator_;
  AttentionMergeData data_;
};

}  // namespace

std::string AttentionMergeData::StorageDigest() const {
  return DigestText(o.buffer.Digest() + lse.buffer.Digest());
}

Result<AttentionMergeData> MaterialiseMerge(const Case& c,
                                            const MaterialiseOptions& options) {
  RETURN_IF_ERROR(CheckRequest(c, options));
  return MergeMaterialiser(c, options).Run();
}

Result<AttentionMergeData> PickParts(const AttentionMergeData& from,
                                     const std::vector<int64_t>& parts,
                                     double filler, AttentionMergeCase* to) {
  if (!AreAmong(parts, from.problem.parts, -1)) return NoSuchPart();
  to->parts = static_cast<int64_t>(parts.size());
  AttentionMergeData made;
  RETURN_IF_ERROR(Allocate(*to, 0, &made));
  const auto copy = [&](const LaneTensor& source, const LaneTensor& target,
                        double absent) {
    const Lane lane = target.view.lane;
    ForElements(target.view.shape, [&](const At& at) {
      const int64_t part = parts[static_cast<size_t>(at[0])];
      SetElement(target.view, at,
                 part < 0 ? BitsOf(lane, absent)
                          : ElementBits(source.const_view(),
                                        {part, at[1], at[2], at[3]}));
    });
  };
  copy(from.o, made.o, filler);
  copy(from.lse, made.lse, -HUGE_VAL);
  return made;
}

KernelInputs NameInputs(const AttentionMergeProblem& problem,
                        const AttentionMergeInputs& inputs) {
  KernelInputs named;
  named.op = "attention_merge";
  named.scalars = {
      {"s", problem.parts},
      {"h", problem.heads},
      {"n", problem.rows},
      {"dv", problem.value_dim},
      {"lane", std::string(LaneName(problem.lane))},
      {"out", std::string(LaneName(problem.out_lane))},
      {"base", std::string(problem.base == LseBase::kE ? "e" : "2")}};
  named.Add("o_parts", inputs.o);
  named.Add("lse_parts", ElementType::kF32, inputs.lse);
  return named;
}

std::vector<NamedOutput> NameOutputs(const AttentionMergeOutputs& outputs) {
  return {NameOutput("o", outputs.o), NameOutput("lse", outputs.lse)};
}

}  // namespace lockstep::verify
