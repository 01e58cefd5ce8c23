#include "verify/identify/attention_forward/kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/base/elements.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/line.h"
#include "verify/inputs/attention_forward.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/profile/fields.h"

namespace lockstep::verify {
namespace {

constexpr OpRow kOp = {.text = kAttentionForwardText};

int64_t Size(const Rows& rows) { return static_cast<int64_t>(rows.size()); }
int64_t Width(const Rows& rows) {
  return static_cast<int64_t>(rows.front().size());
}

// As wide as both: kernels may want values as wide as keys. What is added is 0.
int64_t CommonWidth(const AttentionQuestion& question) {
  return std::max(Width(question.q), Width(question.v));
}

Case CaseOf(const AttentionQuestion& question, Lane lane) {
  Case c = EmptyCase(kOp);
  auto& values = c.Get<AttentionForwardCase>();
  values.q_len = Size(question.q);
  values.kv_len = Size(question.k);
  values.head_dim = values.value_dim = CommonWidth(question);
  values.lane = lane;
  values.p_lane = lane;
  values.scale = Number{question.scale};
  if (question.cap) values.softcap = Number{*question.cap};
  if (question.causal_to_the_end) {
    values.mask.kind = MaskExpr::Kind::kCausal;
    values.align.kind = Alignment::Kind::kBottomRight;
  }
  return c;
}

void Fill(const Rows& rows, const MutableLaneView& view) {
  for (size_t i = 0; i < rows.size(); ++i) {
    for (int64_t c = 0; c < view.shape[3]; ++c) {
      const auto at = static_cast<size_t>(c);
      const double x = at < rows[i].size() ? double{rows[i][at]} : 0;
      SetElement(view, {0, 0, static_cast<int64_t>(i), c},
                 BitsOf(view.lane, x));
    }
  }
}

float Element(const LaneView& view, int64_t i, int64_t c) {
  if (view.lane == Lane::kF32) return view.As<const float>()(0, 0, i, c);
  const uint32_t bits = view.As<const Bf16>()(0, 0, i, c).bits;
  return std::bit_cast<float>(bits << 16);
}

// Whether the kernel itself says that it has no lse.
bool SaysNoLse(const Candidate& candidate) {
  const std::vector<std::string> lacks = candidate.Introduce().lacks;
  const std::optional<NumericProfile> claims = candidate.traits().claims;
  return std::find(lacks.begin(), lacks.end(), "lse") != lacks.end() ||
         (claims && !HasLse(*claims));
}

std::string WhyNone(const RunOutcome& outcome) {
  return outcome.message.empty() ? "no answer came" : outcome.message;
}

}  // namespace

namespace {

// The natural score of a light key: e^-400 is 0 in f32.
constexpr double kLightScore = -400;

// The question with so many light keys, by a channel more.
AttentionQuestion WithLightKeys(AttentionQuestion question, int64_t count) {
  const size_t channels = question.q.front().size();
  for (auto& row : question.q) row.push_back(1);
  for (auto& row : question.k) row.push_back(0);
  std::vector<float> light(channels, 0.0f);
  light.push_back(static_cast<float>(kLightScore / question.scale));
  const std::vector<float> value(question.v.front().size(), 0.0f);
  question.k.insert(question.k.end(), static_cast<size_t>(count), light);
  question.v.insert(question.v.end(), static_cast<size_t>(count), value);
  return question;
}

}  // namespace

Result<AttentionAnswer> AttentionKernel::Ask(
    const AttentionQuestion& question) {
  const bool plain = !question.cap && !question.causal_to_the_end;
  return light_keys > 0 && plain
             ? AskAsItStands(WithLightKeys(question, light_keys))
             : AskAsItStands(question);
}

Result<AttentionAnswer> AttentionKernel::AskAsItStands(
    const AttentionQuestion& question) {
  const Case c = CaseOf(question, lane_);
  Result<AttentionForwardData> data = Materialise(c, {});
  if (!data.ok()) return data.status();
  Fill(question.q, data->q.view);
  Fill(question.k, data->k.view);
  Fill(question.v, data->v.view);
  const AttentionForwardTrial trial(c, std::move(data.value()));
  Result<OutputSet> outputs = trial.Allocate(0);
  if (!outputs.ok()) return outputs.status();
  NumericProfile claims = profile;
  if (SaysNoLse(candidate_)) claims.lse = LseLane::kNone;
  const CaseRequest request = {.call = &c,
                               .line = MinimalLine(c),
                               .number = 1,
                               .total = 1,
                               .claims = &claims};
  const Status ready = candidate_.Prepare(request);
  if (!ready.ok()) return ready;
  Execution execution;
  ++calls_;
  const RunOutcome outcome =
      candidate_.Run(request, trial, {}, outputs.value(), &execution);
  if (outcome.state != RunOutcome::State::kRan) {
    return Status::Error(WhyNone(outcome));
  }
  AttentionAnswer answer;
  const LaneView o = outputs->tensors[0].const_view();
  const LaneView lse = outputs->tensors[1].const_view();
  const bool has_lse = HasLse(claims) && !SaysNoLse(candidate_);
  for (int64_t i = 0; i < Size(question.q); ++i) {
    answer.o.emplace_back();
    for (int64_t n = 0; n < Width(question.v); ++n) {
      answer.o.back().push_back(Element(o, i, n));
    }
    if (has_lse) answer.lse.push_back(Element(lse, i, 0));
  }
  return answer;
}

double AttentionKernel::NoiseBy(ReadBy by, double score) const {
  const double size = std::max(1.0, std::fabs(score));
  if (by == ReadBy::kLse) return size * (lse_bf16 ? 0x1p-7 : 0x1p-20);
  const double noise = lane_ == Lane::kBf16 ? 0x1p-6 : size * 0x1p-20 + 0x1p-20;
  return std::max(noise, weight_noise);
}

Result<std::vector<double>> AttentionKernel::ScoresBy(
    ReadBy by, const ScoreQuestion& question) {
  AttentionQuestion asked;
  asked.q = question.q;
  asked.scale = question.scale;
  asked.cap = question.cap;
  asked.k.push_back(question.k);
  if (by == ReadBy::kWeights) {
    // A second key of score 0, and which weight is whose.
    asked.k.emplace_back(question.k.size(), 0.0f);
    asked.v = {{1, 0, 0, 0}, {0, 1, 0, 0}};
  } else {
    asked.v = {{1, 1, 1, 1}};
  }
  const Result<AttentionAnswer> answer = Ask(asked);
  if (!answer.ok()) return answer.status();
  std::vector<double> scores;
  for (size_t i = 0; i < question.q.size(); ++i) {
    if (by == ReadBy::kLse) {
      if (answer->lse.empty()) return Status::Error("there is no lse");
      scores.push_back(double{answer->lse[i]} / lse_unit - lse_offset);
    } else {
      const double one = double{answer->o[i][0]};
      const double other = double{answer->o[i][1]};
      scores.push_back(one > 0 && other > 0 ? LogDouble(one / other)
                                            : std::nan(""));
    }
  }
  return scores;
}

Result<std::vector<double>> AttentionKernel::Scores(
    const ScoreQuestion& question) {
  if (!score_read) return Status::Error("scores cannot be read");
  return ScoresBy(reading, question);
}

void AttentionKernel::Say(const std::string& field, Word word,
                          const std::string& evidence,
                          const std::string& line) {
  std::string value;
  for (const ProfileField& known : ProfileFields()) {
    if (field == known.key) value = known.print(profile);
  }
  found.fields.push_back({field, value, word, evidence, line});
}

}  // namespace lockstep::verify
