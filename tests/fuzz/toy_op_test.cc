// One row for an op: an op that nothing else knows is judged, fuzzed, shrunk,
// exported and read back by its row alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/run.h"
#include "fuzz/shrink.h"
#include "fuzz/trial.h"
#include "verify/candidate/candidate.h"
#include "verify/case/keys.h"
#include "verify/domain/reducer.h"
#include "verify/ops/op.h"
#include "verify/report/export.h"
#include "verify/run/run.h"

namespace lockstep::verify {
namespace {

// y = softmax of 2^x over rows of integers, in f32: every step is exact but
// the division.
struct RowSoftmaxCase : OpValuesAs<RowSoftmaxCase> {
  int64_t rows = 1;
  int64_t n = 1;
  friend bool operator==(const RowSoftmaxCase&,
                         const RowSoftmaxCase&) = default;
};

RowSoftmaxCase* PartOf(Case* c) { return &c->Get<RowSoftmaxCase>(); }

template <auto kMember>
constexpr CaseKey Extent(const char* name) {
  return {name,
          "a count",
          [](Case& c) { PartOf(&c)->*kMember = 1; },
          [](Scanner& in, int64_t, Case& c) -> Status {
            const auto value = in.Int();
            if (value.ok()) PartOf(&c)->*kMember = value.value();
            return value.status();
          },
          [](const Case& c, int64_t) {
            return std::to_string(c.Get<RowSoftmaxCase>().*kMember);
          },
          nullptr};
}

const CaseKey kKeys[] = {Extent<&RowSoftmaxCase::rows>("rows"),
                         Extent<&RowSoftmaxCase::n>("n"), kGenKey, kSeedKey,
                         kExpectKey};

Status ValidateRowSoftmax(const Case& c) {
  const auto& values = c.Get<RowSoftmaxCase>();
  const bool sound = std::min(values.rows, values.n) >= 1 &&
                     std::max(values.rows, values.n) <= 4096;
  return sound ? Status() : Status::Error("rows and n are 1 to 4096");
}

class RowSoftmaxTrial final : public Trial {
 public:
  explicit RowSoftmaxTrial(const Case& c)
      : case_(c.Get<RowSoftmaxCase>()), outputs_(Outputs(c)) {
    uint64_t state = c.seed;
    for (int64_t i = 0; i < case_.rows * case_.n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x_.push_back(static_cast<float>(state >> 61));
    }
  }
  static std::vector<OutputSpec> Outputs(const Case& c) {
    const auto& values = c.Get<RowSoftmaxCase>();
    return {{.name = "y",
             .shape = {1, 1, values.rows, values.n},
             .axes = {nullptr, nullptr, "row", "i"}}};
  }
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions&) {
    return std::unique_ptr<Trial>(std::make_unique<RowSoftmaxTrial>(c));
  }
  static std::vector<Case> ProbeCases(const Case&, const NumericProfile&) {
    return {};
  }

  const std::vector<OutputSpec>& outputs() const override { return outputs_; }
  KernelInputs Inputs() const override {
    KernelInputs inputs;
    inputs.op = "row_softmax";
    inputs.Add("x", ElementType::kF32,
               TensorView<const float, 2>{
                   x_.data(), {case_.rows, case_.n}, {case_.n, 1}});
    return inputs;
  }
  int64_t RowCost() const override { return case_.n; }
  void ReferenceRow(int64_t row, RowBits* bits) const override {
    bits->assign(1, {});
    for (const float y : Row(row, case_.n)) {
      (*bits)[0].push_back(std::bit_cast<uint32_t>(y));
    }
  }
  RunOutcome RunReference(const OutputSet& outputs,
                          Execution* execution) const override {
    execution->backend = "reference";
    return Write(outputs, case_.n);
  }
  // Known to be wrong: the sum misses what stands behind the third element.
  RunOutcome RunOptimized(const Variation&, const OutputSet& outputs,
                          Execution* execution) const override {
    execution->backend = "optimized";
    return Write(outputs, 3);
  }

 private:
  // The sum goes over so many elements.
  std::vector<float> Row(int64_t row, int64_t summed) const {
    const float* x = x_.data() + row * case_.n;
    const float top = *std::max_element(x, x + case_.n);
    std::vector<float> y;
    for (int64_t i = 0; i < case_.n; ++i) y.push_back(std::exp2(x[i] - top));
    float sum = 0;
    for (int64_t i = 0; i < std::min(summed, case_.n); ++i) {
      sum += y[static_cast<size_t>(i)];
    }
    for (float& value : y) value /= sum;
    return y;
  }
  RunOutcome Write(const OutputSet& outputs, int64_t summed) const {
    auto* y = static_cast<float*>(outputs.tensors[0].view.data);
    for (int64_t row = 0; row < case_.rows; ++row) {
      for (const float value : Row(row, summed)) *y++ = value;
    }
    return {};
  }

  RowSoftmaxCase case_;
  std::vector<float> x_;
  std::vector<OutputSpec> outputs_;
};

std::vector<Case> DrawRows(const OpRow& op, Draw* draw, const DomainOptions&) {
  Case c = EmptyCase(op);
  PartOf(&c)->rows = draw->In(1, 9);
  PartOf(&c)->n = draw->In(1, 40);
  c.seed = static_cast<uint64_t>(draw->In(0, 1 << 20));
  return {c};
}

struct Reducer : SequenceReducer<&PartOf> {
  using SequenceReducer::SequenceReducer;
  std::vector<std::vector<Case>> All() {
    const auto& values = call().Get<RowSoftmaxCase>();
    for (const int64_t rows : Below(values.rows, 1)) {
      Try([&](RowSoftmaxCase* c) { c->rows = rows; });
    }
    for (const int64_t n : Below(values.n, 1)) {
      Try([&](RowSoftmaxCase* c) { c->n = n; });
    }
    TrySeeds();
    return Take();
  }
};

constexpr const char* kFeatures[] = {"one_row", "several_rows"};
constexpr DomainRow kDomain = {
    &DrawRows, [] { return std::span<const char* const>(kFeatures); },
    [](const Case& c) {
      const bool one = c.Get<RowSoftmaxCase>().rows == 1;
      return FeatureSet{{one, !one}};
    },
    [](std::span<const Case> sequence, size_t call) {
      return Reducer(sequence, call).All();
    }};
constexpr TrialRow kTrial = MakeTrialRow<RowSoftmaxTrial>();
constexpr OpRow kRow = {
    {"row_softmax", "a toy", [] { return std::span<const CaseKey>(kKeys); },
     &MakeValues<RowSoftmaxCase>, &ValidateRowSoftmax,
     [](const Case& c) {
       const auto& values = c.Get<RowSoftmaxCase>();
       return values.rows * values.n * 8;
     }},
    &kTrial,
    &kDomain};
constexpr const OpRow* kRows[] = {&kRow};

TEST(ToyOp, IsJudgedShrunkAndExportedByItsRow) {
  const Domain domain = DomainOf(kRow);
  const fuzz::Target good = fuzz::Target::Open("builtin:reference", "").value();
  const fuzz::Target bad = fuzz::Target::Open("builtin:optimized", "").value();
  const Case c = ParseCase("row_softmax rows=5 n=9 seed=3", kRows).value();
  EXPECT_EQ(TryCase({c}, good, 1).verdict, Verdict::kPass);
  const fuzz::Outcome found = TryCase({c}, bad, 1);
  EXPECT_EQ(found.signature, "bits:y") << found.message;
  EXPECT_EQ(MinimalLine(Shrink(domain, {c}, found, bad, 60).sequence),
            "row_softmax n=4");
  // The answers to case 1 of a folder of many.
  const std::string folder = testing::TempDir() + "/toy";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(ExportCase(c, folder + "/1", true, {}).ok());
  std::filesystem::rename(folder + "/1/expected.safetensors",
                          folder + "/1/outputs.safetensors");
  fuzz::Target files = good;
  files.candidate = "files:" + folder;
  files.profile = LoadProfile("exact-f32").value();
  EXPECT_EQ(TryCase({c}, files, 1).verdict, Verdict::kPass);
}

TEST(ToyOp, IsFuzzedByItsRow) {
  const Domain domain = DomainOf(kRow);
  fuzz::Plan plan;
  plan.domain = &domain;
  plan.budget.cases = 40;
  fuzz::Progress progress;
  struct : fuzz::Observer {
    Status OnCase(const fuzz::Tried&, const fuzz::Report&) override {
      return {};
    }
    void OnFault(const fuzz::Fault&) override {}
  } observer;
  const auto target = fuzz::Target::Open("builtin:optimized", "").value();
  const auto report = RunPlan(plan, target, &observer, &progress);
  ASSERT_EQ(report->faults.size(), 1u);
  EXPECT_EQ(MinimalLine(report->faults[0].shrunk.sequence), "row_softmax n=4");
}

}  // namespace
}  // namespace lockstep::verify
