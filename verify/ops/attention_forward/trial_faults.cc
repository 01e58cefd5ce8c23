// Single faults planted into the right answer: what a case or its probes must
// be able to tell from it. Where they stand follows from the masks and the salt
// alone, so that the case and each of its probes have the same ones.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/mixing.h"
#include "verify/base/status_macros.h"
#include "verify/case/attention_forward/case.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/ops/attention_forward/fault_inputs.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {
namespace {

// Rows among which the one with most keys is looked for.
constexpr size_t kCandidates = 24;
// Rows that a fault of more than one row names.
constexpr size_t kRowsOfFault = 4;
// How far apart the second pair of V rows is: a tile of common kernels.
constexpr int64_t kFar = 64;
// Most keys of a row whose lse is to show one.
constexpr int64_t kKeysInLse = 16384;

// A row, and the keys it sees.
struct SeeingRow {
  int64_t row = 0;
  std::array<int64_t, 4> at{};
  oracle::KeySet keys;
  int64_t visible = 0;
};

using Change = std::function<void(const std::array<int64_t, 4>& at,
                                  AttentionForwardProblem*,
                                  AttentionForwardInputs*, FaultScratch*)>;

std::string Name(const std::array<int64_t, 4>& at) {
  return "row [b=" + std::to_string(at[0]) + " h=" + std::to_string(at[1]) +
         " i=" + std::to_string(at[2]) + "]";
}

bool Sees(const oracle::KeySet& keys, int64_t key) {
  return std::any_of(keys.begin(), keys.end(), [&](const auto& run) {
    return run.begin <= key && key < run.end;
  });
}

// The n-th visible key. Requires: 0 <= n < CountKeys(keys).
int64_t NthKey(const oracle::KeySet& keys, int64_t n) {
  for (const oracle::KeyInterval& run : keys) {
    if (n < run.end - run.begin) return run.begin + n;
    n -= run.end - run.begin;
  }
  return -1;
}

}  // namespace

// Collects the faults of one trial.
class AttentionFaults {
 public:
  AttentionFaults(const AttentionForwardTrial& trial, uint64_t salt)
      : trial_(trial),
        p_(trial.data_.problem),
        inputs_(trial.data_.inputs),
        visibility_(p_, inputs_),
        state_(salt) {}

  std::vector<PlantedFault> All() {
    FindRows();
    if (rows_.empty()) return {};
    Keys();
    Masks();
    // One key has the weight 1, whatever its score.
    if (rows_[0].visible > 1 && p_.scale != 0) {
      Queries();
      KeyRows();
    }
    if (rows_[0].visible > 1) ValueRows();
    Heads();
    Sinks();
    return std::move(faults_);
  }

 private:
  // 0..n-1.
  int64_t Draw(int64_t n) {
    return static_cast<int64_t>(NextMixed(&state_) % static_cast<uint64_t>(n));
  }

  // Telling rows that see a key, the one with most keys first.
  void FindRows() {
    const std::vector<int64_t> telling = trial_.faults().TellingRows();
    for (const int64_t row : telling) {
      if (rows_.size() == kCandidates) break;
      SeeingRow seeing;
      seeing.row = row;
      seeing.at = LineIndex(trial_.outputs()[0], trial_.LineOf(row), 0);
      seeing.keys =
          visibility_.VisibleKeys(seeing.at[0], seeing.at[1], seeing.at[2]);
      seeing.visible = oracle::CountKeys(seeing.keys);
      if (seeing.visible > 0) rows_.push_back(std::move(seeing));
    }
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const SeeingRow& a, const SeeingRow& b) {
                       return a.visible > b.visible;
                     });
  }

  // Rows of the first one's kv head that see both keys: of neighbouring rows
  // and heads first, because probes differ there.
  std::vector<int64_t> RowsThatSee(int64_t one, int64_t other) const {
    const auto& at = rows_[0].at;
    std::vector<int64_t> rows, later;
    uint32_t thirds = 0;
    for (const SeeingRow& row : rows_) {
      const bool kin =
          row.at[0] == at[0] && row.at[1] / p_.group() == at[1] / p_.group();
      if (!kin || !Sees(row.keys, one) || !Sees(row.keys, other)) continue;
      const uint32_t third = 1u << (row.at[1] + row.at[2]) % 3;
      ((thirds & third) == 0 ? rows : later).push_back(row.row);
      thirds |= third;
    }
    rows.insert(rows.end(), later.begin(), later.end());
    if (rows.size() > kRowsOfFault) rows.resize(kRowsOfFault);
    return rows;
  }

  void Plant(const char* kind, std::string what, std::vector<int64_t> rows,
             Change change) {
    const AttentionForwardTrial* trial = &trial_;
    faults_.push_back(
        {kind, std::move(what), std::move(rows),
         [trial, change = std::move(change)](int64_t row, RowBits* bits) {
           AttentionForwardProblem problem = trial->data_.problem;
           AttentionForwardInputs inputs = trial->data_.inputs;
           FaultScratch scratch;
           change(LineIndex(trial->outputs()[0], trial->LineOf(row), 0),
                  &problem, &inputs, &scratch);
           trial->RowOf(problem, inputs, row, bits);
         }});
  }
  void PlantKey(const char* kind, const std::string& what, const SeeingRow& row,
                int64_t but, int64_t and_also) {
    Plant(kind, Name(row.at) + what, {row.row},
          [shown = ShownKeys{row.keys, but, and_also}](
              const auto&, AttentionForwardProblem* p,
              AttentionForwardInputs* inputs,
              FaultScratch* scratch) { Show(shown, p, inputs, scratch); });
  }

  void Keys();
  void Masks();
  void Queries();
  void KeyRows();
  void ValueRows();
  void Heads();
  void Sinks();
  void OfOther(const char* kind, const char* tensor,
               LaneView AttentionForwardInputs::* view,
               const std::array<int64_t, 2>& b_head);

  const AttentionForwardTrial& trial_;
  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& inputs_;
  const oracle::Visibility visibility_;
  uint64_t state_;
  std::vector<SeeingRow> rows_;
  std::vector<PlantedFault> faults_;
};

// One key is not seen; lse alone does not see it.
void AttentionFaults::Keys() {
  const SeeingRow& row = rows_[0];
  const int64_t drawn = NthKey(row.keys, Draw(row.visible));
  std::vector<int64_t> keys = {row.keys.front().begin, row.keys.back().end - 1,
                               drawn};
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const int64_t key : keys) {
    PlantKey("key", " does not see key " + std::to_string(key), row, key, -1);
  }
  // One key of more is less than what most profiles leave a logarithm.
  const auto few = std::find_if(
      rows_.begin(), rows_.end(),
      [](const SeeingRow& seeing) { return seeing.visible <= kKeysInLse; });
  const SeeingRow& short_row = few == rows_.end() ? row : *few;
  const int64_t lost = NthKey(short_row.keys, Draw(short_row.visible));
  PlantKey("lse", ": lse without key " + std::to_string(lost), short_row, lost,
           -1);
  PlantedFault& lse = faults_.back();
  const AttentionForwardTrial* trial = &trial_;
  lse.row = [trial, wrong = std::move(lse.row)](int64_t at, RowBits* bits) {
    RowBits right;
    trial->ReferenceRow(at, &right);
    wrong(at, bits);
    (*bits)[0] = std::move(right[0]);
  };
}

// One masked key is seen, at the border of what a row sees and anywhere.
void AttentionFaults::Masks() {
  const auto masked = std::find_if(
      rows_.begin(), rows_.end(),
      [&](const SeeingRow& row) { return row.visible < p_.kv_len; });
  if (masked == rows_.end()) return;
  const int64_t end = masked->keys.back().end;
  const int64_t border = end < p_.kv_len ? end : masked->keys.back().begin - 1;
  PlantKey("mask", " sees key " + std::to_string(border) + ", which is masked",
           *masked, -1, border);
  int64_t other = Draw(p_.kv_len);
  while (Sees(masked->keys, other)) other = (other + 1) % p_.kv_len;
  if (other == border) return;
  PlantKey("mask", " sees key " + std::to_string(other) + ", which is masked",
           *masked, -1, other);
}

// A channel of q is lost; q is another row's or another head's.
void AttentionFaults::Queries() {
  const SeeingRow& row = rows_[0];
  std::vector<int64_t> channels = {0, Draw(p_.head_dim), p_.head_dim - 1};
  std::sort(channels.begin(), channels.end());
  channels.erase(std::unique(channels.begin(), channels.end()), channels.end());
  for (const int64_t c : channels) {
    Plant("channel",
          Name(row.at) + ": channel " + std::to_string(c) + " of q is lost",
          {row.row},
          [c](const auto& at, AttentionForwardProblem*,
              AttentionForwardInputs* inputs, FaultScratch* scratch) {
            LaneView& q = inputs->q;
            CopyHead({at[0], at[1], at[2], 1}, &q, scratch);
            const auto bytes = static_cast<int64_t>(LaneBytes(q.lane));
            std::fill_n(scratch->bytes.begin() + c * bytes, bytes, uint8_t{0});
          });
  }
  const auto of = [&](const char* kind, int64_t heads, int64_t rows) {
    Plant(kind,
          Name(row.at) + " with q of " +
              (heads != 0
                   ? "head " + std::to_string((row.at[1] + heads) % p_.q_heads)
                   : "row " + std::to_string((row.at[2] + rows) % p_.q_len)),
          {row.row},
          [heads, rows](const auto& at, AttentionForwardProblem* p,
                        AttentionForwardInputs* inputs, FaultScratch*) {
            HoldOne(&inputs->q, at[0], (at[1] + heads) % p->q_heads,
                    (at[2] + rows) % p->q_len);
          });
  };
  if (p_.q_heads > 1) of("q_head", 1, 0);
  if (p_.q_heads > 2) of("q_head", p_.q_heads - 1, 0);
  if (p_.q_len > 1) of("q_row", 0, 1);
  if (p_.q_len > 2) of("q_row", 0, p_.q_len - 1);
}

// The first row of K behind an edge of 64 is the last one before it.
void AttentionFaults::KeyRows() {
  const SeeingRow& row = rows_[0];
  int64_t key = NthKey(row.keys, Draw(row.visible)) / kFar * kFar;
  if (!Sees(row.keys, key) || key == 0) key = row.keys.back().end - 1;
  const int64_t from = key > 0 ? key - 1 : key + 1;
  Plant("k_row",
        "K row " + std::to_string(key) + " is read from row " +
            std::to_string(from) + ", seen by " + Name(row.at),
        RowsThatSee(key, key),
        [key, from](const auto& at, AttentionForwardProblem* p,
                    AttentionForwardInputs* inputs, FaultScratch* scratch) {
          CopyHead({at[0], at[1] / p->group(), 0, p->kv_len}, &inputs->k,
                   scratch);
          MoveRow(inputs->k, key, from, false, scratch);
        });
}

// Two rows of V are exchanged: neighbours, and the same place of two tiles.
void AttentionFaults::ValueRows() {
  const SeeingRow& row = rows_[0];
  for (const int64_t apart : {int64_t{1}, kFar}) {
    const int64_t one = NthKey(row.keys, Draw(row.visible));
    int64_t other = one + apart;
    if (!Sees(row.keys, other)) other = one - apart;
    if (!Sees(row.keys, other)) {
      if (apart > 1) continue;
      other = NthKey(row.keys, row.keys.front().begin == one ? 1 : 0);
    }
    Plant("v_row",
          "V rows " + std::to_string(one) + " and " + std::to_string(other) +
              " exchanged, seen by " + Name(row.at),
          RowsThatSee(one, other),
          [one, other](const auto& at, AttentionForwardProblem* p,
                       AttentionForwardInputs* inputs, FaultScratch* scratch) {
            CopyHead({at[0], at[1] / p->group(), 0, p->kv_len}, &inputs->v,
                     scratch);
            MoveRow(inputs->v, one, other, true, scratch);
          });
  }
}

// One tensor is read from another batch row or head.
void AttentionFaults::OfOther(const char* kind, const char* tensor,
                              LaneView AttentionForwardInputs::* view,
                              const std::array<int64_t, 2>& b_head) {
  const SeeingRow& row = rows_[0];
  const bool query = view == &AttentionForwardInputs::q;
  const std::string what = std::string(" with ") + tensor +
                           " of b=" + std::to_string(b_head[0]) +
                           " h=" + std::to_string(b_head[1]);
  Plant(kind, Name(row.at) + what, {row.row},
        [view, b_head, query](const auto& at, AttentionForwardProblem*,
                              AttentionForwardInputs* inputs, FaultScratch*) {
          LaneView& x = inputs->*view;
          if (query) {
            HoldOne(&x, b_head[0], b_head[1], at[2]);
          } else {
            HoldHead(&x, b_head[0], b_head[1]);
          }
        });
}

void AttentionFaults::Heads() {
  const auto& at = rows_[0].at;
  const int64_t kv = at[1] / p_.group();
  const bool scores = rows_[0].visible > 1 && p_.scale != 0;
  if (p_.kv_heads > 1) {
    const std::array<int64_t, 2> next = {at[0], (kv + 1) % p_.kv_heads};
    if (scores) OfOther("kv_head", "k", &AttentionForwardInputs::k, next);
    OfOther("kv_head", "v", &AttentionForwardInputs::v, next);
  }
  if (p_.batch > 1) {
    const int64_t b = (at[0] + 1) % p_.batch;
    if (scores) {
      OfOther("batch", "q", &AttentionForwardInputs::q, {b, at[1]});
      OfOther("batch", "k", &AttentionForwardInputs::k, {b, kv});
    }
    OfOther("batch", "v", &AttentionForwardInputs::v, {b, kv});
  }
}

// The sink is left out, or is another head's.
void AttentionFaults::Sinks() {
  if (!p_.sink) return;
  const SeeingRow& row = rows_[0];
  Plant("sink", Name(row.at) + " without its sink", {row.row},
        [](const auto&, AttentionForwardProblem* p, AttentionForwardInputs*,
           FaultScratch*) { p->sink = false; });
  if (p_.q_heads < 2) return;
  const int64_t other = (row.at[1] + 1) % p_.q_heads;
  Plant("sink",
        Name(row.at) + " with the sink of head " + std::to_string(other),
        {row.row},
        [other](const auto&, AttentionForwardProblem*,
                AttentionForwardInputs* inputs, FaultScratch*) {
          inputs->sink.data += other * inputs->sink.strides[0];
          inputs->sink.strides[0] = 0;
        });
}

std::vector<PlantedFault> AttentionForwardTrial::PlantFaults(
    uint64_t salt) const {
  return AttentionFaults(*this, salt).All();
}

Result<std::unique_ptr<Trial>> AttentionForwardTrial::AskedAs(
    const Case& other) const {
  ASSIGN_OR_RETURN(AttentionForwardData data, Clone(data_));
  data.problem = ToProblem(other.Get<AttentionForwardCase>());
  return std::unique_ptr<Trial>(
      std::make_unique<AttentionForwardTrial>(other, std::move(data)));
}

}  // namespace lockstep::verify
