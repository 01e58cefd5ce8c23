// One row for an op: an op that nothing else knows is judged, fuzzed, shrunk,
// exported, read back, selftested and benched by its rows alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/row.h"
#include "fuzz/run.h"
#include "fuzz/shrink.h"
#include "fuzz/trial.h"
#include "verify/candidate/candidate.h"
#include "verify/case/keys.h"
#include "verify/domain/reducer.h"
#include "verify/ops/op.h"
#include "verify/report/export.h"
#include "verify/run/run.h"
#include "verify/selftest/row.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify {
namespace {

// y = softmax of 2^x over rows of integers: all but the division is exact.
struct Toy : OpValuesAs<Toy> {
  int64_t rows = 1;
  int64_t n = 1;
  friend bool operator==(const Toy&, const Toy&) = default;
};
const CaseKey kKeys[] = {
    keys::IntKey<&Toy::rows>("rows", &keys::Set<1, &Toy::rows>),
    keys::IntKey<&Toy::n>("n", &keys::Set<1, &Toy::n>), kGenKey, kSeedKey,
    kExpectKey};

Status ValidateToy(const Case& c) {
  const Toy& toy = c.Get<Toy>();
  for (const int64_t n : {toy.rows, toy.n}) {
    if (n < 1 || n > 4096) return Status::Error("rows and n are 1 to 4096");
  }
  return {};
}

class ToyTrial final : public Trial {
 public:
  explicit ToyTrial(const Case& c) : toy_(c.Get<Toy>()), outputs_(Outputs(c)) {
    uint64_t state = c.seed;
    for (int64_t i = 0; i < toy_.rows * toy_.n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      x_.push_back(static_cast<float>(state >> 61));
    }
  }
  static std::vector<OutputSpec> Outputs(const Case& c) {
    const Toy& toy = c.Get<Toy>();
    return {{.name = "y",
             .shape = {1, 1, toy.rows, toy.n},
             .axes = {nullptr, nullptr, "row", "i"}}};
  }
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions&) {
    return std::unique_ptr<Trial>(std::make_unique<ToyTrial>(c));
  }
  static std::vector<Case> ProbeCases(const Case&, const NumericProfile&) {
    return {};
  }

  const std::vector<OutputSpec>& outputs() const override { return outputs_; }
  KernelInputs Inputs() const override {
    const TensorView<const float, 2> x = {
        x_.data(), {toy_.rows, toy_.n}, {toy_.n, 1}};
    KernelInputs inputs;
    inputs.op = "row_softmax";
    inputs.Add("x", ElementType::kF32, x);
    return inputs;
  }
  std::optional<Work> CountWork() const override {
    const double elements = static_cast<double>(toy_.rows * toy_.n);
    return Work{.flop = 4 * elements, .units = elements, .unit = "elements"};
  }
  int64_t RowCost() const override { return toy_.n; }
  void ReferenceRow(int64_t row, RowBits* bits) const override {
    bits->assign(1, {});
    for (const float y : Row(row, toy_.n)) {
      (*bits)[0].push_back(std::bit_cast<uint32_t>(y));
    }
  }
  RunOutcome RunReference(const OutputSet& outputs,
                          Execution* execution) const override {
    execution->backend = "reference";
    return Write(outputs, toy_.n);
  }
  // Known to be wrong.
  RunOutcome RunOptimized(const Variation&, const OutputSet& outputs,
                          Execution* execution) const override {
    execution->backend = "optimized";
    return Write(outputs, 3);
  }

 private:
  // The sum goes over so many elements.
  std::vector<float> Row(int64_t row, int64_t summed) const {
    const float* x = x_.data() + row * toy_.n;
    const float top = *std::max_element(x, x + toy_.n);
    std::vector<float> y;
    float sum = 0;
    for (int64_t i = 0; i < toy_.n; ++i) {
      y.push_back(std::exp2(x[i] - top));
      if (i < summed) sum += y.back();
    }
    for (float& value : y) value /= sum;
    return y;
  }
  RunOutcome Write(const OutputSet& outputs, int64_t summed) const {
    auto* y = static_cast<float*>(outputs.tensors[0].view.data);
    for (int64_t row = 0; row < toy_.rows; ++row) {
      for (const float value : Row(row, summed)) *y++ = value;
    }
    return {};
  }

  Toy toy_;
  std::vector<float> x_;
  std::vector<OutputSpec> outputs_;
};

Toy* PartOf(Case* c) { return &c->Get<Toy>(); }
struct Reducer : SequenceReducer<&PartOf> {
  using SequenceReducer::SequenceReducer;
  std::vector<std::vector<Case>> All() {
    for (const auto member : {&Toy::rows, &Toy::n}) {
      for (const int64_t value : Below(call().Get<Toy>().*member, 1)) {
        Try([&](Toy* toy) { toy->*member = value; });
      }
    }
    TrySeeds();
    return Take();
  }
};

constexpr const char* kFeatures[] = {"one_row", "several_rows"};
constexpr DomainRow kDomain = {
    [](const OpRow& op, Draw* draw, const DomainOptions&) {
      Case c = EmptyCase(op);
      PartOf(&c)->rows = draw->In(1, 9);
      PartOf(&c)->n = draw->In(1, 40);
      c.seed = static_cast<uint64_t>(draw->In(0, 1 << 20));
      return std::vector<Case>{c};
    },
    [] { return std::span<const char* const>(kFeatures); },
    [](const Case& c) {
      return FeatureSet{{c.Get<Toy>().rows == 1, c.Get<Toy>().rows > 1}};
    },
    [](std::span<const Case> sequence, size_t call) {
      return Reducer(sequence, call).All();
    }};
constexpr TrialRow kTrial = MakeTrialRow<ToyTrial>();
constexpr OpRow kRow = {
    {"row_softmax", "a toy", [] { return std::span<const CaseKey>(kKeys); },
     &MakeValues<Toy>, &ValidateToy,
     [](const Case& c) { return c.Get<Toy>().rows * c.Get<Toy>().n * 8; }},
    &kTrial,
    &kDomain};
constexpr const OpRow* kRows[] = {&kRow};

constexpr MutantInfo kBug = {"toy.short_sum", "tail", Fault::kNone,
                             "the sum ends at the third element",
                             "row_softmax n=4"};
Result<Subject> Exact(const char* spec) {
  return Subject{std::move(ParseCandidate(spec).value()),
                 LoadProfile("exact-f32").value()};
}
constexpr SelftestRow kSelftest = {
    "row_softmax",
    [] { return std::vector<const MutantInfo*>{&kBug}; },
    [](const MutantInfo&, BugBase) { return Exact("builtin:optimized"); },
    [] { return std::vector<std::string>{"right"}; },
    [](const std::string&) { return Exact("builtin:reference"); },
    [](const NumericProfile&, int64_t, uint64_t seed, int64_t) {
      return Result<Case>(TameCase(DomainOf(kRow), seed, {}));
    }};
constexpr const SelftestRow* kSelftests[] = {&kSelftest};

fuzz::Target Kernel(const char* spec) {
  return fuzz::Target::Open(spec, "").value();
}

TEST(ToyOp, IsJudgedShrunkAndExportedByItsRow) {
  const fuzz::Target bad = Kernel("builtin:optimized");
  fuzz::Target good = Kernel("builtin:reference");
  const Case c = ParseCase("row_softmax rows=5 n=9 seed=3", kRows).value();
  EXPECT_EQ(TryCase({c}, good, 1).verdict, Verdict::kPass);
  const fuzz::Outcome found = TryCase({c}, bad, 1);
  EXPECT_EQ(found.signature, "bits:y") << found.message;
  EXPECT_EQ(MinimalLine(Shrink(DomainOf(kRow), {c}, found, bad, 60).sequence),
            "row_softmax n=4");
  // The answers to case 1 of a folder of many.
  const std::string folder = testing::TempDir() + "/toy";
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(ExportCase(c, folder + "/1", true, {}).ok());
  std::filesystem::rename(folder + "/1/expected.safetensors",
                          folder + "/1/outputs.safetensors");
  good.candidate = "files:" + folder;
  good.profile = LoadProfile("exact-f32").value();
  EXPECT_EQ(TryCase({c}, good, 1).verdict, Verdict::kPass);
}

TEST(ToyOp, IsFuzzedByItsRow) {
  const Domain domain = DomainOf(kRow);
  fuzz::Plan plan;
  plan.domain = &domain;
  plan.budget.cases = 40;
  fuzz::Progress progress;
  fuzz::Observer observer;
  const auto report =
      RunPlan(plan, Kernel("builtin:optimized"), &observer, &progress);
  ASSERT_EQ(report->faults.size(), 1u);
  EXPECT_EQ(MinimalLine(report->faults[0].shrunk.sequence), "row_softmax n=4");
}

TEST(ToyOp, IsSelftestedByItsRow) {
  SelftestOptions options;
  options.variations = 0;
  options.zoo_cases = 30;
  options.rows = kSelftests;
  options.ops = kRows;
  options.plans = false;
  const SelftestResult result = RunSelftest(options).value();
  EXPECT_TRUE(result.Passed()) << SelftestText(result);
  EXPECT_EQ(result.zoo_cases, 30);
  EXPECT_EQ(result.kills[0].by, "row_softmax n=4");
}

TEST(ToyOp, IsBenchedByItsRow) {
  bench::Ask ask;
  ask.job = JobsFromLines({"row_softmax rows=5 n=9"}, kRows).value()[0];
  const auto scene = bench::OpenScene(ask.job).value();
  EXPECT_EQ(scene->work->flop, 4 * 5 * 9);
  EXPECT_EQ(scene->bytes, 2 * 5 * 9 * 4);
  ask.spec = "builtin:reference";
  auto right = bench::Row::Open(ask, scene);
  right->Verify();
  ASSERT_EQ(right->refused(), "");
  right->TakeSample(0);
  EXPECT_GT(right->samples()[0].seconds, 0);
  ask.spec = "builtin:optimized";
  auto wrong = bench::Row::Open(ask, scene);
  wrong->Verify();
  EXPECT_EQ(wrong->refused().find("not timed: fail"), 0u) << wrong->refused();
}

}  // namespace
}  // namespace lockstep::verify
