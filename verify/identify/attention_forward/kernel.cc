#include "verify/identify/attention_forward/kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/line.h"
#include "verify/identify/attention_forward/rows.h"
#include "verify/inputs/attention_forward.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {
namespace {

constexpr OpRow kOp = {.text = kAttentionForwardText};

int64_t Size(const Rows& rows) { return static_cast<int64_t>(rows.size()); }
int64_t Width(const Rows& rows) {
  return static_cast<int64_t>(rows.front().size());
}

// The natural score of a light key: e^-400 is 0 in f32.
constexpr double kLightScore = -400;

}  // namespace

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

const char* AttentionBase(Lane lane) {
  constexpr const char* kBases[] = {"cpu-f32", "flash-bf16",
                                    "flash-f16"};  // by lane
  return kBases[WideLaneIndex(lane)];
}

Result<AttentionAnswer> AttentionKernel::Ask(
    const AttentionQuestion& question) {
  const bool plain =
      !question.cap && !question.causal_to_the_end && question.padding == 0;
  return light_keys > 0 && plain
             ? AskAsItStands(WithLightKeys(question, light_keys))
             : AskAsItStands(question);
}

Result<AttentionAnswer> AttentionKernel::AskAsItStands(
    const AttentionQuestion& question) {
  Case c = EmptyCase(kOp);
  SetShape(question, lane(), &c.Get<AttentionForwardCase>());
  ASSIGN_OR_RETURN(AttentionForwardData data, Materialise(c, {}));
  FillRows(question.q, 0, data.q.view);
  FillRows(question.k, 0, data.k.view);
  FillRows(question.v, 0, data.v.view);
  const AttentionForwardTrial trial(c, std::move(data));
  NumericProfile claims = profile;
  const bool has_lse = !SaysNone(candidate(), "lse");
  if (!has_lse) claims.lse = LseLane::kNone;
  ASSIGN_OR_RETURN(const OutputSet outputs, Call(c, trial, claims));
  AttentionAnswer answer;
  const LaneView o = outputs.tensors[0].const_view();
  const LaneView lse = outputs.tensors[1].const_view();
  for (int64_t i = 0; i < Size(question.q); ++i) {
    answer.o.emplace_back();
    for (int64_t n = 0; n < Width(question.v); ++n) {
      answer.o.back().push_back(ElementAt(o, 0, i, n));
    }
    if (HasLse(claims)) answer.lse.push_back(ElementAt(lse, 0, i, 0));
  }
  return answer;
}

double AttentionKernel::NoiseBy(ReadBy by, double score) const {
  const double size = std::max(1.0, std::fabs(score));
  if (by == ReadBy::kLse) return size * (lse_bf16 ? 0x1p-7 : 0x1p-20);
  // Of lanes of 16 bits the weights, and o, are rounded.
  const double noise = lane() == Lane::kF32 ? size * 0x1p-20 + 0x1p-20
                                            : 4 * LaneRowOf(lane()).roundoff;
  return std::max(noise, weight_noise);
}

double AttentionKernel::OutputNoise(double o) const {
  if (lane() == Lane::kF32) return std::fabs(o) * 0x1p-22;
  const LaneRow& row = LaneRowOf(lane());
  return std::max(std::fabs(o) * row.roundoff, row.smallest / 2);
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
    asked.k.push_back(question.beside.empty()
                          ? std::vector<float>(question.k.size(), 0.0f)
                          : question.beside);
    asked.v = {{1, 0, 0, 0}, {0, 1, 0, 0}};
  } else {
    asked.v = {{1, 1, 1, 1}};
  }
  ASSIGN_OR_RETURN(const AttentionAnswer answer, Ask(asked));
  std::vector<double> scores;
  for (size_t i = 0; i < question.q.size(); ++i) {
    if (by == ReadBy::kLse) {
      if (answer.lse.empty()) return Status::Error("there is no lse");
      scores.push_back(double{answer.lse[i]} / lse_unit - lse_offset);
    } else {
      const double one = double{answer.o[i][0]};
      const double other = double{answer.o[i][1]};
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

}  // namespace lockstep::verify
