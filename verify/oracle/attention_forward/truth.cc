#include "verify/oracle/attention_forward/truth.h"

#include <algorithm>
#include <utility>

#include "reference/contract/team.h"
#include "verify/oracle/attention_forward/packed_head.h"
#include "verify/oracle/attention_forward/tile.h"
#include "verify/oracle/attention_forward/visibility.h"
#include "verify/oracle/elementary.h"
#include "verify/oracle/kernels.h"

namespace lockstep::oracle {
namespace {

constexpr double kUnit = 0x1p-53;

// The oracle is itself a computation of this model: its own coefficients.
WeightModel WithOwnError(WeightModel m, int64_t head_dim) {
  m.constant += 4 * kExpError;
  m.product += static_cast<double>(head_dim + 4) * kUnit;
  m.argument += 8 * kUnit;
  m.score += 2 * kTanhError;
  m.distance += 4 * kUnit;
  return m;
}

AttentionTruth Room(const TruthRequest& request, size_t rows,
                    int64_t value_dim) {
  AttentionTruth truth;
  truth.likely = request.likely;
  truth.value_dim = request.sizes ? 2 * value_dim : value_dim;
  truth.rows.resize(rows);
  for (auto* x : {&truth.o, &truth.abs_sum, &truth.phi_sum, &truth.spread_sum,
                  &truth.square_sum}) {
    x->resize(rows * Size(truth.value_dim));
  }
  return truth;
}

// Where the next (b, h) begins.
size_t EndOfHead(const std::vector<int64_t>& rows, size_t begin,
                 int64_t q_len) {
  const int64_t head = rows[begin] / q_len;
  return Size(std::lower_bound(rows.begin() + static_cast<int64_t>(begin),
                               rows.end(), (head + 1) * q_len) -
              rows.begin());
}

}  // namespace

AttentionTruth ComputeTruth(const AttentionForwardProblem& problem,
                            const AttentionForwardInputs& inputs,
                            const ErrorModel& model,
                            const TruthOptions& options) {
  const TruthRequest request = {.model = model};
  return std::move(ComputeTruths(problem, inputs, {&request, 1}, options)[0]);
}

std::vector<AttentionTruth> ComputeTruths(
    const AttentionForwardProblem& problem,
    const AttentionForwardInputs& inputs,
    std::span<const TruthRequest> requests, const TruthOptions& options) {
  std::vector<int64_t> all;
  if (options.rows == nullptr) {
    all.resize(Size(problem.batch * problem.q_heads * problem.q_len));
    for (size_t r = 0; r < all.size(); ++r) all[r] = static_cast<int64_t>(r);
  }
  const std::vector<int64_t>& rows = options.rows ? *options.rows : all;
  std::vector<TruthRequest> with_own(requests.begin(), requests.end());
  std::vector<AttentionTruth> truths;
  for (TruthRequest& request : with_own) {
    request.model.bound = WithOwnError(request.model.bound, problem.head_dim);
    truths.push_back(Room(request, rows.size(), problem.value_dim));
  }
  const Visibility visibility(problem, inputs);
  const Kernels& kernels = KernelsOf(options.target);
  const int threads = options.threads > 0 ? options.threads : DefaultThreads();
  PackedHead packed;
  int64_t packed_head = -1;
  for (size_t begin = 0; begin < rows.size();) {
    const size_t end = EndOfHead(rows, begin, problem.q_len);
    const int64_t flat = rows[begin] / problem.q_len;
    const int64_t b = flat / problem.q_heads;
    const int64_t kv = flat % problem.q_heads / problem.group();
    if (packed_head != b * problem.kv_heads + kv) {
      packed_head = b * problem.kv_heads + kv;
      packed = Pack(problem, inputs, b, kv);
    }
    const auto tiles =
        static_cast<int64_t>((end - begin + kTileRows - 1) / kTileRows);
    // Tiles are independent (N16): threads never change a bit.
    const auto run = [&](int64_t n, Tile* tile) {
      const size_t first = begin + Size(n) * kTileRows;
      const size_t count = std::min(kTileRows, end - first);
      tile->Run(packed, {&rows[first], count}, first, truths);
    };
    ForEach(
        tiles, tiles > 1 ? threads : 1,
        [&](int) {
          return Tile(problem, inputs, with_own, kernels, visibility);
        },
        [&](int64_t n, Tile& tile) { run(n, &tile); });
    begin = end;
  }
  return truths;
}

}  // namespace lockstep::oracle
