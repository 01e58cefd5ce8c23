// A whole op that the program does not know: y = softmax of 2^x over rows of
// integers. It is what the author of an op writes, and all of it.
#ifndef LOCKSTEP_TESTS_FUZZ_TOY_OP_H_
#define LOCKSTEP_TESTS_FUZZ_TOY_OP_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/case/keys.h"
#include "verify/domain/reducer.h"
#include "verify/ops/facts.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"
#include "verify/selftest/row.h"

namespace lockstep::verify::toy {

// All but the division is exact.
struct Toy : OpValuesAs<Toy> {
  int64_t rows = 1;
  int64_t n = 1;
  friend bool operator==(const Toy&, const Toy&) = default;
};
inline const CaseKey kKeys[] = {
    keys::IntKey<&Toy::rows>("rows", &keys::Set<1, &Toy::rows>),
    keys::IntKey<&Toy::n>("n", &keys::Set<1, &Toy::n>), kGenKey, kSeedKey,
    kExpectKey};

inline Status ValidateToy(const Case& c) {
  const Toy& toy = c.Get<Toy>();
  const auto [least, most] = std::minmax(toy.rows, toy.n);
  if (least >= 1 && most <= 4096) return {};
  return Status::Error("rows and n are 1 to 4096");
}

class ToyTrial final : public Trial, public TrialKernels, public TrialFacts {
 public:
  explicit ToyTrial(const Case& c) : Trial(Outputs(c)), toy_(c.Get<Toy>()) {
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

  KernelInputs Inputs() const override {
    KernelInputs inputs;
    inputs.op = "row_softmax";
    inputs.Add("x", ElementType::kF32,
               TensorView<const float, 2>{
                   x_.data(), {toy_.rows, toy_.n}, {toy_.n, 1}});
    return inputs;
  }
  std::optional<Work> CountWork() const override {
    const auto elements = static_cast<double>(x_.size());
    return Work{.flop = 4 * elements, .units = elements, .unit = "elements"};
  }
  int64_t RowCost() const override { return toy_.n; }
  void ReferenceRow(int64_t row, RowBits* bits) const override {
    bits->assign(1, {});
    for (const float y : Row(row, toy_.n))
      (*bits)[0].push_back(std::bit_cast<uint32_t>(y));
  }
  RunOutcome RunReference(const OutputSet& outputs,
                          Execution* execution) const override {
    return Write("reference", toy_.n, outputs, execution);
  }
  // Known to be wrong.
  RunOutcome RunOptimized(const Variation&, const OutputSet& outputs,
                          Execution* execution) const override {
    return Write("optimized", 3, outputs, execution);
  }

 private:
  TrialParts parts() const override { return {.kernels = this, .facts = this}; }
  // The sum goes over so many elements.
  std::vector<float> Row(int64_t row, int64_t summed) const {
    const float* x = x_.data() + row * toy_.n;
    const float top = *std::max_element(x, x + toy_.n);
    std::vector<float> y;
    for (int64_t i = 0; i < toy_.n; ++i) y.push_back(std::exp2(x[i] - top));
    float sum = 0;
    for (int64_t i = 0; i < std::min(summed, toy_.n); ++i) sum += y[i];
    for (float& value : y) value /= sum;
    return y;
  }
  RunOutcome Write(const char* backend, int64_t summed,
                   const OutputSet& outputs, Execution* execution) const {
    execution->backend = backend;
    auto* y = static_cast<float*>(outputs.tensors[0].view.data);
    for (int64_t row = 0; row < toy_.rows; ++row) {
      for (const float value : Row(row, summed)) *y++ = value;
    }
    return {};
  }

  Toy toy_;
  std::vector<float> x_;
};

inline Toy* PartOf(Case* c) { return &c->Get<Toy>(); }
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

inline constexpr const char* kFeatures[] = {"one_row", "several_rows"};
inline constexpr DomainRow kDomain = {
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
inline constexpr TrialRow kTrial = MakeTrialRow<ToyTrial>();
inline constexpr OpRow kRow = {
    {"row_softmax", "a toy", [] { return std::span<const CaseKey>(kKeys); },
     &MakeValues<Toy>, &ValidateToy,
     [](const Case& c) { return c.Get<Toy>().rows * c.Get<Toy>().n * 8; }},
    &kTrial,
    &kDomain};
inline constexpr const OpRow* kRows[] = {&kRow};

inline constexpr MutantInfo kBug = {Fault::kNone, "toy.short_sum", "tail",
                                    "the sum ends at the third element",
                                    "row_softmax n=4"};
inline Result<Subject> Exact(const char* spec) {
  return Subject{std::move(ParseCandidate(spec).value()),
                 LoadProfile("exact-f32").value()};
}
inline constexpr SelftestRow kSelftest = {
    "row_softmax",
    [] { return std::vector<const MutantInfo*>{&kBug}; },
    [](const MutantInfo&, BugBase) { return Exact("builtin:optimized"); },
    [] { return std::vector<std::string>{"right"}; },
    [](const std::string&) { return Exact("builtin:reference"); },
    [](const NumericProfile&, uint64_t seed, int64_t) {
      return Result<Case>(PlainCase(DomainOf(kRow), seed, {}));
    }};
inline constexpr const SelftestRow* kSelftests[] = {&kSelftest};

}  // namespace lockstep::verify::toy

#endif  // LOCKSTEP_TESTS_FUZZ_TOY_OP_H_
