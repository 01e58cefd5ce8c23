#include "optimized/packed_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::optimized {
namespace {

Status Broken(int64_t row, int64_t token, const std::string& what) {
  return Status::Error("row " + std::to_string(row) + " token " +
                       std::to_string(token) + ": " + what);
}

// Refuses ids of row `b` that come back or fall. Its runs lie by position and
// hold no padding.
Status CheckDocuments(int64_t b, const std::vector<IdRun>& runs) {
  for (size_t n = 1; n < runs.size(); ++n) {
    if (runs[n].id > runs[n - 1].id) continue;
    const std::string id = "id " + std::to_string(runs[n].id);
    const int64_t at = runs[n].tokens.begin;
    const auto here = runs.begin() + static_cast<std::ptrdiff_t>(n);
    const bool back =
        std::ranges::find(runs.begin(), here, runs[n].id, &IdRun::id) != here;
    return Broken(b, at,
                  back ? id + " comes back; a document is one run"
                       : id + " follows " + std::to_string(runs[n - 1].id) +
                             "; ids of packed documents rise (padding: --pad)");
  }
  return {};
}

Status CheckCounts(int64_t b, int64_t length, int64_t valid, int64_t documents,
                   const PackedCounts& counts) {
  const auto row = static_cast<size_t>(b);
  const auto differ = [&](const char* name, int64_t said, int64_t found) {
    return Status::Error("row " + std::to_string(b) + ": " + name + " is " +
                         std::to_string(said) + ", the ids have " +
                         std::to_string(found));
  };
  if (!counts.valid.empty() && counts.valid[row] != valid) {
    return differ("valid", counts.valid[row], valid);
  }
  if (!counts.documents.empty() && counts.documents[row] != documents) {
    return differ("num_docs", counts.documents[row], documents);
  }
  for (int64_t t = valid; !counts.loss_mask.empty() && t < length; ++t) {
    if (counts.loss_mask[static_cast<size_t>(b * length + t)] == 0) continue;
    return Broken(b, t, "padding has a loss; loss_mask must be 0 there");
  }
  return {};
}

}  // namespace

std::vector<IdRun> RunsOf(const TensorView<const int32_t, 2>& ids,
                          int64_t batch) {
  std::vector<IdRun> runs;
  for (int64_t t = 0; t < ids.shape[1]; ++t) {
    const int32_t id = ids(batch, t);
    if (runs.empty() || runs.back().id != id) runs.push_back({id, {t, t}});
    runs.back().tokens.end = t + 1;
  }
  return runs;
}

int64_t JoinSegments(std::vector<IdRun>* runs) {
  std::ranges::stable_sort(*runs, {}, &IdRun::id);
  int64_t segments = 0;
  for (size_t n = 0; n < runs->size(); ++n) {
    segments += n == 0 || (*runs)[n].id != (*runs)[n - 1].id;
  }
  return segments;
}

Status CheckPacked(const TensorView<const int32_t, 2>& ids,
                   std::optional<int32_t> pad, const PackedCounts& counts) {
  const int64_t length = ids.shape[1];
  for (int64_t b = 0; b < ids.shape[0]; ++b) {
    std::vector<IdRun> runs = RunsOf(ids, b);
    int64_t valid = length;
    for (size_t n = 0; n < runs.size(); ++n) {
      if (runs[n].id != pad) continue;
      valid = runs[n].tokens.begin;
      if (n + 1 < runs.size()) {
        return Broken(b, runs[n].tokens.end,
                      "id " + std::to_string(runs[n + 1].id) +
                          " follows padding, which comes last");
      }
      runs.pop_back();
    }
    const auto documents = static_cast<int64_t>(runs.size());
    Status status = CheckDocuments(b, runs);
    if (status.ok()) status = CheckCounts(b, length, valid, documents, counts);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace lockstep::optimized
