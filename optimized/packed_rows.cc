#include "optimized/packed_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::optimized {
namespace {

Status Broken(const char* rule, int64_t row, const std::string& what) {
  return Status::Error(std::string("packed rows: ") + rule + ": row " +
                       std::to_string(row) + ": " + what);
}

Status CheckShapes(const PackedRows& rows) {
  const auto batch = static_cast<size_t>(rows.doc_ids.shape[0]);
  const auto error = [](const std::string& what) {
    return Status::Error("packed rows: V7: " + what);
  };
  if (!rows.doc_ids.data) return error("no doc_ids");
  if (rows.valid.size() != batch) {
    return error("valid has " + std::to_string(rows.valid.size()) +
                 " counts for " + std::to_string(batch) + " rows");
  }
  if (!rows.num_docs.empty() && rows.num_docs.size() != batch) {
    return error("num_docs has " + std::to_string(rows.num_docs.size()) +
                 " counts for " + std::to_string(batch) + " rows");
  }
  if (rows.loss_mask.data && rows.loss_mask.shape != rows.doc_ids.shape) {
    return error("loss_mask has another shape than doc_ids");
  }
  return Status();
}

Status CheckPadding(const PackedRows& rows, int64_t b) {
  const int64_t length = rows.doc_ids.shape[1];
  const int64_t valid = rows.valid[static_cast<size_t>(b)];
  if (valid < 0 || valid > length) {
    return Broken("V1", b,
                  "valid=" + std::to_string(valid) + " is out of 0.." +
                      std::to_string(length));
  }
  for (int64_t t = 0; t < length; ++t) {
    const int32_t id = rows.doc_ids(b, t);
    if (t < valid ? id < 0 : id != kNoDocument) {
      return Broken("V2", b,
                    "token " + std::to_string(t) + " has id " +
                        std::to_string(id) + "; valid tokens are " +
                        std::to_string(valid));
    }
    if (t >= valid && rows.loss_mask.data && rows.loss_mask(b, t) != 0) {
      return Broken("V6", b,
                    "padding token " + std::to_string(t) + " has a loss");
    }
  }
  return Status();
}

Status CheckDocuments(const PackedRows& rows, int64_t b, RepeatedIds repeated) {
  std::set<int32_t> ids;
  const int64_t valid = rows.valid[static_cast<size_t>(b)];
  for (int64_t t = 0; t < valid; ++t) {
    const int32_t id = rows.doc_ids(b, t);
    const bool starts = t == 0 || id != rows.doc_ids(b, t - 1);
    const bool fresh = ids.insert(id).second;
    if (!starts || repeated != RepeatedIds::kRefuse) continue;
    const std::string where =
        "token " + std::to_string(t) + " has id " + std::to_string(id) + " ";
    if (!fresh) return Broken("V4", b, where + "again, after another");
    if (t > 0 && id < rows.doc_ids(b, t - 1)) {
      return Broken("V3", b,
                    where + "after " + std::to_string(rows.doc_ids(b, t - 1)));
    }
  }
  if (rows.num_docs.empty()) return Status();
  const int64_t said = rows.num_docs[static_cast<size_t>(b)];
  if (said == static_cast<int64_t>(ids.size())) return Status();
  return Broken("V5", b,
                "num_docs=" + std::to_string(said) + ", the row has " +
                    std::to_string(ids.size()));
}

// Segments of the valid tokens of one row; an id that was seen before keeps
// its number.
std::vector<int32_t> MergedOf(std::span<const int32_t> doc_ids) {
  std::map<int32_t, int32_t> numbers;
  std::vector<int32_t> segments;
  for (const int32_t id : doc_ids) {
    const auto next = static_cast<int32_t>(numbers.size());
    segments.push_back(numbers.emplace(id, next).first->second);
  }
  return segments;
}

}  // namespace

Status ValidatePackedRows(const PackedRows& rows, RepeatedIds repeated) {
  Status status = CheckShapes(rows);
  for (int64_t b = 0; status.ok() && b < rows.doc_ids.shape[0]; ++b) {
    status = CheckPadding(rows, b);
    if (status.ok()) status = CheckDocuments(rows, b, repeated);
  }
  return status;
}

Result<SegmentIds> SegmentsOf(const PackedRows& rows, RepeatedIds repeated) {
  const Status status = ValidatePackedRows(rows, repeated);
  if (!status.ok()) return status;
  SegmentIds result;
  for (int64_t b = 0; b < rows.doc_ids.shape[0]; ++b) {
    const int64_t valid = rows.valid[static_cast<size_t>(b)];
    std::vector<int32_t> documents;
    for (int64_t t = 0; t < valid; ++t) documents.push_back(rows.doc_ids(b, t));
    const std::vector<int32_t> segments = repeated == RepeatedIds::kMerge
                                              ? MergedOf(documents)
                                              : RunsOf(documents);
    int32_t count = 0;
    for (const int32_t segment : segments) count = std::max(count, segment + 1);
    const auto padding = static_cast<size_t>(rows.doc_ids.shape[1] - valid);
    for (auto* ids : {&result.q, &result.kv}) {
      ids->insert(ids->end(), segments.begin(), segments.end());
      ids->insert(ids->end(), padding,
                  ids == &result.q ? kQueryPadding : kKeyPadding);
    }
    result.valid.push_back(valid);
    result.num_segments.push_back(count);
  }
  return result;
}

Status CheckIdsFit(const SegmentIds& ids, int bytes) {
  const int64_t most = (int64_t{1} << (8 * bytes - 1)) - 1;
  for (size_t b = 0; b < ids.num_segments.size(); ++b) {
    if (ids.num_segments[b] - int64_t{1} <= most) continue;
    return Status::Error("V8: row " + std::to_string(b) + " has " +
                         std::to_string(ids.num_segments[b]) +
                         " segments; ids of " + std::to_string(bytes) +
                         " bytes tell " + std::to_string(most + 1) + " apart");
  }
  return Status();
}

std::vector<int32_t> RunsOf(std::span<const int32_t> doc_ids) {
  std::vector<int32_t> segments;
  for (size_t t = 0; t < doc_ids.size(); ++t) {
    const bool starts = t > 0 && doc_ids[t] != doc_ids[t - 1];
    segments.push_back(t == 0 ? 0 : segments[t - 1] + (starts ? 1 : 0));
  }
  return segments;
}

std::vector<int32_t> DocumentsFromStarts(std::span<const uint8_t> is_start) {
  std::vector<int32_t> documents;
  int32_t count = 0;
  for (const uint8_t start : is_start) {
    count += start != 0;
    documents.push_back(count);
  }
  return documents;
}

}  // namespace lockstep::optimized
