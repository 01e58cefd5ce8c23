#include "verify/ops/mamba3_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <set>
#include <utility>

#include "optimized/mamba3_scan.h"
#include "optimized/plan.h"
#include "reference/mamba3_scan.h"
#include "verify/case_mamba3_scan.h"
#include "verify/ops/scan_slice.h"

namespace lockstep::verify {
namespace {

optimized::Mamba3ScanCaps ToCaps(const Variation& how) {
  return {how.target.value_or(""), how.threads.value_or(0)};
}

// Whether the wanted target, or without a wish any target, runs here.
bool Supported(const Variation& how) {
  const std::vector<optimized::Target> targets = optimized::Targets();
  return std::any_of(targets.begin(), targets.end(), [&](const auto& target) {
    return target.supported && (!how.target || *how.target == target.name);
  });
}

TensorView<float, 3> ThreeAxes(const MutableLaneView& x) {
  return {static_cast<float*>(x.data),
          {x.shape[0], x.shape[1], x.shape[3]},
          {x.strides[0], x.strides[1], x.strides[3]}};
}
TensorView<float, 4> FourAxes(const MutableLaneView& x) {
  return {static_cast<float*>(x.data), x.shape, x.strides};
}
TensorView<const float, 3> Const(const TensorView<float, 3>& x) {
  return {x.data, x.shape, x.strides};
}
TensorView<const float, 4> Const(const TensorView<float, 4>& x) {
  return {x.data, x.shape, x.strides};
}

// The outputs of one head of one run, and their bits as a row has them.
struct HeadOutputs {
  explicit HeadOutputs(const Mamba3ScanProblem& p)
      : y(static_cast<size_t>(p.length * p.output_ranks() * p.head_dim)),
        y16(y.size()),
        theta(static_cast<size_t>(p.angles)),
        h(static_cast<size_t>(p.head_dim * p.state_dim)),
        k(static_cast<size_t>(p.ranks * p.state_dim)),
        v(static_cast<size_t>(p.head_dim)) {}

  Mamba3ScanOutputs View(const Mamba3ScanProblem& p) {
    Mamba3ScanOutputs out;
    out.y.lane = p.lane;
    out.y.data = p.lane == Lane::kF32 ? static_cast<void*>(y.data())
                                      : static_cast<void*>(y16.data());
    out.y.shape = {1, p.length, p.output_ranks(), 1, p.head_dim};
    out.y.strides = DenseStrides(out.y.shape);
    out.carry.theta = {theta.data(), {1, 1, p.angles}, {p.angles, p.angles, 1}};
    out.carry.h = {
        h.data(), {1, 1, p.head_dim, p.state_dim}, {0, 0, p.state_dim, 1}};
    out.carry.k = {
        k.data(), {1, p.ranks, 1, p.state_dim}, {0, p.state_dim, 0, 1}};
    out.carry.v = {v.data(), {1, 1, p.head_dim}, {0, 0, 1}};
    return out;
  }

  std::vector<float> y;
  std::vector<uint16_t> y16;
  std::vector<float> theta, h, k, v;
};

std::vector<uint32_t> BitsOf(const std::vector<float>& x) {
  std::vector<uint32_t> bits;
  for (const float value : x) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

}  // namespace

std::vector<OutputSpec> Mamba3ScanTrial::Outputs(const Case& c) {
  const Mamba3ScanProblem& p = c.scan().problem;
  const int64_t runs = CountRuns(c.scan());
  const int64_t ranks = p.output_ranks();
  std::vector<OutputSpec> specs = {
      {.name = "y",
       .lane = p.lane,
       .shape = {p.batch, p.length * ranks, p.heads, p.head_dim},
       .axes = {"b", ranks == 1 ? "t" : "t*r", "h", "p"},
       .file_shape = {p.batch, p.length, ranks, p.heads, p.head_dim}}};
  if (p.angles > 0) {
    specs.push_back({.name = "carry_theta",
                     .shape = {runs, p.heads, 1, p.angles},
                     .axes = {"run", "h", nullptr, "s"},
                     .file_shape = {runs, p.heads, p.angles}});
  }
  specs.push_back({.name = "carry_h",
                   .shape = {runs, p.heads, p.head_dim, p.state_dim},
                   .axes = {"run", "h", "p", "n"}});
  specs.push_back({.name = "carry_k",
                   .shape = {runs, p.ranks, p.heads, p.state_dim},
                   .axes = {"run", "r", "h", "n"}});
  specs.push_back({.name = "carry_v",
                   .shape = {runs, p.heads, 1, p.head_dim},
                   .axes = {"run", "h", nullptr, "p"},
                   .file_shape = {runs, p.heads, p.head_dim}});
  return specs;
}

Result<std::unique_ptr<Trial>> Mamba3ScanTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  Result<Mamba3ScanData> data = MaterialiseMamba3Scan(c, options);
  if (!data.ok()) return data.status();
  return std::unique_ptr<Trial>(
      std::make_unique<Mamba3ScanTrial>(c, std::move(data.value())));
}

Result<std::unique_ptr<Trial>> Mamba3StepTrial::Open(
    const Case& c, const MaterialiseOptions& options) {
  Result<Mamba3ScanData> data = MaterialiseMamba3Scan(c, options);
  if (!data.ok()) return data.status();
  return std::unique_ptr<Trial>(
      std::make_unique<Mamba3StepTrial>(c, std::move(data.value())));
}

Mamba3ScanTrial::Mamba3ScanTrial(const Case& request, Mamba3ScanData data)
    : request_(request.scan()),
      seed_(request.seed),
      data_(std::move(data)),
      runs_(reference::ListRuns(data_.problem, data_.inputs)),
      outputs_(Outputs(request)) {}

Result<OutputSet> Mamba3ScanTrial::Allocate(int64_t shift) const {
  OutputSet set;
  for (const OutputSpec& spec : outputs_) {
    std::array<int64_t, 4> strides = DenseStrides(spec.shape);
    if (spec.name == "y") {
      const auto s =
          TokenShape(request_, data_.problem.heads,
                     data_.problem.output_ranks(), data_.problem.head_dim)
              .strides;
      strides = {s[0], s[2], s[1], s[3]};
    }
    Result<LaneTensor> tensor =
        AllocateLaneTensor(spec.lane, spec.shape, strides, shift);
    if (!tensor.ok()) return tensor.status();
    set.tensors.push_back(std::move(tensor.value()));
  }
  return set;
}

Mamba3ScanOutputs Mamba3ScanTrial::Views(const OutputSet& outputs) const {
  Mamba3ScanOutputs out;
  const MutableLaneView& y = outputs.tensors[0].view;
  const int64_t ranks = data_.problem.output_ranks();
  out.y = {y.data,
           y.lane,
           {y.shape[0], y.shape[1] / ranks, ranks, y.shape[2], y.shape[3]},
           {y.strides[0], y.strides[1] * ranks, y.strides[1], y.strides[2],
            y.strides[3]}};
  size_t next = 1;
  if (data_.problem.angles > 0) {
    out.carry.theta = ThreeAxes(outputs.tensors[next++].view);
  } else {
    out.carry.theta.shape = {CountRuns(request_), data_.problem.heads, 0};
  }
  out.carry.h = FourAxes(outputs.tensors[next].view);
  out.carry.k = FourAxes(outputs.tensors[next + 1].view);
  out.carry.v = ThreeAxes(outputs.tensors[next + 2].view);
  return out;
}

std::vector<Fact> Mamba3ScanTrial::Facts() const {
  const auto empty =
      std::count_if(runs_.begin(), runs_.end(),
                    [](const auto& run) { return run.first == run.end; });
  const auto present = [](bool b) { return b ? "present" : "absent"; };
  return {
      {"runs", std::to_string(runs_.size()), true},
      {"runs_empty", std::to_string(empty), true},
      {"group", std::to_string(data_.problem.group()), true},
      {"ranks", std::to_string(data_.problem.ranks), true},
      {"angles", std::to_string(data_.problem.angles), true},
      {"regime", RegimeName(request_.regime)},
      {"initial_carry", present(data_.problem.carry_in)},
  };
}

int64_t Mamba3ScanTrial::rows() const {
  return static_cast<int64_t>(runs_.size()) * data_.problem.heads;
}

std::vector<int64_t> Mamba3ScanTrial::Lines(size_t output, int64_t row) const {
  const Mamba3ScanProblem& p = data_.problem;
  const int64_t index = row / p.heads;
  const int64_t head = row % p.heads;
  const std::string& name = outputs_[output].name;
  std::vector<int64_t> lines;
  if (name == "y") {
    const reference::Run& run = runs_[static_cast<size_t>(index)];
    const int64_t ranks = p.output_ranks();
    for (int64_t at = run.first * ranks; at < run.end * ranks; ++at) {
      lines.push_back((run.row * p.length * ranks + at) * p.heads + head);
    }
  } else if (name == "carry_h") {
    for (int64_t c = 0; c < p.head_dim; ++c) {
      lines.push_back(row * p.head_dim + c);
    }
  } else if (name == "carry_k") {
    for (int64_t r = 0; r < p.ranks; ++r) {
      lines.push_back((index * p.ranks + r) * p.heads + head);
    }
  } else {
    lines.push_back(row);
  }
  return lines;
}

void Mamba3ScanTrial::RowOf(const Mamba3ScanProblem& problem,
                            const Mamba3ScanInputs& inputs, int64_t run,
                            int64_t head, int64_t first, RowBits* bits) const {
  const reference::Run& at = runs_[static_cast<size_t>(run)];
  if (at.first == at.end) return EmptyRow(inputs, run, head, bits);
  const ScanSlice slice =
      SliceHead(problem, inputs, at.row, first, at.end, head, run);
  const Mamba3ScanProblem& p = slice.problem;
  HeadOutputs out(p);
  reference::Mamba3Scan(p, slice.inputs, out.View(p));
  bits->clear();
  std::vector<uint32_t> y = BitsOf(out.y);
  if (p.lane == Lane::kBf16) y.assign(out.y16.begin(), out.y16.end());
  // Of a longer scan only the run itself.
  const int64_t kept = (at.end - at.first) * p.output_ranks() * p.head_dim;
  bits->emplace_back(y.end() - kept, y.end());
  if (data_.problem.angles > 0) {
    out.theta.resize(static_cast<size_t>(data_.problem.angles));
    bits->push_back(BitsOf(out.theta));
  }
  bits->push_back(BitsOf(out.h));
  bits->push_back(BitsOf(out.k));
  bits->push_back(BitsOf(out.v));
}

// The carry passes through; without one it is zeros.
void Mamba3ScanTrial::EmptyRow(const Mamba3ScanInputs& inputs, int64_t run,
                               int64_t head, RowBits* bits) const {
  const Mamba3ScanProblem& p = data_.problem;
  const auto& carry = inputs.carry;
  const auto value = [run](const auto& view, auto... at) {
    const float x = view.data != nullptr ? view(run, at...) : 0.0f;
    return x != x ? kCanonicalNaNBits : std::bit_cast<uint32_t>(x);
  };
  bits->assign(outputs_.size(), {});
  auto part = bits->begin() + 1;
  if (p.angles > 0) {
    for (int64_t s = 0; s < p.angles; ++s) {
      part->push_back(value(carry.theta, head, s));
    }
    ++part;
  }
  for (int64_t c = 0; c < p.head_dim; ++c) {
    for (int64_t n = 0; n < p.state_dim; ++n) {
      part[0].push_back(value(carry.h, head, c, n));
    }
    part[2].push_back(value(carry.v, head, c));
  }
  for (int64_t r = 0; r < p.ranks; ++r) {
    for (int64_t n = 0; n < p.state_dim; ++n) {
      part[1].push_back(value(carry.k, r, head, n));
    }
  }
}

void Mamba3ScanTrial::ReferenceRow(int64_t row, RowBits* bits) const {
  const int64_t heads = data_.problem.heads;
  const reference::Run& run = runs_[static_cast<size_t>(row / heads)];
  RowOf(data_.problem, data_.inputs, row / heads, row % heads, run.first, bits);
}

int64_t Mamba3ScanTrial::RowCost() const {
  const Mamba3ScanProblem& p = data_.problem;
  int64_t longest = 1;
  for (const auto& run : runs_) {
    longest = std::max(longest, run.end - run.first);
  }
  return longest * p.state_dim * p.head_dim * (1 + 3 * p.ranks);
}

std::vector<int64_t> Mamba3ScanTrial::TellingRows() const {
  const int64_t heads = data_.problem.heads;
  const auto runs = static_cast<int64_t>(runs_.size());
  const std::set<int64_t> of_runs = {0, runs - 1, runs / 2};
  const std::set<int64_t> of_heads = {0, heads - 1, heads / 2};
  std::vector<int64_t> rows;
  for (const int64_t run : of_runs) {
    for (const int64_t head : of_heads) rows.push_back(run * heads + head);
  }
  return rows;
}

void Mamba3ScanTrial::ComputeByReference(
    const Mamba3ScanOutputs& outputs) const {
  reference::Mamba3Scan(data_.problem, data_.inputs, outputs);
}

Status Mamba3ScanTrial::ComputeOptimized(const Variation& how,
                                         const Mamba3ScanOutputs& outputs,
                                         Execution* execution) const {
  optimized::Mamba3ScanExecution ran;
  const Status status = optimized::Mamba3Scan(data_.problem, data_.inputs,
                                              ToCaps(how), outputs, &ran);
  execution->target = ran.target;
  execution->threads = ran.threads;
  return status;
}

RunOutcome Mamba3ScanTrial::RunReference(const OutputSet& outputs,
                                         Execution* execution) const {
  ComputeByReference(Views(outputs));
  *execution = Execution{};
  execution->backend = "reference";
  execution->threads = 1;
  return {};
}

RunOutcome Mamba3ScanTrial::RunOptimized(const Variation& how,
                                         const OutputSet& outputs,
                                         Execution* execution) const {
  if (!Supported(how)) {
    if (how.target) {
      return {RunOutcome::State::kUnsupported,
              "this CPU does not support target " + *how.target, ""};
    }
    const RunOutcome outcome = RunReference(outputs, execution);
    execution->fallback_reason = "this CPU supports no compiled SIMD target";
    return outcome;
  }
  *execution = Execution{};
  const Status status = ComputeOptimized(how, Views(outputs), execution);
  if (!status.ok()) {
    return {RunOutcome::State::kError, status.message(), ""};
  }
  execution->backend = "optimized";
  return {};
}

std::vector<Variation> Mamba3ScanTrial::OptimizedVariations(
    const Variation& fixed) const {
  std::vector<Variation> variations;
  const auto add = [&](const char* check, auto&& change) {
    Variation how = fixed;
    how.check = check;
    change(how);
    variations.push_back(std::move(how));
  };
  std::vector<std::string> targets;
  for (const optimized::Target& target : optimized::Targets()) {
    if (!target.supported) continue;
    if (fixed.target && *fixed.target != target.name) continue;
    targets.push_back(target.name);
    if (!fixed.target) {
      add("targets", [&](Variation& how) { how.target = target.name; });
    }
  }
  std::vector<int> threads = {1, 2, 3};
  if (fixed.threads) threads = {*fixed.threads};
  int64_t n = 0;
  for (const int count : threads) {
    if (!fixed.threads) {
      add("threads", [&](Variation& how) { how.threads = count; });
    }
    for (const std::string& target : targets) {
      ++n;
      add("combined", [&](Variation& how) {
        how.target = target;
        how.threads = count;
        if (n % 3 != 0) how.shift = kShifts[n % 3 - 1];
      });
    }
  }
  return variations;
}

namespace {

// Calls step(slice, outputs) for every token in turn; the exported carry is the
// carry of the next token.
template <typename Step>
Status ChainSteps(const Mamba3ScanData& data, const Mamba3ScanOutputs& outputs,
                  Step&& step) {
  const Mamba3ScanProblem& p = data.problem;
  // Zeros, where no carry is given; broadcast from one element.
  static constexpr float kZero = 0.0f;
  Mamba3Carry<const float> carry = data.inputs.carry;
  if (!p.carry_in) {
    carry.theta = {&kZero, outputs.carry.theta.shape, {}};
    carry.h = {&kZero, outputs.carry.h.shape, {}};
    carry.k = {&kZero, outputs.carry.k.shape, {}};
    carry.v = {&kZero, outputs.carry.v.shape, {}};
  }
  for (int64_t t = 0; t < p.length; ++t) {
    Mamba3ScanOutputs out = outputs;
    out.y.data =
        static_cast<char*>(out.y.data) +
        t * out.y.strides[1] * static_cast<int64_t>(LaneBytes(out.y.lane));
    out.y.shape[1] = 1;
    const ScanSlice slice = SliceStep(p, data.inputs, t, carry);
    const Status status = step(slice, out);
    if (!status.ok()) return status;
    carry = {Const(out.carry.theta), Const(out.carry.h), Const(out.carry.k),
             Const(out.carry.v)};
  }
  return {};
}

}  // namespace

void Mamba3StepTrial::ComputeByReference(
    const Mamba3ScanOutputs& outputs) const {
  const Status done = ChainSteps(
      data(), outputs,
      [](const ScanSlice& slice, const Mamba3ScanOutputs& out) -> Status {
        reference::Mamba3Step(slice.problem, slice.inputs, out);
        return {};
      });
  (void)done;  // the reference refuses nothing
}

Status Mamba3StepTrial::ComputeOptimized(const Variation& how,
                                         const Mamba3ScanOutputs& outputs,
                                         Execution* execution) const {
  return ChainSteps(data(), outputs,
                    [&](const ScanSlice& slice, const Mamba3ScanOutputs& out) {
                      optimized::Mamba3ScanExecution ran;
                      const Status status = optimized::Mamba3Scan(
                          slice.problem, slice.inputs, ToCaps(how), out, &ran);
                      execution->target = ran.target;
                      execution->threads = ran.threads;
                      return status;
                    });
}

}  // namespace lockstep::verify
