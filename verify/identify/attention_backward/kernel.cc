#include "verify/identify/attention_backward/kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_backward.h"
#include "verify/inputs/attention_backward/data.h"
#include "verify/ops/attention_backward/trial.h"

namespace lockstep::verify {
namespace {

constexpr OpRow kOp = {.text = kAttentionBackwardText};
constexpr size_t kAtOnce = 64;  // queries whose weights one call shows

// A query that reaches nothing: its do is 0.
void AddLightQueries(int64_t count, GradQuestion* question) {
  const auto add = [&](Rows* rows) {
    rows->insert(rows->end(), static_cast<size_t>(count),
                 std::vector<float>(rows->front().size(), 0.0f));
  };
  add(&question->forward.q);
  add(&question->d_o);
  for (Rows& rows : question->more_q) add(&rows);
  for (Rows& rows : question->more_d_o) add(&rows);
}

Case CaseOf(const GradQuestion& question, Lane lane, Lane grads) {
  Case c = EmptyCase(kOp);
  auto& values = c.Get<AttentionBackwardCase>();
  SetShape(question.forward, lane, &values);
  values.q_heads = 1 + static_cast<int64_t>(question.more_q.size());
  values.kv_heads = 1;
  values.grad_lane = grads;
  return c;
}

Rows Zeros(size_t rows, size_t channels) {
  return Rows(rows, std::vector<float>(channels, 0.0f));
}

// What the question says, into the tensors of its case.
void Fill(const GradQuestion& question, AttentionBackwardData* data) {
  const auto heads = static_cast<int64_t>(question.more_q.size()) + 1;
  FillRows(question.forward.k, 0, data->forward.k.view);
  FillRows(question.forward.v, 0, data->forward.v.view);
  const size_t queries = question.forward.q.size();
  for (int64_t h = 0; h < heads; ++h) {
    const auto at = static_cast<size_t>(h) - 1;
    FillRows(h == 0 ? question.forward.q : question.more_q[at], h,
             data->forward.q.view);
    FillRows(h == 0 ? question.d_o : question.more_d_o[at], h, data->d_o.view);
    FillRows(Zeros(queries, 1), h, data->o.view);
    FillRows(Zeros(queries, 1), h, data->lse.view);
  }
  if (!question.o.empty()) FillRows(question.o, 0, data->o.view);
  for (size_t i = 0; i < question.lse.size(); ++i) {
    SetElement(data->lse.view, {0, 0, static_cast<int64_t>(i), 0},
               BitsOf(Lane::kF32, double{question.lse[i]}));
  }
}

}  // namespace

AttentionQuestion Mirrored(Rows q, std::vector<float> v) {
  AttentionQuestion question;
  question.k = Zeros(2, q.front().size());
  question.q = std::move(q);
  std::vector<float> minus = v;
  for (float& x : minus) x = -x;
  question.v = {std::move(v), std::move(minus)};
  return question;
}

double GradKernel::Weight(const std::vector<double>& scores, size_t j) const {
  if (!own()) return ExpDouble(scores[j]);
  double sum = 0;
  for (const double s : scores) sum += ExpDouble(s - scores[j]);
  return 1 / sum;
}

Result<GradAnswer> GradKernel::AskGrad(const GradQuestion& question) {
  const AttentionQuestion& forward = question.forward;
  const bool plain = !forward.cap && !forward.causal_to_the_end;
  if (light_keys == 0 || !plain) return AskGradAsItStands(question);
  GradQuestion longer = question;
  AddLightQueries(light_keys, &longer);
  longer.forward = WithLightKeys(std::move(longer.forward), light_keys);
  for (Rows& rows : longer.more_q) {
    for (auto& row : rows) row.push_back(1);
  }
  if (!longer.lse.empty()) longer.lse.resize(longer.forward.q.size(), 0.0f);
  return AskGradAsItStands(longer);
}

Result<GradAnswer> GradKernel::AskGradAsItStands(const GradQuestion& question) {
  const Case c = CaseOf(question, lane(), grads_);
  MaterialiseOptions options;
  options.own = own_;
  ASSIGN_OR_RETURN(auto data, MaterialiseAttentionBackward(c, options));
  Fill(question, &data);
  const AttentionBackwardTrial trial(c, std::move(data));
  NumericProfile claims = profile;
  claims.grad->from = own() ? GradFrom::kOwn : GradFrom::kGiven;
  if (own() && !own_.lse) claims.lse = LseLane::kNone;
  ASSIGN_OR_RETURN(const OutputSet outputs, Call(c, trial, claims));
  const auto view = [&](size_t at) { return outputs.tensors[at].const_view(); };
  const auto count = [](const auto& x) {
    return static_cast<int64_t>(x.size());
  };
  const int64_t queries = count(question.forward.q);
  const int64_t keys = count(question.forward.k);
  const int64_t width = count(question.forward.q.front());
  const int64_t channels = count(question.forward.v.front());
  GradAnswer answer;
  answer.dv = RowsAt(view(0), 0, keys, channels);
  answer.dk = RowsAt(view(1), 0, keys, width);
  answer.dq = RowsAt(view(2), 0, queries, width);
  if (own_.o) {
    answer.own_o = RowsAt(view(trial.PlaceOfOwnO()), 0, queries, channels);
  }
  for (int64_t i = 0; own_.lse && i < queries; ++i) {
    answer.own_lse.push_back(ElementAt(view(trial.PlaceOfOwnLse()), 0, i, 0));
  }
  return answer;
}

Result<AttentionAnswer> GradKernel::AskOwn(const AttentionQuestion& question) {
  GradQuestion asked;
  asked.forward = question;
  asked.d_o = Zeros(question.q.size(), question.v.front().size());
  ASSIGN_OR_RETURN(const auto answer, AskGradAsItStands(asked));
  return AttentionAnswer{answer.own_o, answer.own_lse};
}

// do is one query's own channel: dv has its weights there.
Result<AttentionAnswer> GradKernel::AskWeightsByDv(
    const AttentionQuestion& question) {
  AttentionAnswer whole;
  const size_t channels = question.v.front().size();
  for (size_t from = 0; from < question.q.size(); from += kAtOnce) {
    const size_t n = std::min(kAtOnce, question.q.size() - from);
    GradQuestion asked;
    asked.forward = question;
    asked.forward.q.assign(
        question.q.begin() + static_cast<std::ptrdiff_t>(from),
        question.q.begin() + static_cast<std::ptrdiff_t>(from + n));
    asked.forward.v = Zeros(question.k.size(), n);
    asked.d_o = Diagonal(std::vector<float>(n, 1.0f));
    ASSIGN_OR_RETURN(const auto answer, AskGradAsItStands(asked));
    for (size_t i = 0; i < n; ++i) {
      auto& row = whole.o.emplace_back();
      for (size_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (size_t j = 0; j < question.k.size(); ++j) {
          sum += double{answer.dv[j][i]} * double{question.v[j][c]};
        }
        row.push_back(static_cast<float>(sum));
      }
    }
  }
  return whole;
}

namespace {

// The score of that row and key.
double ScoreOf(const ScoreQuestion& question, size_t row,
               const std::vector<float>& k) {
  double dot = 0;
  for (size_t c = 0; c < k.size(); ++c) {
    dot += double{question.q[row][c]} * double{k[c]};
  }
  const double s = dot * question.scale;
  return question.cap ? *question.cap * TanhDouble(s / *question.cap) : s;
}

}  // namespace

// The scores are log P plus the given lse.
Result<std::vector<double>> GradKernel::ScoresBesideLse(
    const ScoreQuestion& question, const std::vector<float>& k) {
  std::vector<double> scores;
  for (size_t from = 0; from < question.q.size(); from += kAtOnce) {
    const size_t n = std::min(kAtOnce, question.q.size() - from);
    GradQuestion asked;
    AttentionQuestion& forward = asked.forward;
    forward.scale = question.scale;
    forward.cap = question.cap;
    forward.k = {k};
    forward.v = Zeros(1, n);
    asked.d_o = Diagonal(std::vector<float>(n, 1.0f));
    for (size_t i = from; i < from + n; ++i) {
      forward.q.push_back(question.q[i]);
      asked.lse.push_back(static_cast<float>(ScoreOf(question, i, k)));
    }
    ASSIGN_OR_RETURN(const auto answer, AskGrad(asked));
    for (size_t i = 0; i < n; ++i) {
      const double p = double{answer.dv[0][i]};
      const bool number = p > 0 && std::isfinite(p);
      scores.push_back(number ? LogDouble(p) + double{asked.lse[i]}
                              : std::nan(""));
    }
  }
  return scores;
}

Result<std::vector<double>> GradKernel::ScoresBy(
    ReadBy by, const ScoreQuestion& question) {
  if (!ReadsBesideLse() || by != ReadBy::kWeights) {
    return AttentionKernel::ScoresBy(by, question);
  }
  auto scores = ScoresBesideLse(question, question.k);
  if (!scores.ok() || question.beside.empty()) return scores;
  ASSIGN_OR_RETURN(const auto beside,
                   ScoresBesideLse(question, question.beside));
  for (size_t i = 0; i < scores->size(); ++i) {
    scores.value()[i] -= beside[i];
  }
  return scores;
}

Result<AttentionAnswer> GradKernel::AskAsItStands(
    const AttentionQuestion& question) {
  return own() ? AskOwn(question) : AskWeightsByDv(question);
}

}  // namespace lockstep::verify
