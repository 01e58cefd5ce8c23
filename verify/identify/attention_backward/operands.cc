// What operands of the gradients' products are rounded to.
#include <cmath>
#include <string>

#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/identify/attention_backward/kernel.h"

namespace lockstep::verify {
namespace {

// Elements that use all bits; in f32, every other one is so small that f16
// lacks bits.
std::vector<float> Elements(Lane lane, uint64_t seed) {
  std::vector<float> x = DrawnNumbers(kGradWide, LaneRowOf(lane).digits, seed);
  for (size_t i = 1; i < x.size() && lane == Lane::kF32; i += 2) {
    x[i] *= 0x1p-18f;
  }
  return x;
}

// How x arrived, by the answers; null: as no model has it.
const RoundingModel* Arrived(const std::vector<float>& x,
                             const std::vector<float>& answers, double unit) {
  for (const RoundingModel& model : RoundingModels()) {
    bool all = true;
    for (size_t i = 0; i < x.size() && all; ++i) {
      const double wanted = unit * double{RoundedBy(model, x[i])};
      all = std::fabs(double{answers[i]} - wanted) <=
            0x1p-21 * std::fabs(unit * double{x[i]});
    }
    if (all) return &model;
  }
  return nullptr;
}

std::vector<float> DiagonalOf(const std::vector<float>& row, size_t n) {
  return {row.begin(), row.begin() + static_cast<std::ptrdiff_t>(n)};
}

// q in dk, k in dq, do in dv: each meets one dS, or P, of a power of two.
struct Operands {
  const RoundingModel* q = nullptr;
  const RoundingModel* k = nullptr;
  const RoundingModel* d_o = nullptr;
};
Result<Operands> OperandsOf(GradKernel* kernel) {
  Operands seen;
  const std::vector<float> x = Elements(kernel->lane(), 21);
  GradQuestion of_q;
  of_q.forward = Mirrored(Diagonal(x), {1});
  of_q.d_o = Rows(kGradWide, {1});
  ASSIGN_OR_RETURN(const auto dk, kernel->AskGrad(of_q));
  seen.q = Arrived(x, DiagonalOf(dk.dk[0], kGradWide), kernel->unit(2));
  GradQuestion of_k;
  of_k.forward = Mirrored({std::vector<float>(kGradWide, 0.0f)}, {1});
  of_k.forward.k[0] = x;
  of_k.d_o = {{1}};
  ASSIGN_OR_RETURN(const auto dq, kernel->AskGrad(of_k));
  seen.k = Arrived(x, DiagonalOf(dq.dq[0], kGradWide), kernel->unit(2));
  GradQuestion of_do;
  of_do.forward.q = of_do.forward.k = {{0}};
  of_do.forward.v = {std::vector<float>(kGradWide, 1.0f)};
  of_do.d_o = {x};
  ASSIGN_OR_RETURN(const auto dv, kernel->AskGrad(of_do));
  seen.d_o = Arrived(x, DiagonalOf(dv.dv[0], kGradWide), 1);
  return seen;
}

void SayOperand(GradKernel* kernel, const std::string& key, bool adopt,
                const RoundingModel& model) {
  kernel->Say(key, adopt ? Word::kSeen : Word::kReported,
              Format("elements of %d bits arrived in the gradients as %s",
                     LaneRowOf(kernel->lane()).digits, model.text),
              adopt ? "" : key + " = " + model.name);
}

}  // namespace

void AskGradOperands(GradKernel* kernel) {
  if (kernel->lane() == Lane::kBf16 || kernel->grads() == Lane::kBf16) return;
  const auto seen = OperandsOf(kernel);
  if (!kernel->Answered("operand_qk", seen)) return;
  if (seen->q == nullptr || seen->q != seen->k || seen->d_o == nullptr) {
    kernel->Say(seen->d_o == nullptr ? "operand_v" : "operand_qk",
                Word::kCannotTell,
                "elements of all bits in q, k and do did not arrive alike, or "
                "as no legal type has them");
    return;
  }
  NumericProfile& p = kernel->profile;
  const bool same = seen->q == seen->d_o;
  const bool f32 = seen->q->type == NumberType::kF32;
  // What the forward pass of its own showed stands.
  if (kernel->own()) return;
  // If f16 tensors pass through bf16, that is a bug.
  const auto legal = [&](const RoundingModel& model) {
    return model.adopt && (kernel->lane() == Lane::kF32 ||
                           IsOfLane(model.type, kernel->lane()));
  };
  const bool adopt_qk = legal(*seen->q) && (same || f32);
  const bool adopt_v =
      legal(*seen->d_o) && (same || seen->d_o->type == NumberType::kF32);
  if (adopt_qk) p.operand_qk = seen->q->type;
  if (adopt_v) p.operand_v = seen->d_o->type;
  if (adopt_qk && !f32) p.operand_round = seen->q->how;
  SayOperand(kernel, "operand_qk", adopt_qk, *seen->q);
  SayOperand(kernel, "operand_v", adopt_v, *seen->d_o);
}

}  // namespace lockstep::verify
