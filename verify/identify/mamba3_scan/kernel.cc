#include "verify/identify/mamba3_scan/kernel.h"

#include <string>
#include <utility>

#include "verify/base/elements.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/inputs/mamba3_scan.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {
namespace {

constexpr OpRow kOp = {.text = kMamba3ScanText};

using T = ScanTensor;

// Tensor [run, head, position, channel] of the values of `of`, `light` tokens
// late; before them, and where it is not set, `other`.
void Fill(const Mamba3ScanData& data, T tensor, const ScanQuestion::Of& of,
          int64_t light, double other) {
  const ScanStorage& to = data.at(tensor);
  if (!to.there()) return;
  const auto& n = to.tensor.view.shape;
  for (int64_t h = 0; h < n[1]; ++h) {
    for (int64_t t = 0; t < n[2]; ++t) {
      for (int64_t c = 0; c < n[3]; ++c) {
        const double x = of && t >= light ? of(h, t - light, c) : other;
        SetElement(to.tensor.view, {0, h, t, c},
                   BitsOf(to.tensor.view.lane, x));
      }
    }
  }
}

void FillAll(const ScanQuestion& question, int64_t light, double sure,
             const Mamba3ScanData& data) {
  Fill(data, T::kQ, question.q, light, 0);
  Fill(data, T::kK, question.k, light, 0);
  Fill(data, T::kV, question.v, light, 0);
  Fill(data, T::kA, question.a, light, 0);
  Fill(data, T::kDt, question.dt, light, 1);
  Fill(data, T::kTau, question.tau, light, sure);
  Fill(data, T::kRate, question.rate, light, 0);
  Fill(data, T::kCarryTheta, {}, 0, 0);
  Fill(data, T::kCarryH, question.carry_h, 0, 0);
  Fill(data, T::kCarryK, {}, 0, 0);
  Fill(data, T::kCarryV, {}, 0, 0);
}

}  // namespace

const char* ScanBase(Lane lane) {
  return lane == Lane::kBf16 ? "siso-bf16-a32" : "scan-f32";
}

Case ScanKernel::CaseOf(const ScanQuestion& question) const {
  Case c = EmptyCase(kOp);
  auto& scan = c.Get<Mamba3ScanCase>();
  scan.problem.length = question.tokens + light_tokens;
  scan.problem.heads = question.heads;
  scan.problem.state_dim = kScanState;
  scan.problem.head_dim = kScanValues;
  scan.problem.angles = kScanAngles;
  scan.problem.lane = lane();
  if (question.carry_h) scan.carry = "thkv";
  return c;
}

Result<ScanAnswer> ScanKernel::Ask(const ScanQuestion& question) {
  const Case c = CaseOf(question);
  auto data = MaterialiseMamba3Scan(c, {});
  if (!data.ok()) return data.status();
  FillAll(question, light_tokens, sure, data.value());
  const Mamba3ScanTrial trial(c, std::move(data.value()));
  const Result<OutputSet> outputs = Call(c, trial, profile);
  if (!outputs.ok()) return outputs.status();
  const auto view = [&](size_t at) {
    return outputs->tensors[at].const_view();
  };
  ScanAnswer answer;
  for (int64_t h = 0; h < question.heads; ++h) {
    auto& y = answer.y.emplace_back();
    for (int64_t t = 0; t < question.tokens; ++t) {
      auto& row = y.emplace_back();
      for (int64_t p = 0; p < kScanValues; ++p) {
        row.push_back(ElementAt(view(0), light_tokens + t, h, p));
      }
    }
    answer.theta.push_back(RowsAt(view(1), h, 1, kScanAngles).front());
    answer.h.push_back(RowsAt(view(2), h, kScanValues, kScanState));
    std::vector<float> k;
    for (int64_t n = 0; n < kScanState; ++n) {
      k.push_back(ElementAt(view(3), 0, h, n));
    }
    answer.k.push_back(std::move(k));
  }
  return answer;
}

void ScanKernel::TakeType(const char* key, const RoundingModel& model,
                          NumberType* field, const std::string& evidence) {
  const bool f32 = model.type == NumberType::kF32;
  const bool unit =
      lane() == Lane::kBf16 || model.type == NumberType::kTf32 || f32;
  if (!model.adopt || !unit) {
    *field = NumberType::kF32;
    Say(key, Word::kReported, evidence, std::string(key) + " = " + model.name);
    return;
  }
  *field = model.type;
  if (model.how == Rounding::kTruncate && !f32) {
    scan().operand_round = OperandRound::kTruncate;
  }
  Say(key, Word::kSeen, evidence);
}

}  // namespace lockstep::verify
