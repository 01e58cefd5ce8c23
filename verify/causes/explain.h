// From a wrong answer to what it may come from: every known bug is planted into
// an emulated kernel, which is run on the same inputs.
#ifndef LOCKSTEP_VERIFY_CAUSES_EXPLAIN_H_
#define LOCKSTEP_VERIFY_CAUSES_EXPLAIN_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/case/shards/shard.h"
#include "verify/causes/explanation.h"
#include "verify/causes/fit.h"
#include "verify/causes/hypotheses.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Multiply-adds of a case up to which bugs are replayed on all of it on demand;
// at the end of a failing case, of all its op's bugs together.
inline constexpr int64_t kCauseWork = int64_t{1} << 20;
inline constexpr int64_t kReplaysOfVerdict = int64_t{1} << 27;
int64_t WorkToExplain(const Trial& trial);
// Multiply-adds of an emulated kernel on these rows, and of its mask.
double WorkOfRows(const Trial& trial, const LookedAt& rows);

// Why these rows and elements prove no cause that explains the error; empty:
// they do.
std::string DoubtOf(const Distances& evidence);

// Multiply-adds of emulated kernels that take an ordinary core about a second.
// Budgets are counted in them: what is found depends on no machine's speed.
inline constexpr double kWorkOfSecond = 4e8;

class Explainer {
 public:
  // `profile`: that the candidate claims; null: the exact contract. It is kept.
  // `seconds`: worth of work (kWorkOfSecond); then nothing more is tried. What
  // is tried has one order, whatever the budget. `shard`: that of the case;
  // only there are kernels in shards tried.
  Explainer(std::string op, const NumericProfile* profile,
            const std::atomic<bool>* stop = nullptr,
            double seconds = std::numeric_limits<double>::infinity(),
            std::optional<ShardSpec> shard = std::nullopt);

  // Takes a wrong answer into account. `rows`: those that are looked at; empty:
  // all.  Requires: outputs of this trial, which is kept.
  void AddWrong(const Trial& trial, const OutputSet& produced,
                LookedAt rows = {});
  // An answer with which nothing is wrong: bugs that would show are not it.
  // Not the first.
  void AddRight(const Trial& trial);

  // Takes off the budget what else was done for it.
  void Spend(double work) { spent_ += work; }

  // Holds pairs of bugs against the answers, where no single one reproduces
  // them: each of the nearest with every other. Some thousand kernels run.
  void TryPairs();

  // Causes that are worth stating, best first.
  std::vector<Explanation> Causes(size_t most = 3) const;
  // The best of all, stated or not: none if no bug moves anything here.
  std::optional<Explanation> Nearest() const;
  // Whether one bug reproduces all answers so far.
  bool Reproduced() const;
  // Whether the budget was spent before all was tried.
  bool IsSpent() const { return spent_ >= budget_; }
  // Emulated kernels whose answers were compared.
  int64_t tried() const { return tried_; }

 private:
  struct Held {
    Hypothesis hypothesis;
    // Shares left unexplained, summed over the cases that say anything of the
    // bug; and, over those with a wrong answer, with places where it acts.
    double left = 0;
    int64_t cases = 0;
    double scoped = 0;
    int64_t acting = 0;
    std::string where;  // it acts, in the first case
    bool same_bits = true;
    uint64_t answers = 0;  // hash of what it gave
    // Of all cases: with the bug everywhere, and where it acts only.
    Distances everywhere, there;

    bool Scoped() const;
    double Explained() const;
    // Why it is not proved; empty: it is. `all`: no other bug is left to try.
    std::string Doubt(bool all) const;
  };
  // One case: the answer, absent where nothing is wrong with it, and right ones
  // by the kernels they are of.
  struct Ground {
    const Trial* trial = nullptr;
    LookedAt rows;
    double work = 0;  // multiply-adds of a kernel
    std::optional<Numbers> produced;
    std::map<std::string, Numbers> right;
    OutputSet scratch;  // of a sample: what kernels write to
  };

  // Causes that later cases are compared with.
  static constexpr size_t kKept = 60;
  static constexpr size_t kKeptOfSample = 16;

  bool Stopped() const { return (stop_ != nullptr && *stop_) || IsSpent(); }
  std::optional<Numbers> Run(Ground* ground, const std::string& spec);
  void Hold(Ground* ground, Held* held);
  // Each against all cases so far.
  void HoldAll(const std::vector<Hypothesis>& hypotheses);
  // Whether one does, and more than the number of a dial tells it from others.
  bool Settled() const;
  // Whether the bug gives another answer in other tiles: it lives at edges.
  bool HasEdges(const Hypothesis& one, const std::vector<std::string>& tiles);
  // Dials turned, then edges where kernels have them, until one reproduces all
  // answers; goes on from where it stopped. The last 32 keys may be a tile's.
  void Refine();
  void TryShards(const ShardSpec& shard);
  // Holds bugs of tiles against what a bug reproduces, in every tile.
  void CompareWithTiles();
  std::vector<std::string> Tiles() const;
  // Of the nearest bugs, each once, in no tile of their own choice.
  std::vector<Hypothesis> Nearest(size_t most) const;
  // Each of `firsts` with each of `others`: on the first case; of those the
  // nearest are held against all cases. Names of the second bugs of these.
  std::vector<Hypothesis> HoldPairs(const std::vector<Hypothesis>& firsts,
                                    const std::vector<Hypothesis>& others);
  void Add(Ground ground);
  void Sort();
  Explanation ExplanationOf(size_t n) const;

  std::string op_;
  const NumericProfile* profile_;
  const std::atomic<bool>* stop_;
  std::vector<Ground> grounds_;
  std::vector<Held> held_;
  // Bugs that move anything in the first case, nearest first. Once tiles are
  // tried, these are bugs that have edges. Among them are bugs with turned
  // dials and in the tiles that were tried.
  std::vector<Hypothesis> own_;
  std::vector<Hypothesis> moving_;  // the former, with and without edges
  size_t turned_ = 0;
  size_t tiled_ = 0;
  int64_t tried_ = 0;
  bool all_tried_ = false;          // as the catalogue has them
  bool compared_ = false;           // with bugs of tiles
  std::optional<ShardSpec> shard_;  // none once bugs of shards were tried
  const double budget_;             // multiply-adds
  double spent_ = 0;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CAUSES_EXPLAIN_H_
