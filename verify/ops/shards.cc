#include "verify/ops/shards.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "verify/base/compare.h"
#include "verify/base/elements.h"
#include "verify/base/status_macros.h"

namespace lockstep::verify {

Result<Shards> TrialLaws::MakeShards(const ShardsAsked& asked) const {
  return Status::Error("shard=" + FormatShard(asked.shard) +
                       ": the op is not cut so");
}

std::vector<OutputSpec> PartsOf(std::vector<OutputSpec> outputs,
                                int64_t count) {
  for (OutputSpec& spec : outputs) {
    spec.shape = {count, 1, spec.lines(), spec.shape[3]};
    spec.strides.reset();
  }
  return outputs;
}

Result<OutputSet> AllocateAnswers(const Shards& shards, const Trial& whole) {
  if (!shards.merge) return whole.Allocate(0);
  OutputSet answers;
  for (const OutputSpec& spec : shards.parts) {
    ASSIGN_OR_RETURN(
        LaneTensor tensor,
        AllocateLaneTensor(spec.lane, spec.shape, DenseStrides(spec.shape), 0));
    if (spec.axes[3] == nullptr) {
      std::fill_n(static_cast<float*>(tensor.view.data), spec.lines(),
                  -std::numeric_limits<float>::infinity());
    }
    answers.tensors.push_back(std::move(tensor));
  }
  return answers;
}

void CopyKept(const LawCall& call, const OutputSet& answer, int64_t part,
              const OutputSet& to) {
  for (size_t t = 0; t < call.kept.size(); ++t) {
    const LaneView from = answer.tensors[t].const_view();
    const MutableLaneView& view = to.tensors[t].view;
    const auto& n = view.shape;
    for (const LinePair& pair : call.kept[t]) {
      At here = LineIndex(call.trial->outputs()[t], pair.here, 0);
      At at = {part + pair.own / (n[1] * n[2]), pair.own / n[2] % n[1],
               pair.own % n[2], 0};
      for (; at[3] < n[3]; ++at[3], ++here[3]) {
        SetElement(view, at, ElementBits(from, here));
      }
    }
  }
}

ShardRange RangeOfShard(int64_t n, int64_t count, int64_t length) {
  const int64_t width = ShardWidth(length, count);
  return {std::min(n * width, length), std::min((n + 1) * width, length)};
}

std::string NameShard(int64_t n, int64_t count, const std::string& holds) {
  return "shard " + std::to_string(n + 1) + " of " + std::to_string(count) +
         ": " + holds;
}

std::string NameRange(const std::string& one, const ShardRange& range) {
  const std::string more = one == "query" ? "queries" : one + "s";
  if (range.empty()) return "no " + more;
  if (range.end - range.begin == 1) {
    return one + " " + std::to_string(range.begin);
  }
  return more + " " + std::to_string(range.begin) + " to " +
         std::to_string(range.end - 1);
}

}  // namespace lockstep::verify
