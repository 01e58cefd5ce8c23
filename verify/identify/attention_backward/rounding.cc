// What P and dS are rounded to, and which P dS is made of.
#include <cmath>
#include <string>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/identify/attention_backward/kernel.h"
#include "verify/identify/near_pairs.h"

namespace lockstep::verify {
namespace {

std::vector<float> Ones(size_t n) { return std::vector<float>(n, 1.0f); }

constexpr size_t kPairs = kGradWide / 2;
constexpr int kRounds = 3;

// The strictest type that explains the differences; null: none does.
const RoundingModel* FitByMargins(const GradKernel& kernel,
                                  const std::vector<NearPair>& pairs,
                                  double* margin) {
  for (const double m : kExpErrors) {
    *margin = m;
    const RoundingModel* model = FitPairs(
        pairs, kernel.lane(), m, 2 * kernel.OutRounding(), kernel.OutSpacing());
    if (model != nullptr) return model;
  }
  return nullptr;
}

// In f32 only the units that round all operands round P and dS as well, alike.
bool MayRound(const GradKernel& kernel, const RoundingModel& model) {
  const NumericProfile& p = kernel.profile;
  return model.adopt &&
         (IsOfLane(model.type, kernel.lane()) ||
          (p.operand_v == model.type && p.operand_round == model.how));
}

std::string LineToAdd(const char* key, const RoundingModel& model) {
  std::string line = std::string(key) + " = " + model.name;
  if (model.how == Rounding::kTruncate) line += ", p_round = truncate";
  return line;
}

void SayRounded(GradKernel* kernel, const char* key, const char* what,
                const RoundingModel& model, double margin, NumberType* field) {
  const std::string came =
      Format("differences of two %s were those of %s in %s (to %.2g)", what,
             what, model.text, margin);
  if (!MayRound(*kernel, model)) {
    *field = NumberType::kF32;
    kernel->Say(key, Word::kReported, came, LineToAdd(key, model));
    return;
  }
  *field = model.type;
  if (model.type != NumberType::kF32) kernel->profile.p_round = model.how;
  kernel->Say(key, Word::kSeen, came);
}

// Pairs of queries before a key of score -u, and one of score 0. dv has the
// difference of their weights.
Status AddWeights(GradKernel* kernel, int round, std::vector<NearPair>* pairs) {
  GradQuestion question;
  AttentionQuestion& forward = question.forward;
  forward.q = Diagonal(Ones(kGradWide));
  forward.k = {std::vector<float>(kGradWide),
               std::vector<float>(kGradWide, 0.0f)};
  forward.v = {Ones(kPairs), Ones(kPairs)};
  question.d_o = Rows(kGradWide, std::vector<float>(kPairs, 0.0f));
  const auto drawn = DrawnNumbers(kPairs, 7, 71 + static_cast<uint64_t>(round));
  for (size_t r = 0; r < kPairs; ++r) {
    // From 1/4 to 16; the other is 1 to 3 units of its eighth bit more.
    const int e = static_cast<int>(r % 6) - 2;
    const float u = std::ldexp(drawn[r], e);
    const float w = u + std::ldexp(static_cast<float>(1 + r / 6 % 3), e - 7);
    forward.k[0][2 * r] = -u;
    forward.k[0][2 * r + 1] = -w;
    question.d_o[2 * r][r] = 1;
    question.d_o[2 * r + 1][r] = -1;
    pairs->push_back({kernel->Weight({-double{u}, 0}, 0),
                      kernel->Weight({-double{w}, 0}, 0), 0});
  }
  ASSIGN_OR_RETURN(const auto answer, kernel->AskGrad(question));
  for (size_t r = 0; r < kPairs; ++r) {
    (*pairs)[pairs->size() - kPairs + r].answer = double{answer.dv[0][r]};
  }
  return {};
}

}  // namespace

void AskGradWeights(GradKernel* kernel) {
  GradNumeric& grad = *kernel->profile.grad;
  grad.p = NumberType::kF32;
  kernel->profile.p_round = Rounding::kNearest;
  std::vector<NearPair> pairs;
  for (int round = 0; round < kRounds; ++round) {
    const Status asked = AddWeights(kernel, round, &pairs);
    if (asked.ok()) continue;
    kernel->Say("grad.p", Word::kAssumed, asked.message());
    return;
  }
  double margin = 0;
  const RoundingModel* model = FitByMargins(*kernel, pairs, &margin);
  if (model == nullptr) {
    kernel->Say("grad.p", Word::kCannotTell,
                Format("P of %.9g and %.9g had a difference of %.9g in dv",
                       pairs[0].first, pairs[0].second, pairs[0].answer));
    return;
  }
  SayRounded(kernel, "grad.p", "weights", *model, margin, &grad.p);
}

namespace {

// dP of 16 bits: a + b 2^-8, and a near one.
struct WideNumber {
  float a = 0, b = 0;
  double value() const { return double{a} + double{b} * 0x1p-8; }
};
std::vector<std::pair<WideNumber, WideNumber>> WideNumbers() {
  const auto a = DrawnNumbers(kPairs, 7, 131);
  const auto b = DrawnNumbers(kPairs, 8, 132);
  const auto other = DrawnNumbers(kPairs, 8, 133);
  std::vector<std::pair<WideNumber, WideNumber>> all;
  for (size_t r = 0; r < kPairs; ++r) {
    const float near = a[r] + static_cast<float>(r % 3) * 0x1p-7f;
    all.push_back({{a[r], b[r]}, {near, other[r]}});
  }
  return all;
}

// Reads dS from dk: pairs of queries have q = 1 and q = -1. `size` scales dS.
Result<std::vector<NearPair>> DsByDk(GradKernel* kernel, float size) {
  GradQuestion question;
  Rows q(kGradWide, std::vector<float>(kPairs, 0.0f));
  std::vector<NearPair> pairs;
  for (const auto& [x, y] : WideNumbers()) {
    const size_t r = pairs.size();
    q[2 * r][r] = 1;
    q[2 * r + 1][r] = -1;
    question.d_o.push_back({x.a, x.b});
    question.d_o.push_back({y.a, y.b});
    const double unit = kernel->unit(2) * double{size};
    pairs.push_back({unit * x.value(), unit * y.value(), 0});
  }
  question.forward = Mirrored(std::move(q), {size, size * 0x1p-8f});
  ASSIGN_OR_RETURN(const auto answer, kernel->AskGrad(question));
  for (size_t r = 0; r < kPairs; ++r) pairs[r].answer = double{answer.dk[0][r]};
  return pairs;
}

// dS by dq: pairs of keys of 1 and -1, and their mirrors, that are 0.
Result<std::vector<NearPair>> DsByDq(GradKernel* kernel, float size) {
  GradQuestion question;
  AttentionQuestion& forward = question.forward;
  forward.q = {std::vector<float>(kPairs, 0.0f)};
  question.d_o = {{size, size * 0x1p-8f}};
  std::vector<NearPair> pairs;
  const auto add = [&](const WideNumber& x, size_t r, float k) {
    forward.v.push_back({x.a, x.b});
    forward.k.emplace_back(kPairs, 0.0f);
    forward.k.back()[r] = k;
    forward.v.push_back({-x.a, -x.b});
    forward.k.emplace_back(kPairs, 0.0f);
  };
  for (const auto& [x, y] : WideNumbers()) {
    add(x, pairs.size(), 1);
    add(y, pairs.size(), -1);
    const double unit =
        kernel->unit(static_cast<int>(4 * kPairs)) * double{size};
    pairs.push_back({unit * x.value(), unit * y.value(), 0});
  }
  ASSIGN_OR_RETURN(const auto answer, kernel->AskGrad(question));
  for (size_t r = 0; r < kPairs; ++r) pairs[r].answer = double{answer.dq[0][r]};
  return pairs;
}

// Asks in either way. For f16 tensors it also asks for numbers so small that
// tf32 keeps bits that f16 lacks.
using DsWay = Result<std::vector<NearPair>> (*)(GradKernel*, float);
Result<std::vector<NearPair>> DsBy(DsWay way, GradKernel* kernel) {
  auto pairs = way(kernel, 1);
  if (!pairs.ok() || kernel->lane() != Lane::kF16) return pairs;
  ASSIGN_OR_RETURN(const auto small, way(kernel, 0x1p-16f));
  pairs->insert(pairs->end(), small.begin(), small.end());
  return pairs;
}

}  // namespace

void AskDs(GradKernel* kernel) {
  GradNumeric& grad = *kernel->profile.grad;
  grad.ds = NumberType::kF32;
  const auto by_dk = DsBy(&DsByDk, kernel);
  const auto by_dq = by_dk.ok() ? DsBy(&DsByDq, kernel) : by_dk;
  if (!kernel->Answered("grad.ds", by_dq)) return;
  double margin = 0, other = 0;
  const RoundingModel* of_dk = FitByMargins(*kernel, by_dk.value(), &margin);
  const RoundingModel* of_dq = FitByMargins(*kernel, by_dq.value(), &other);
  if (of_dk == nullptr || of_dk != of_dq) {
    kernel->Say(
        "grad.ds", Word::kCannotTell,
        std::string("dS met q ") +
            (of_dk == nullptr ? "as no legal type has it" : of_dk->text) +
            ", and k " +
            (of_dq == nullptr ? "as no legal type has it" : of_dq->text));
    return;
  }
  kernel->ds = of_dk;
  SayRounded(kernel, "grad.ds", "dS", *of_dk, margin, &grad.ds);
}

namespace {

// Rows of a key that weighs little, its mirror and a key that is 0: dS is P
// times do.
struct DsFromRow {
  double p = 0;
  float x = 0;
  double answer = 0;
};
Result<std::vector<DsFromRow>> DsFromRows(GradKernel* kernel) {
  const auto u = DrawnNumbers(kGradWide, 7, 141);
  const auto x = DrawnNumbers(kGradWide, 8, 142);
  GradQuestion question;
  std::vector<float> k = u;
  for (float& one : k) one = -one;
  question.forward.q = Diagonal(Ones(kGradWide));
  question.forward.k = {k, k, std::vector<float>(kGradWide, 0.0f)};
  question.forward.v = {Ones(kGradWide), std::vector<float>(kGradWide, -1.0f),
                        std::vector<float>(kGradWide, 0.0f)};
  question.d_o = Diagonal(x);
  ASSIGN_OR_RETURN(const auto answer, kernel->AskGrad(question));
  std::vector<DsFromRow> rows;
  for (size_t i = 0; i < kGradWide; ++i) {
    const double s = -double{u[i]};
    rows.push_back(
        {kernel->Weight({s, s, 0}, 0), x[i], double{answer.dk[0][i]}});
  }
  return rows;
}

// Whether dS of P as that model rounds it, rounded again, explains all rows.
bool DsIsOf(const RoundingModel& p, const GradKernel& kernel,
            const std::vector<DsFromRow>& rows, double margin) {
  size_t told = 0;
  for (const DsFromRow& row : rows) {
    const float weight = RoundedBy(p, static_cast<float>(row.p));
    const double product = double{weight} * double{row.x};
    if (NearBorder(p, row.p, margin) ||
        NearBorder(*kernel.ds, product, margin)) {
      continue;
    }
    ++told;
    const double wanted = RoundedBy(*kernel.ds, static_cast<float>(product));
    const double rounding = kernel.ds->type == NumberType::kF32
                                ? kernel.OutRounding() + margin / 2
                                : 0x1p-21;
    if (!(std::fabs(row.answer - wanted) <= rounding * wanted)) return false;
  }
  return told >= rows.size() / 4;
}

}  // namespace

void AskDsFrom(GradKernel* kernel) {
  GradNumeric& grad = *kernel->profile.grad;
  if (grad.p == NumberType::kF32 || kernel->ds == nullptr) return;
  const auto rows = DsFromRows(kernel);
  if (!kernel->Answered("grad.ds_from", rows)) return;
  const RoundingModel* rounded = nullptr;
  for (const RoundingModel& model : RoundingModels()) {
    const bool same =
        model.type == grad.p && model.how == kernel->profile.p_round;
    if (same) rounded = &model;
  }
  bool plain = false, of_rounded = false;
  for (const double margin : kExpErrors) {
    if (plain || of_rounded) break;
    plain = DsIsOf(RoundingModels().front(), *kernel, rows.value(), margin);
    of_rounded = DsIsOf(*rounded, *kernel, rows.value(), margin);
  }
  if (plain == of_rounded) {
    kernel->Say("grad.ds_from", plain ? Word::kAssumed : Word::kCannotTell,
                plain ? "dS is rounded too coarsely to show its P"
                      : "dS was P times dP of no P that dv has");
    return;
  }
  grad.ds_from = plain ? DsFrom::kP : DsFrom::kRoundedP;
  kernel->Say("grad.ds_from", Word::kSeen,
              Format("%zu dS had the bits of dP times %s", rows->size(),
                     plain ? "a P that is not rounded" : "P as it meets do"));
}

}  // namespace lockstep::verify
