#include "verify/causes/explain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "verify/base/elements.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/emulated.h"

namespace lockstep::verify {
namespace {

// A scope has to leave so little of what the bug leaves everywhere.
constexpr double kScopeGain = 0.1;
// Shares nearer than this are one.
constexpr double kSameShare = 1e-6;
// The share of the error from which a bug differs from another one with the
// same bits in roundings alone: tiles make such.
constexpr double kRoundings = 0.9999;
// What is left between a bug's answers in two tilings, of what it moves, up to
// which they are one: tiles change roundings, too.
constexpr double kSameElsewhere = 0.05;
// Squared distances, summed: a right answer says nothing of a bug that moves
// less, since its profile may allow that.
constexpr double kUnseen = 1e-6;

// What proves a cause: so many rows, and elements in them, that are finite,
// plainly wrong and as the bug makes them; at most this share of other ones.
constexpr int64_t kProvingRows = 2;
constexpr int64_t kProvingElements = 8;
constexpr double kMostAgainst = 0.1;

// Multiply-adds of a case up to which kernels in shards are tried, a dozen of
// them.
constexpr int64_t kShardWork = int64_t{1} << 22;

uint64_t HashOf(const Numbers& numbers, uint64_t hash) {
  for (const std::vector<float>& output : numbers) {
    for (const float x : output) {
      const uint32_t bits =
          std::isnan(x) ? 0x7fc00000u : std::bit_cast<uint32_t>(x);
      hash = (hash ^ bits) * 0x100000001b3u;
      hash ^= hash >> 29;
    }
  }
  return hash;
}

// Rows, keys or tokens, whichever are most.
int64_t LongestSide(const Trial& trial) {
  int64_t longest = 1;
  for (const NamedTensor& input : trial.Inputs().tensors) {
    for (size_t a = 1; a + 1 < input.shape.size(); ++a) {
      longest = std::max(longest, input.shape[a]);
    }
  }
  return longest;
}

// "diag_missing" of "ssd.diag_missing": two catalogues that know one bug, since
// one op is another one's special case, say it once.
std::string PlainName(const std::string& name) {
  return name.substr(name.find('.') + 1);
}

double LeastBeside(const Explanation& first) {
  return first.Proved() ? kCauseReproduced : first.explained - kCauseNear;
}

double MeanOf(double sum, int64_t cases) {
  return sum / static_cast<double>(cases);
}

// Whether a case says anything of a bug: it or the answer is off. Of a wrong
// answer also if that is little, or if it has the bug's bits to the last.
bool Says(const Fit& fit, bool wrong_answer) {
  const Distances& all = fit.all;
  if (std::max(all.wrong, all.moved) >= kUnseen) return true;
  return wrong_answer &&
         (all.erring > 0 || all.moving > 0 || (fit.same_bits && all.agree > 0));
}

// What a kernel before has left in these rows is no answer of the next.
void Spoil(const Trial& trial, const LookedAt& rows, const OutputSet& outputs) {
  for (size_t t = 0; t < outputs.tensors.size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    const auto& view = outputs.tensors[t].view;
    for (const int64_t line : LinesOf(trial, t, rows)) {
      for (int64_t c = 0; c < spec.shape[3]; ++c) {
        const auto [b, h, i, at] = LineIndex(spec, line, c);
        SetElement(view, {b, h, i, at}, LaneRowOf(view.lane).nan);
      }
    }
  }
}

}  // namespace

std::string DoubtOf(const Distances& evidence) {
  if (evidence.agree == 0) return "only NaN, infinity, zeros or noise agree";
  if (evidence.rows < kProvingRows) return "only one row shows it";
  if (evidence.agree < kProvingElements) return "few elements show it";
  const bool against = static_cast<double>(evidence.against) >
                       kMostAgainst * static_cast<double>(evidence.agree);
  return against ? "small errors contradict it" : "";
}

bool Explainer::Held::Scoped() const {
  return acting > 0 &&
         MeanOf(scoped, acting) <= MeanOf(left, cases) * kScopeGain;
}

double Explainer::Held::Explained() const {
  if (cases == 0) return 0;
  return 1 - (Scoped() ? MeanOf(scoped, acting) : MeanOf(left, cases));
}

std::string Explainer::Held::Doubt(bool all) const {
  const Distances& evidence = Scoped() ? there : everywhere;
  if (Explained() < kCauseReproduced) return "something else is wrong, too";
  const std::string doubt = DoubtOf(evidence);
  if (!doubt.empty() || all) return doubt;
  return "the budget was spent before all known bugs were tried";
}

Explainer::Explainer(std::string op, const NumericProfile* profile,
                     const std::atomic<bool>* stop, double seconds,
                     std::optional<ShardSpec> shard)
    : op_(std::move(op)),
      profile_(profile),
      stop_(stop),
      shard_(shard),
      budget_(seconds * kWorkOfSecond) {}

std::optional<Numbers> Explainer::Run(Ground* ground, const std::string& spec) {
  Result<std::unique_ptr<Candidate>> kernel = ParseCandidate(spec);
  if (!kernel.ok()) return std::nullopt;
  const Trial& trial = *ground->trial;
  OutputSet& outputs = ground->scratch;
  if (ground->rows.empty() || outputs.tensors.empty()) {
    Result<OutputSet> fresh = trial.Allocate(0);
    if (!fresh.ok()) return std::nullopt;
    outputs = std::move(fresh.value());
  } else {
    Spoil(trial, ground->rows, outputs);
  }
  Execution execution;
  auto* const emulated = dynamic_cast<EmulatedCandidate*>(kernel.value().get());
  const RunOutcome ran =
      emulated != nullptr
          ? emulated->RunRows(trial, ground->rows, outputs, &execution)
          : kernel.value()->Run({}, trial, {}, outputs, &execution);
  if (ran.state != RunOutcome::State::kRan) return std::nullopt;
  ++tried_;
  spent_ += ground->work;
  return NumbersOf(trial, outputs, profile_, ground->rows);
}

void Explainer::Hold(Ground* ground, Held* held) {
  const std::string& right = held->hypothesis.right;
  if (!ground->right.contains(right)) {
    std::optional<Numbers> numbers = Run(ground, right);
    if (!numbers) return;
    ground->right.emplace(right, std::move(*numbers));
  }
  const std::optional<Numbers> bug = Run(ground, held->hypothesis.spec);
  if (!bug) return;
  held->answers = HashOf(*bug, held->answers);
  const Numbers& sound = ground->right.at(right);
  const Fit fit =
      FitOf(*ground->trial, sound, ground->produced ? *ground->produced : sound,
            *bug, ground->rows);
  if (!Says(fit, ground->produced.has_value())) return;
  held->same_bits = held->same_bits && fit.same_bits;
  const Scope scope = ScopeOf(fit);
  const bool wrong = fit.all.wrong >= kUnseen || fit.all.erring > 0;
  if (held->cases == 0) held->where = scope.text;
  held->left += Left(fit.all);
  held->everywhere.Add(fit.all);
  ++held->cases;
  // Of where a bug acts an answer that is right says nothing.
  if (held->where.empty() || !wrong) return;
  held->scoped += scope.left;
  held->there.Add(scope.distances);
  ++held->acting;
}

void Explainer::HoldAll(const std::vector<Hypothesis>& hypotheses) {
  for (const Hypothesis& hypothesis : hypotheses) {
    if (Stopped()) return;
    Held held;
    held.hypothesis = hypothesis;
    for (Ground& ground : grounds_) Hold(&ground, &held);
    if (held.cases > 0) held_.push_back(std::move(held));
  }
}

bool Explainer::Reproduced() const {
  return std::any_of(held_.begin(), held_.end(), [](const Held& held) {
    return held.Explained() >= kCauseReproduced;
  });
}

bool Explainer::Settled() const {
  return std::any_of(held_.begin(), held_.end(), [](const Held& held) {
    return held.Explained() >= kCauseReproduced && !MayBeTile(held.hypothesis);
  });
}

// On the first case, whose hypotheses all have a right answer there. Small,
// middle and large tiles: edges of one size alone may all lie where the bug
// says nothing.
bool Explainer::HasEdges(const Hypothesis& one,
                         const std::vector<std::string>& tiles) {
  Ground& ground = grounds_.front();
  const std::optional<Numbers> own = Run(&ground, one.spec);
  if (!own) return false;
  for (const size_t n : {size_t{0}, tiles.size() / 2, tiles.size() - 1}) {
    const auto other = Run(&ground, InTile(one, tiles[n]).spec);
    if (!other) continue;
    const Fit fit = FitOf(*ground.trial, ground.right.at(one.right), *own,
                          *other, ground.rows);
    if (Says(fit, true) && Left(fit.all) > kSameElsewhere) return true;
  }
  return false;
}

void Explainer::Refine() {
  for (; turned_ < own_.size() && !Reproduced(); ++turned_) {
    HoldAll(AtOtherDials(own_[turned_]));
  }
  if (grounds_.empty()) return;
  if (Settled()) {
    if (std::exchange(compared_, true)) return;
    CompareWithTiles();
    all_tried_ = all_tried_ && !Stopped();
    return;
  }
  const std::vector<std::string> tiles = Tiles();
  if (tiled_ == 0 && !tiles.empty()) {
    std::erase_if(own_, [&](const Hypothesis& one) {
      return !Stopped() && !HasEdges(one, tiles);
    });
  }
  // All bugs in a tile, then the next: those alike are to be seen together.
  for (; tiled_ < tiles.size() && !Settled() && !Stopped(); ++tiled_) {
    std::vector<Hypothesis> moved;
    for (const Hypothesis& one : own_) {
      moved.push_back(InTile(one, tiles[tiled_]));
    }
    HoldAll(moved);
  }
}

// On the first case. Kernels in shards compute all of it, sample or not.
void Explainer::TryShards(const ShardSpec& shard) {
  const Trial& trial = *grounds_.front().trial;
  if (WorkToExplain(trial) > kShardWork) return;
  const std::vector<Hypothesis> all =
      ShardHypothesesOf(op_, profile_, shard.count);
  const int64_t before = tried_;
  HoldAll(all);
  spent_ += WorkOfRows(trial, {}) * static_cast<double>(tried_ - before);
  // Pairs are of bugs in one kernel.
  std::erase_if(held_, [](const Held& held) {
    return InShards(held.hypothesis) && held.Explained() < kCauseStated;
  });
}

void Explainer::Add(Ground ground) {
  const bool sample = !ground.rows.empty();
  ground.work = WorkOfRows(*ground.trial, ground.rows);
  grounds_.push_back(std::move(ground));
  if (grounds_.size() == 1) {
    HoldAll(HypothesesOf(op_, profile_));
    all_tried_ = !Stopped();
    Sort();
    for (const Held& held : held_) own_.push_back(held.hypothesis);
    moving_ = own_;
  } else {
    for (Held& held : held_) Hold(&grounds_.back(), &held);
  }
  // What the cases so far could not tell from another, this one may have shown
  // to be neither.
  Refine();
  if (shard_ && !Reproduced()) TryShards(*std::exchange(shard_, std::nullopt));
  Sort();
  held_.resize(std::min(held_.size(), sample ? kKeptOfSample : kKept));
}

std::vector<std::string> Explainer::Tiles() const {
  return TilesOf(op_, LongestSide(*grounds_.front().trial));
}

void Explainer::AddWrong(const Trial& trial, const OutputSet& produced,
                         LookedAt rows) {
  Ground ground;
  ground.trial = &trial;
  ground.produced = NumbersOf(trial, produced, profile_, rows);
  ground.rows = std::move(rows);
  Add(std::move(ground));
}

void Explainer::AddRight(const Trial& trial) {
  Ground ground;
  ground.trial = &trial;
  Add(std::move(ground));
}

// Best first; of those alike, one with the same bits, then one that acts
// everywhere, then one in the tiles of the catalogue, which were tried first.
void Explainer::Sort() {
  std::stable_sort(held_.begin(), held_.end(),
                   [](const Held& a, const Held& b) {
                     const double more = a.Explained() - b.Explained();
                     if (std::fabs(more) > kSameShare) return more > 0;
                     if (a.same_bits != b.same_bits) return a.same_bits;
                     return !a.Scoped() && b.Scoped();
                   });
}

Explanation Explainer::ExplanationOf(size_t n) const {
  const Held& held = held_[n];
  Explanation cause;
  cause.bug = held.hypothesis.Name();
  cause.what = held.hypothesis.Sentence();
  if (held.Scoped()) cause.where = held.where;
  cause.candidate = held.hypothesis.spec;
  cause.explained = held.Explained();
  // Where all is zero, other bugs have the same bits, too.
  const Distances& evidence = held.Scoped() ? held.there : held.everywhere;
  cause.same_bits = held.same_bits && evidence.agree > 0;
  cause.doubt = held.Doubt(all_tried_);
  for (const Held& other : held_) {
    const std::string name = other.hypothesis.Name();
    const bool known =
        name == cause.bug || std::find(cause.alike.begin(), cause.alike.end(),
                                       name) != cause.alike.end();
    const bool roundings = held.same_bits && other.Explained() >= kRoundings;
    if (!known && (other.answers == held.answers || roundings)) {
      cause.alike.push_back(name);
    }
  }
  return cause;
}

std::vector<Explanation> Explainer::Causes(size_t most) const {
  std::vector<Explanation> causes;
  std::vector<std::string> named;
  for (size_t n = 0; n < held_.size() && causes.size() < most; ++n) {
    if (held_[n].Explained() < kCauseStated) break;
    // A pair of a hundred times a hundred is near anything.
    const bool pair = held_[n].hypothesis.second != nullptr;
    if (pair && held_[n].Explained() < kPairStated) continue;
    // Beside what is proved the merely near is noise; beside what is not, what
    // is as near is as likely.
    if (!causes.empty() && held_[n].Explained() < LeastBeside(causes[0])) break;
    // Beside the same bits other ones are noise, however near they are.
    if (!causes.empty() && causes[0].same_bits && !held_[n].same_bits) break;
    const std::string name = PlainName(held_[n].hypothesis.Name());
    if (std::find(named.begin(), named.end(), name) != named.end()) continue;
    Explanation cause = ExplanationOf(n);
    named.push_back(name);
    for (const std::string& other : cause.alike) {
      named.push_back(PlainName(other));
    }
    causes.push_back(std::move(cause));
  }
  return causes;
}

std::optional<Explanation> Explainer::Nearest() const {
  if (held_.empty()) return std::nullopt;
  return ExplanationOf(0);
}

}  // namespace lockstep::verify
