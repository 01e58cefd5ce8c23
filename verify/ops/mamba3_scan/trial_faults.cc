// Single faults of every kind, planted into the right answer by giving the
// reference one value from a wrong place: the token before, another head,
// group, row, rank, channel, run.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/mixing.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/inputs/mamba3_scan_pick.h"
#include "verify/ops/mamba3_scan/runs_trial.h"

namespace lockstep::verify {
namespace {

using T = ScanTensor;
// A line of channels: row or run, head, position.
using Line = std::array<int64_t, 3>;
using Edit = std::function<void(Mamba3ScanData*)>;

uint32_t BitsAt(const ScanStorage& from, const Line& line, int64_t c) {
  return ElementBits(from.tensor.const_view(), {line[0], line[1], line[2], c});
}

bool SameLines(const ScanStorage& x, const Line& one, const Line& other) {
  for (int64_t c = 0; c < x.tensor.view.shape[3]; ++c) {
    if (BitsAt(x, one, c) != BitsAt(x, other, c)) return false;
  }
  return true;
}

void CopyLine(const ScanStorage& x, const Line& to, const Line& from) {
  for (int64_t c = 0; c < x.tensor.view.shape[3]; ++c) {
    SetElement(x.tensor.view, {to[0], to[1], to[2], c}, BitsAt(x, from, c));
  }
}

}  // namespace

// Collects the faults of a trial.
class ScanFaultPlanter {
 public:
  ScanFaultPlanter(const RunsTrial& trial, uint64_t salt)
      : trial_(trial), p_(trial.data().problem), salt_(Mix(salt)) {}

  std::vector<PlantedFault> Run() {
    OfTokens(T::kV, "token", "v");
    OfTokens(T::kK, "key", "k");
    OfTokens(T::kQ, "query", "q");
    OfTokens(T::kZ, "z", "z");
    OfTokens(T::kA, "decay", "a");
    OfTokens(T::kDt, "dt", "dt");
    OfTokens(T::kTau, "tau", "tau");
    OfTokens(T::kRate, "angle", "vartheta");
    OfParameters(T::kD, "d", "D");
    OfParameters(T::kBq, "bias", "bq");
    OfParameters(T::kBk, "bias", "bk");
    OfParameters(T::kPsi, "psi", "psi");
    OfParameters(T::kZeta, "zeta", "zeta");
    OfParameters(T::kPhi, "phi", "phi");
    OfParameters(T::kNormWeight, "norm", "norm weights");
    OfPlaces(T::kV, 1, "head", "v of head");
    OfPlaces(T::kK, 1, "group", "k of group");
    OfPlaces(T::kV, 0, "batch", "v of row");
    OfChannels(T::kV, "channel", "v");
    OfChannels(T::kQ, "coordinate", "q");
    if (p_.ranks > 1) OfRanks();
    if (p_.carry_in) OfCarries(T::kCarryTheta, "carry", "starts from");
    OfRuns();
    OfTokens(T::kDy, "cotangent", "dy");
    OfPlaces(T::kDy, 1, "cotangent_head", "dy of head");
    if (At(T::kDH).there()) {
      OfCarries(T::kDTheta, "carry_cotangent", "ends with");
    }
    return std::move(faults_);
  }

 private:
  // 0 .. n - 1.
  int64_t Draw(int64_t n) {
    salt_ = Mix(salt_);
    return static_cast<int64_t>((salt_ >> 33) % static_cast<uint64_t>(n));
  }
  const ScanStorage& At(T tensor) const { return trial_.data().at(tensor); }

  // The reference on edited inputs, for one head of one run.
  void Plant(const char* kind, const std::string& what, int64_t run,
             int64_t head, const Edit& edit) {
    PlantedFault fault;
    fault.kind = kind;
    fault.what = what;
    fault.rows = {trial_.RowOf(run, head)};
    const RunsTrial* trial = &trial_;
    fault.row = [trial, edit](int64_t row, RowBits* bits) {
      const Mamba3ScanData& own = trial->data();
      Result<Mamba3ScanData> changed =
          PickScan(own, PickAll(own), trial->request().Get<Mamba3ScanCase>());
      if (!changed.ok()) return trial->ReferenceRow(row, bits);
      edit(&changed.value());
      trial->RowBy({changed->problem, changed->inputs, changed.value()}, row,
                   bits);
    };
    faults_.push_back(std::move(fault));
  }

  // What one token has is that of the token before it in its run.
  void OfTokens(T tensor, const char* kind, const char* name) {
    const ScanStorage& x = At(tensor);
    if (!x.there()) return;
    const auto& shape = x.tensor.view.shape;
    const int64_t ranks = shape[2] / p_.length;
    const auto& runs = trial_.runs();
    const auto count = static_cast<int64_t>(runs.size());
    const int64_t first = Draw(count);
    const int64_t head = Draw(p_.heads);
    const int64_t h = shape[1] == p_.heads ? head : head / p_.group();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t run = (first + i) % count;
      const auto& at = runs[static_cast<size_t>(run)];
      const int64_t length = at.end - at.first;
      const int64_t start = length > 1 ? Draw(length - 1) : 0;
      for (int64_t j = 0; j + 1 < length; ++j) {
        const int64_t t = at.first + 1 + (start + j) % (length - 1);
        bool same = true;
        for (int64_t r = 0; r < ranks; ++r) {
          same = same && SameLines(x, {at.row, h, t * ranks + r},
                                   {at.row, h, (t - 1) * ranks + r});
        }
        if (same) continue;
        const int64_t row = at.row;
        Plant(kind,
              std::string(name) + " of token " + std::to_string(t) +
                  " is that of the token before",
              run, head, [=](Mamba3ScanData* data) {
                for (int64_t r = 0; r < ranks; ++r) {
                  CopyLine(data->at(tensor), {row, h, t * ranks + r},
                           {row, h, (t - 1) * ranks + r});
                }
              });
        return;
      }
    }
  }

  // A run with tokens, drawn; -1: there is none.
  int64_t AnyRun() {
    const auto& runs = trial_.runs();
    const auto count = static_cast<int64_t>(runs.size());
    const int64_t first = Draw(count);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t run = (first + i) % count;
      const auto& at = runs[static_cast<size_t>(run)];
      if (at.end > at.first) return run;
    }
    return -1;
  }

  // Parameters of another head, or where all are alike, of the next channel;
  // where there is but one number, nothing.
  void OfParameters(T tensor, const char* kind, const char* name) {
    const ScanStorage& x = At(tensor);
    const int64_t run = AnyRun();
    if (!x.there() || run < 0) return;
    const auto shape = x.tensor.view.shape;
    const int64_t head = Draw(p_.heads);
    for (int64_t i = 1; i < p_.heads; ++i) {
      const int64_t other = (head + i) % p_.heads;
      bool same = true;
      for (int64_t r = 0; r < shape[2]; ++r) {
        same = same && SameLines(x, {0, head, r}, {0, other, r});
      }
      if (same) continue;
      Plant(kind,
            std::string(name) + " of head " + std::to_string(head) +
                " is that of head " + std::to_string(other),
            run, head, [=](Mamba3ScanData* data) {
              for (int64_t r = 0; r < shape[2]; ++r) {
                CopyLine(data->at(tensor), {0, head, r}, {0, other, r});
              }
            });
      return;
    }
    Plant(kind,
          std::string(name) + " of head " + std::to_string(head) +
              (shape[3] > 1 ? " is shifted by one channel" : " is missing"),
          run, head, [=](Mamba3ScanData* data) {
            const ScanStorage& y = data->at(tensor);
            for (int64_t r = 0; r < shape[2]; ++r) {
              const Line line = {0, head, r};
              const uint32_t last = BitsAt(y, line, shape[3] - 1);
              for (int64_t c = shape[3] - 1; c > 0; --c) {
                SetElement(y.tensor.view, {0, head, r, c},
                           BitsAt(y, line, c - 1));
              }
              SetElement(y.tensor.view, {0, head, r, 0},
                         shape[3] > 1 ? last : 0);
            }
          });
  }

  // A whole head, group or batch row from another one: axis 1 or 0.
  void OfPlaces(T tensor, size_t axis, const char* kind, const char* name) {
    const ScanStorage& x = At(tensor);
    const int64_t run = AnyRun();
    const auto shape = x.tensor.view.shape;
    if (run < 0 || shape[axis] < 2) return;
    const int64_t head = Draw(p_.heads);
    const auto& at = trial_.runs()[static_cast<size_t>(run)];
    Line to = {at.row, shape[1] == p_.heads ? head : head / p_.group(), 0};
    Line from = to;
    from[axis] = (to[axis] + 1 + Draw(shape[axis] - 1)) % shape[axis];
    Plant(kind,
          std::string(name) + " " + std::to_string(to[axis]) + " is that of " +
              std::to_string(from[axis]),
          run, head, [=](Mamba3ScanData* data) {
            for (int64_t t = 0; t < shape[2]; ++t) {
              CopyLine(data->at(tensor), {to[0], to[1], t},
                       {from[0], from[1], t});
            }
          });
  }

  // Two neighbouring channels of a head change places in every token.
  void OfChannels(T tensor, const char* kind, const char* name) {
    const ScanStorage& x = At(tensor);
    const auto shape = x.tensor.view.shape;
    const int64_t run = AnyRun();
    if (run < 0 || shape[3] < 2) return;
    const int64_t head = Draw(p_.heads);
    const int64_t h = shape[1] == p_.heads ? head : head / p_.group();
    const int64_t c = Draw(shape[3] - 1);
    const int64_t row = trial_.runs()[static_cast<size_t>(run)].row;
    Plant(kind,
          std::string(name) + ": channels " + std::to_string(c) + " and " +
              std::to_string(c + 1) + " change places",
          run, head, [=](Mamba3ScanData* data) {
            const ScanStorage& y = data->at(tensor);
            for (int64_t t = 0; t < shape[2]; ++t) {
              const Line line = {row, h, t};
              const uint32_t one = BitsAt(y, line, c);
              SetElement(y.tensor.view, {row, h, t, c}, BitsAt(y, line, c + 1));
              SetElement(y.tensor.view, {row, h, t, c + 1}, one);
            }
          });
  }

  // k of one rank is that of another, in every token.
  void OfRanks() {
    const int64_t run = AnyRun();
    if (run < 0) return;
    const int64_t head = Draw(p_.heads);
    const int64_t to = Draw(p_.ranks);
    const int64_t from = (to + 1 + Draw(p_.ranks - 1)) % p_.ranks;
    const int64_t ranks = p_.ranks;
    const int64_t length = p_.length;
    const int64_t row = trial_.runs()[static_cast<size_t>(run)].row;
    const int64_t g = head / p_.group();
    Plant("rank",
          "k of rank " + std::to_string(to) + " is that of rank " +
              std::to_string(from),
          run, head, [=](Mamba3ScanData* data) {
            for (int64_t t = 0; t < length; ++t) {
              CopyLine(data->at(T::kK), {row, g, t * ranks + to},
                       {row, g, t * ranks + from});
            }
          });
  }

  // The carry of another run, or where there is but one, zeros. `theta`: the
  // first of its four tensors.
  void OfCarries(T theta, const char* kind, const char* how) {
    const auto count = static_cast<int64_t>(trial_.runs().size());
    const int64_t run = Draw(count);
    const int64_t head = Draw(p_.heads);
    const int64_t other = count > 1 ? (run + 1 + Draw(count - 1)) % count : -1;
    Plant(kind,
          "run " + std::to_string(run) + " " + how + " " +
              (other < 0 ? "zeros" : "the carry of " + std::to_string(other)),
          run, head, [=](Mamba3ScanData* data) {
            for (size_t part = 0; part < 4; ++part) {
              const ScanStorage& x =
                  data->storage[static_cast<size_t>(theta) + part];
              if (!x.there()) continue;
              const auto& shape = x.tensor.view.shape;
              for (int64_t h = 0; h < shape[1]; ++h) {
                for (int64_t i = 0; i < shape[2]; ++i) {
                  if (other >= 0) {
                    CopyLine(x, {run, h, i}, {other, h, i});
                    continue;
                  }
                  for (int64_t c = 0; c < shape[3]; ++c) {
                    SetElement(x.tensor.view, {run, h, i, c}, 0);
                  }
                }
              }
            }
          });
  }

  // A run goes on where the one before it in its row has ended.
  void OfRuns() {
    const auto& runs = trial_.runs();
    const auto count = static_cast<int64_t>(runs.size());
    const int64_t start = Draw(count);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t run = (start + i) % count;
      const auto& at = runs[static_cast<size_t>(run)];
      if (at.first == 0 || at.first == at.end) continue;
      PlantedFault fault;
      fault.kind = "run";
      fault.what = "run " + std::to_string(run) + " goes on from token " +
                   std::to_string(at.first - 1);
      fault.rows = {trial_.RowOf(run, Draw(p_.heads))};
      const RunsTrial* trial = &trial_;
      fault.row = [trial](int64_t row, RowBits* bits) {
        const Mamba3ScanData& own = trial->data();
        trial->RowBy({own.problem, own.inputs, own, true}, row, bits);
      };
      faults_.push_back(std::move(fault));
      return;
    }
  }

  const RunsTrial& trial_;
  const Mamba3ScanProblem& p_;
  uint64_t salt_;
  std::vector<PlantedFault> faults_;
};

std::vector<PlantedFault> RunsTrial::PlantFaults(uint64_t salt) const {
  return ScanFaultPlanter(*this, salt).Run();
}

}  // namespace lockstep::verify
