// Scans with a tensor times a number: another base of the decay, a step size or
// a read vector that is scaled, a skip that is left out.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/causes/questions.h"
#include "verify/inputs/mamba3_scan_pick.h"
#include "verify/ops/mamba3_scan/runs_trial.h"

namespace lockstep::verify {
namespace {

void Multiply(const LaneTensor& x, double factor) {
  const LaneView from = x.const_view();
  ForElements(from.shape, [&](const At& at) {
    const double value = ElementValue(from.lane, ElementBits(from, at));
    SetElement(x.view, at, BitsOf(from.lane, value * factor));
  });
}

// The trial with that tensor times the factor.
Result<std::unique_ptr<Trial>> Scaled(const Trial& own, ScanTensor tensor,
                                      double factor) {
  const auto& trial = dynamic_cast<const RunsTrial&>(own);
  ASSIGN_OR_RETURN(Mamba3ScanData data,
                   PickScan(trial.data(), PickAll(trial.data()),
                            trial.request().Get<Mamba3ScanCase>()));
  Multiply(data.at(tensor).tensor, factor);
  return trial.MakeAnother(trial.request(), std::move(data));
}

// `what`: "dt is".
Question Times(std::string name, ScanTensor tensor, const char* what) {
  return {std::move(name), true, nullptr,
          [tensor, what](double factor) {
            return Format("%s %.4g times as large as asked", what, factor) +
                   (tensor == ScanTensor::kA ? BaseText(factor) : "");
          },
          [tensor](const Trial& own, double factor) {
            return Scaled(own, tensor, factor);
          }};
}

}  // namespace

std::vector<Question> ScanQuestions(const Case& c) {
  if (!c.Has<Mamba3ScanCase>() || c.Has<Mamba3ScanBackwardCase>()) return {};
  const Mamba3ScanCase& scan = c.Get<Mamba3ScanCase>();
  std::vector<Question> all = {
      Times("decay", ScanTensor::kA, "logarithms of decays are"),
      Times("dt", ScanTensor::kDt, "dt is")};
  // A narrow lane would round the products.
  if (scan.problem.lane == Lane::kF32) {
    all.push_back(Times("q", ScanTensor::kQ, "q is"));
  }
  if (!scan.problem.skip) return all;
  all.push_back(Times("d", ScanTensor::kD, "D is"));
  all.push_back({"no_d", false, nullptr,
                 [](double) { return std::string("D is not added"); },
                 [](const Trial& own, double) {
                   return Scaled(own, ScanTensor::kD, 0);
                 }});
  return all;
}

}  // namespace lockstep::verify
