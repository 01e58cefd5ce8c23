// Sums over channels, keys and queries that lose bits.
#include <cmath>
#include <string>
#include <utility>

#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/emulator/numbers.h"
#include "verify/identify/attention_backward/kernel.h"

namespace lockstep::verify {
namespace {

constexpr size_t kTerms = 64;
constexpr size_t kUsed = 32;

using Sums = Result<std::vector<double>>;

// Sums of the lists; each in a row, or a channel, of its own.
struct SumPlace {
  const char* key;
  Accumulator* acc;
  Sums (*ask)(GradKernel*, const Rows&);
  // The answer's rounding error: the relative one, and the absolute one.
  double rounding;
  double spacing;
};

// The sum that is rounded to 16 bits after every tile.
double SumKeptNarrow(const std::vector<float>& terms, NumberType type,
                     size_t tile, bool backwards) {
  const size_t tiles = terms.size() / tile;
  float sum = 0;
  for (size_t n = 0; n < tiles; ++n) {
    const size_t from = tile * (backwards ? tiles - 1 - n : n);
    for (size_t at = from; at < from + tile; ++at) sum += terms[at];
    sum = RoundTo(sum, type);
  }
  return double{sum};
}

bool KeptNarrow(const Rows& lists, const std::vector<double>& sums,
                NumberType type, size_t tile, bool backwards) {
  const double most = type == NumberType::kF16 ? 0x1p-10 : 0x1p-7;
  for (size_t i = 0; i < lists.size(); ++i) {
    const double kept = SumKeptNarrow(lists[i], type, tile, backwards);
    if (!(std::fabs(sums[i] - kept) <= most * std::fabs(kept))) return false;
  }
  return true;
}

// Reports sums that are rounded to 16 bits from tile to tile.
bool ReportState(GradKernel* kernel, const SumPlace& place, const Rows& lists,
                 const std::vector<double>& sums) {
  const std::string key = place.key;
  if (key == "grad.acc_dp") return false;
  const char* state = key == "grad.acc_dq" ? "grad.dq_state" : "grad.dkv_state";
  const char* tile_key = key == "grad.acc_dq" ? "tile_kv" : "grad.tile_q";
  const NumberType type = NarrowTypeOf(kernel->lane());
  const char* name = type == NumberType::kF16 ? "f16" : "bf16";
  for (size_t tile = 32; tile >= 4; tile /= 2) {
    for (const bool backwards : {false, true}) {
      if (!KeptNarrow(lists, sums, type, tile, backwards)) continue;
      kernel->Say(state, Word::kReported,
                  Format("%zu sums were those that %s keeps after every %zu "
                         "terms",
                         sums.size(), name, tile),
                  Format("%s = %s, %s = %zu", state, name, tile_key, tile));
      return true;
    }
  }
  return false;
}

Result<SumFit> Fit(GradKernel* kernel, const SumPlace& place, const Rows& lists,
                   std::vector<double>* sums) {
  Sums read = place.ask(kernel, lists);
  if (!read.ok()) return read.status();
  *sums = std::move(read.value());
  return FitSums(lists, *sums, [&](size_t i, double sum) {
    return std::fabs((*sums)[i] - sum) <=
           std::fabs(sum) * place.rounding + place.spacing;
  });
}

void AskSums(GradKernel* kernel, const SumPlace& place) {
  const Rows lists = LosingSums(kTerms, kTerms, kUsed, 151);
  std::vector<double> sums;
  Result<SumFit> fit = Fit(kernel, place, lists, &sums);
  // Sums that are rounded between tiles: within four terms there are none.
  if (fit.ok() && !fit->nearest && fit->model == nullptr) {
    std::vector<double> few_sums;
    const auto few =
        Fit(kernel, place, LosingSums(kTerms, kTerms, 4, 152), &few_sums);
    if (few.ok() && few->nearest && ReportState(kernel, place, lists, sums)) {
      fit = few;
      fit->evidence += ", within four terms";
    }
  }
  if (!kernel->Answered(place.key, fit)) return;
  const SumModel* model = fit->model;
  const bool adopt = fit->nearest || (model != nullptr && model->adopt);
  if (adopt) *place.acc = fit->nearest ? Accumulator{} : model->acc;
  const Word word = adopt              ? Word::kSeen
                    : model != nullptr ? Word::kReported
                                       : Word::kCannotTell;
  kernel->Say(place.key, word, fit->evidence,
              word == Word::kReported
                  ? std::string(place.key) + " = " + model->text
                  : "");
}

// Query i has list i for do, beside values of 1: dS of the first key.
Sums DpOf(GradKernel* kernel, const Rows& lists) {
  GradQuestion question;
  question.forward = Mirrored(Diagonal(std::vector<float>(kTerms, 1.0f)),
                              std::vector<float>(kTerms, 1.0f));
  question.d_o = lists;
  ASSIGN_OR_RETURN(const auto answer, kernel->AskGrad(question));
  std::vector<double> sums;
  for (size_t i = 0; i < lists.size(); ++i) {
    sums.push_back(double{answer.dk[0][i]} / kernel->unit(2));
  }
  return sums;
}

// Keys of dS 1, then as many of -1, that are 0.
Sums DqOf(GradKernel* kernel, const Rows& lists) {
  GradQuestion question;
  question.forward.q = {std::vector<float>(kTerms, 0.0f)};
  question.forward.k = Transposed(lists);
  for (size_t j = 0; j < kTerms; ++j) {
    question.forward.v.push_back({j < kUsed ? 1.0f : -1.0f});
  }
  question.d_o = {{1}};
  ASSIGN_OR_RETURN(const auto answer, kernel->AskGrad(question));
  std::vector<double> sums;
  for (size_t i = 0; i < lists.size(); ++i) {
    sums.push_back(double{answer.dq[0][i]} / kernel->unit(kTerms));
  }
  return sums;
}

// A single key, whose P is 1.
Sums DvOf(GradKernel* kernel, const Rows& lists) {
  GradQuestion question;
  question.forward.q = Rows(kTerms, {0});
  question.forward.k = {{0}};
  question.forward.v = {std::vector<float>(kTerms, 1.0f)};
  question.d_o = Transposed(lists);
  ASSIGN_OR_RETURN(const auto answer, kernel->AskGrad(question));
  std::vector<double> sums;
  for (size_t i = 0; i < lists.size(); ++i) {
    sums.push_back(double{answer.dv[0][i]});
  }
  return sums;
}

// Of dS: what it is rounded to, and the lane of the gradients.
double RoundingOfDs(const GradKernel& kernel) {
  if (kernel.ds == nullptr) return 0x1p-7;
  const NumberType type = kernel.ds->type;
  const double ds = type == NumberType::kF32    ? 0x1p-22
                    : type == NumberType::kBf16 ? 0x1p-7
                                                : 0x1p-10;
  return std::max(ds, kernel.OutRounding());
}

}  // namespace

void AskSumsDp(GradKernel* kernel) {
  AskSums(kernel,
          {"grad.acc_dp", &kernel->profile.grad->acc_dp, &DpOf,
           RoundingOfDs(*kernel), kernel->OutSpacing() / kernel->unit(2)});
}

void AskSumsDq(GradKernel* kernel) {
  // 1 / 64 of its own lse is rounded, and cut sums show it.
  const bool rounded =
      kernel->ds != nullptr && kernel->ds->type != NumberType::kF32;
  if (kernel->own() && !rounded) {
    std::vector<double> sums;
    const Rows lists = LosingSums(kTerms, kTerms, kUsed, 151);
    const auto read = DqOf(kernel, lists);
    if (!read.ok() || !LosesNothing(lists, read.value())) {
      kernel->Say("grad.acc_dq", Word::kAssumed,
                  "P of 64 equal scores is not exact, which hides bits");
      return;
    }
  }
  AskSums(kernel,
          {"grad.acc_dq", &kernel->profile.grad->acc_dq, &DqOf,
           kernel->OutRounding(), kernel->OutSpacing() / kernel->unit(kTerms)});
}

void AskSumsDkv(GradKernel* kernel) {
  AskSums(kernel, {"grad.acc_dkv", &kernel->profile.grad->acc_dkv, &DvOf,
                   kernel->OutRounding(), kernel->OutSpacing()});
}

}  // namespace lockstep::verify
