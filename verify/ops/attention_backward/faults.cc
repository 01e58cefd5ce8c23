// Single faults planted into the right gradients: what a case must be able to
// tell from them. Where they stand follows from the masks and the salt alone.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_backward.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/fault_inputs.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {
namespace {

using Kind = BackwardRow::Kind;

// Queries, and keys, among which a pair is looked for: few enough to be in the
// sample of a long case.
constexpr size_t kCandidates = 10;

// Memory of changed inputs, for the length of one call.
struct Scratch {
  FaultScratch forward;
  std::vector<float> rows;      // lse, or dlse
  std::vector<uint8_t> column;  // which queries a key sees
};
using Change = std::function<void(AttentionBackwardProblem*,
                                  AttentionBackwardInputs*, Scratch*)>;

// lse with one row that is left out: every sum goes on without it.
void LeaveOut(const BackwardRow& query, AttentionBackwardInputs* in,
              std::vector<float>* memory) {
  auto& lse = in->lse;
  memory->clear();
  for (int64_t b = 0; b < lse.shape[0]; ++b) {
    for (int64_t h = 0; h < lse.shape[1]; ++h) {
      for (int64_t i = 0; i < lse.shape[2]; ++i) {
        memory->push_back(lse(b, h, i));
      }
    }
  }
  const int64_t at =
      (query.b * lse.shape[1] + query.head) * lse.shape[2] + query.position;
  (*memory)[static_cast<size_t>(at)] = -std::numeric_limits<float>::infinity();
  lse.data = memory->data();
  lse.strides = DenseStrides(lse.shape);
}

// Every key is seen by the queries that `key` is seen by, and by one more.
void ShowTo(const oracle::Visibility& visibility, const BackwardRow& key,
            const BackwardRow& more, AttentionBackwardProblem* problem,
            AttentionBackwardInputs* in, std::vector<uint8_t>* column) {
  AttentionForwardProblem& p = problem->forward;
  column->assign(static_cast<size_t>(p.q_heads * p.q_len), 0);
  const auto at = [&](int64_t h, int64_t i) -> uint8_t& {
    return (*column)[static_cast<size_t>(h * p.q_len + i)];
  };
  for (int64_t h = key.head * p.group(); h < (key.head + 1) * p.group(); ++h) {
    for (int64_t i = 0; i < p.q_len; ++i) {
      for (const auto& run : visibility.VisibleKeys(key.b, h, i)) {
        if (run.begin <= key.position && key.position < run.end) at(h, i) = 1;
      }
    }
  }
  at(more.head, more.position) = 1;
  MaskExpr dense;
  dense.kind = MaskExpr::Kind::kDense;
  p.masks = {dense};
  p.segments = false;
  in->forward.valid_q.clear();
  in->forward.valid_kv.clear();
  in->forward.dense_masks = {
      {column->data(), {1, p.q_heads, p.q_len, p.kv_len}, {0, p.q_len, 1, 0}}};
}

class BackwardFaults {
 public:
  BackwardFaults(const AttentionBackwardTrial& trial, uint64_t salt)
      : trial_(trial),
        p_(trial.data().problem.forward),
        visibility_(p_, trial.data().inputs.forward),
        state_(salt) {}

  std::vector<PlantedFault> All() {
    if (!FindPair()) return {};
    Pairs();
    Masks();
    Rows();
    Heads();
    Statistics();
    return std::move(faults_);
  }

 private:
  int64_t Draw(int64_t n) {
    return static_cast<int64_t>(NextMixed(&state_) % static_cast<uint64_t>(n));
  }

  bool Counts(const BackwardRow& query) const {
    return trial_.data().inputs.lse(query.b, query.head, query.position) >
           -std::numeric_limits<float>::infinity();
  }

  static bool Sees(const oracle::KeySet& keys, int64_t key) {
    return std::any_of(keys.begin(), keys.end(), [key](const auto& run) {
      return run.begin <= key && key < run.end;
    });
  }

  // Telling keys of the query's key head that it sees, or that it does not.
  std::vector<BackwardRow> KeysOf(const BackwardRow& query,
                                  const oracle::KeySet& keys, bool seen) const {
    std::vector<BackwardRow> found;
    for (const BackwardRow& key : telling_keys_) {
      if (key.b == query.b && key.head == query.head / p_.group() &&
          Sees(keys, key.position) == seen) {
        found.push_back(key);
      }
    }
    return found;
  }

  // A telling query that counts and sees many keys, and one of the telling ones
  // among them: the rows of both are then part of every sample.
  bool FindPair() {
    std::vector<BackwardRow> queries;
    for (const int64_t row : trial_.faults().TellingRows()) {
      const BackwardRow at = trial_.RowAt(row);
      if (at.kind == Kind::kSink) continue;
      auto& to = at.kind == Kind::kKey ? telling_keys_ : queries;
      if (to.size() < kCandidates) to.push_back(at);
    }
    int64_t most = 0;
    for (const BackwardRow& at : queries) {
      if (!Counts(at)) continue;
      auto keys = visibility_.VisibleKeys(at.b, at.head, at.position);
      if (oracle::CountKeys(keys) <= most) continue;
      const std::vector<BackwardRow> seen = KeysOf(at, keys, true);
      if (seen.empty()) continue;
      most = oracle::CountKeys(keys);
      query_ = at;
      keys_ = std::move(keys);
      key_ = seen[static_cast<size_t>(Draw(static_cast<int64_t>(seen.size())))];
    }
    return most > 0;
  }

  static std::string Name(const BackwardRow& row) {
    return std::string(row.kind == Kind::kKey ? "key" : "query") +
           " [b=" + std::to_string(row.b) + " h=" + std::to_string(row.head) +
           " " + std::to_string(row.position) + "]";
  }

  void Plant(const char* kind, std::string what, std::vector<BackwardRow> rows,
             Change change) {
    std::vector<int64_t> places;
    for (const BackwardRow& row : rows) places.push_back(trial_.RowOf(row));
    const AttentionBackwardTrial* trial = &trial_;
    faults_.push_back(
        {kind, std::move(what), std::move(places),
         [trial, change = std::move(change)](int64_t row, RowBits* bits) {
           AttentionBackwardProblem problem = trial->data().problem;
           AttentionBackwardInputs inputs = trial->data().inputs;
           Scratch scratch;
           change(&problem, &inputs, &scratch);
           trial->RowWith(problem, inputs, row, bits);
         }});
  }

  // A pair is left out of a sum over queries, and of one over keys.
  void Pairs() {
    const BackwardRow query = query_;
    Plant("key", Name(key_) + " is not reached by " + Name(query_), {key_},
          [query](auto*, AttentionBackwardInputs* in, Scratch* scratch) {
            LeaveOut(query, in, &scratch->rows);
          });
    const ShownKeys shown{keys_, key_.position, -1};
    Plant("query", Name(query_) + " does not see " + Name(key_), {query_},
          [shown](AttentionBackwardProblem* p, AttentionBackwardInputs* in,
                  Scratch* scratch) {
            Show(shown, &p->forward, &in->forward, &scratch->forward);
          });
  }

  // A masked pair takes part in either sum.
  void Masks() {
    const std::vector<BackwardRow> masked = KeysOf(query_, keys_, false);
    if (masked.empty()) return;
    const BackwardRow query = query_;
    const BackwardRow key = masked.front();
    Plant("mask", Name(key) + " is reached by " + Name(query) + ", masked",
          {key},
          [trial = &trial_, key, query](AttentionBackwardProblem* p,
                                        AttentionBackwardInputs* in,
                                        Scratch* scratch) {
            const oracle::Visibility visibility(trial->data().problem.forward,
                                                trial->data().inputs.forward);
            ShowTo(visibility, key, query, p, in, &scratch->column);
          });
    const ShownKeys shown{keys_, -1, key.position};
    Plant("mask", Name(query) + " sees " + Name(key) + ", masked", {query},
          [shown](AttentionBackwardProblem* p, AttentionBackwardInputs* in,
                  Scratch* scratch) {
            Show(shown, &p->forward, &in->forward, &scratch->forward);
          });
  }

  // A tensor's row is another one's, or lacks a channel.
  void Rows() {
    const BackwardRow at = query_;
    const int64_t channel = Draw(p_.head_dim);
    Plant("channel",
          Name(at) + ": channel " + std::to_string(channel) + " of q is lost",
          {at},
          [at, channel](auto*, AttentionBackwardInputs* in, Scratch* scratch) {
            LaneView& q = in->forward.q;
            CopyHead({at.b, at.head, at.position, 1}, &q, &scratch->forward);
            const auto bytes = static_cast<int64_t>(LaneBytes(q.lane));
            std::fill_n(scratch->forward.bytes.begin() + channel * bytes, bytes,
                        uint8_t{0});
          });
    if (p_.q_len < 2) return;
    const int64_t other = (at.position + 1) % p_.q_len;
    Plant("do", Name(at) + " with do of query " + std::to_string(other), {at},
          [at, other](auto*, AttentionBackwardInputs* in, Scratch*) {
            HoldOne(&in->d_o, at.b, at.head, other);
          });
    if (!trial_.data().own.o) return;
    Plant("own_o", Name(at) + " with o of query " + std::to_string(other), {at},
          [at, other](auto*, AttentionBackwardInputs* in, Scratch*) {
            HoldOne(&in->o, at.b, at.head, other);
          });
  }

  void Heads() {
    const BackwardRow at = query_;
    if (p_.kv_heads > 1) {
      const int64_t head = (key_.head + 1) % p_.kv_heads;
      Plant("kv_head", Name(at) + " with k of head " + std::to_string(head),
            {at}, [at, head](auto*, AttentionBackwardInputs* in, Scratch*) {
              HoldHead(&in->forward.k, at.b, head);
            });
    }
    if (p_.batch < 2) return;
    const BackwardRow key = key_;
    const int64_t b = (at.b + 1) % p_.batch;
    Plant("batch", Name(key) + " with v of b=" + std::to_string(b), {key},
          [b, key](auto*, AttentionBackwardInputs* in, Scratch*) {
            HoldHead(&in->forward.v, b, key.head);
          });
  }

  // lse, its cotangent, the sinks.
  void Statistics() {
    const BackwardRow at = query_;
    if (trial_.data().problem.dlse) {
      Plant("dlse", Name(at) + " without dlse", {at},
            [](AttentionBackwardProblem* p, auto*, Scratch*) {
              p->dlse = false;
            });
    }
    if (!p_.sink) return;
    const BackwardRow sink = {Kind::kSink, 0, at.head, 0};
    Plant("sink",
          "dsink of head " + std::to_string(at.head) + " without " + Name(at),
          {sink}, [at](auto*, AttentionBackwardInputs* in, Scratch* scratch) {
            LeaveOut(at, in, &scratch->rows);
          });
  }

  const AttentionBackwardTrial& trial_;
  const AttentionForwardProblem& p_;
  const oracle::Visibility visibility_;
  uint64_t state_;
  std::vector<BackwardRow> telling_keys_;
  BackwardRow query_, key_;
  oracle::KeySet keys_;
  std::vector<PlantedFault> faults_;
};

}  // namespace

std::vector<PlantedFault> AttentionBackwardTrial::PlantFaults(
    uint64_t salt) const {
  return BackwardFaults(*this, salt).All();
}

Result<std::unique_ptr<Trial>> AttentionBackwardTrial::AskedAs(
    const Case& other) const {
  ASSIGN_OR_RETURN(AttentionBackwardData data, Clone(data_));
  data.problem = ToBackwardProblem(other.Get<AttentionBackwardCase>());
  data.forward.problem = data.problem.forward;
  return std::unique_ptr<Trial>(
      std::make_unique<AttentionBackwardTrial>(other, std::move(data)));
}

}  // namespace lockstep::verify
