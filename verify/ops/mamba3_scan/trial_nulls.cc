// Answers that know nothing, or leave one feature out: what a case must be
// able to tell from the truth.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference/contract/ssd_scan.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/ops/mamba3_scan/runs_trial.h"

namespace lockstep::verify {
namespace {

// One value in place of every element of a tensor.
constexpr float kForgets = -200.0f;  // exp of it vanishes

}  // namespace

std::vector<NullCandidate> RunsTrial::Nulls() const {
  const Mamba3ScanProblem& truth = data_.problem;
  std::vector<NullCandidate> nulls;
  // The reference on another problem. `joined`: from the start of the row.
  const auto without = [&](const char* name, const Mamba3ScanProblem& problem,
                           const Mamba3ScanInputs& inputs,
                           bool joined = false) {
    nulls.push_back(
        {name, [this, problem, inputs, joined](int64_t row, RowBits* bits) {
           RowBy({problem, inputs, data_, joined}, row, bits);
         }});
  };

  // In the first output that the row has.
  nulls.push_back({"zeros", [this](int64_t row, RowBits* bits) {
                     bits->clear();
                     for (size_t t = 0; t < outputs().size(); ++t) {
                       const auto lines = Lines(t, row).size();
                       const auto channels =
                           static_cast<size_t>(outputs()[t].shape[3]);
                       bits->emplace_back(lines * channels, 0u);
                       if (lines > 0) return;
                     }
                   }});
  Mamba3ScanInputs inputs = data_.inputs;
  inputs.a = {&kForgets, inputs.a.shape, {}};
  without("memoryless", truth, inputs);

  // Where tau is +infinity, this is the truth.
  inputs = data_.inputs;
  inputs.tau.data = InfinityOf(truth.lane);
  inputs.tau.strides = {};
  if (!AlwaysSure(request_)) without("no_previous", truth, inputs);

  if (static_cast<int64_t>(runs_.size()) > truth.batch) {
    without("runs_joined", truth, data_.inputs, true);
  }
  if (truth.carry_in) {
    Mamba3ScanProblem problem = truth;
    problem.carry_in = false;
    inputs = data_.inputs;
    inputs.carry = {};
    without("no_carry", problem, inputs);
  }
  // One token alone meets nothing that is turned by another angle.
  const bool turned =
      truth.carry_in ||
      std::any_of(runs_.begin(), runs_.end(),
                  [](const auto& run) { return run.end > run.first + 1; });
  if (truth.angles > 0 && turned) {
    Mamba3ScanProblem problem = truth;
    problem.angles = 0;
    inputs = data_.inputs;
    inputs.vartheta = {};
    inputs.carry.theta = {};
    without("no_rotation", problem, inputs);
  }
  const auto leave_out = [&](const char* name,
                             bool Mamba3ScanProblem::* field) {
    if (!(truth.*field)) return;
    Mamba3ScanProblem problem = truth;
    problem.*field = false;
    without(name, problem, data_.inputs);
  };
  leave_out("no_bias", &Mamba3ScanProblem::bias);
  leave_out("no_skip", &Mamba3ScanProblem::skip);
  leave_out("no_gate", &Mamba3ScanProblem::gate);
  return nulls;
}

}  // namespace lockstep::verify
