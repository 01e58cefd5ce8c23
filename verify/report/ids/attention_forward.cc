#include "verify/report/ids/attention_forward.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "optimized/packed_rows.h"
#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward_file.h"

namespace lockstep::verify {
namespace {

using optimized::IdRun;

// What a list names, and cells of a picture's side.
constexpr size_t kListed = 12;
constexpr size_t kIdCells = 32;

int64_t Length(const IdRun& run) { return run.tokens.end - run.tokens.begin; }

std::string Tokens(int64_t count) {
  return std::to_string(count) + (count == 1 ? " token" : " tokens");
}

std::string Place(const IdRun& run) {
  const std::string first = std::to_string(run.tokens.begin);
  return run.tokens.end == run.tokens.begin + 1
             ? first
             : first + " to " + std::to_string(run.tokens.end - 1);
}

// "id 7 comes back: its tokens 0 to 3 and 8 are one document", of runs by id.
std::string ComingBack(const std::vector<IdRun>& by_id) {
  std::string text;
  size_t returning = 0;
  for (size_t at = 0, end = 0; at < by_id.size(); at = end) {
    while (end < by_id.size() && by_id[end].id == by_id[at].id) ++end;
    if (end - at < 2 || ++returning > kListed) continue;
    text +=
        "       id " + std::to_string(by_id[at].id) + " comes back: tokens ";
    for (size_t n = at; n < std::min(end, at + kListed); ++n) {
      text += (n > at ? ", " : "") + Place(by_id[n]);
    }
    text +=
        end - at > kListed ? ", ... are one document\n" : " are one document\n";
  }
  if (returning > kListed) {
    text += "       " + std::to_string(returning - kListed) +
            " more ids come back\n";
  }
  return text;
}

// '#': all pairs of a cell see each other, '+': some, '.': none.
std::string Picture(const std::vector<IdRun>& by_id, size_t tokens) {
  const size_t step = std::max<size_t>((tokens + kIdCells - 1) / kIdCells, 1);
  const size_t cells = (tokens + step - 1) / step;
  std::array<std::array<size_t, kIdCells>, kIdCells> seen{};  // pairs
  for (auto at = by_id.begin(); at != by_id.end();) {
    std::array<size_t, kIdCells> own{};  // tokens of this id
    const int32_t id = at->id;
    for (; at != by_id.end() && at->id == id; ++at) {
      for (int64_t t = at->tokens.begin; t < at->tokens.end; ++t) {
        ++own[static_cast<size_t>(t) / step];
      }
    }
    for (size_t q = 0; q < cells; ++q) {
      for (size_t k = 0; own[q] > 0 && k < cells; ++k)
        seen[q][k] += own[q] * own[k];
    }
  }
  const auto size = [&](size_t n) { return std::min(step, tokens - n * step); };
  std::string text;
  for (size_t q = 0; q < cells; ++q) {
    text += "       ";
    for (size_t k = 0; k < cells; ++k) {
      text += seen[q][k] == 0                   ? '.'
              : seen[q][k] == size(q) * size(k) ? '#'
                                                : '+';
    }
    text += "\n";
  }
  if (step > 1) {
    text += "       each cell " + std::to_string(step) + " x " +
            std::to_string(step) + " tokens\n";
  }
  return text;
}

// Padding that is not said to be any sees itself, in one document.
std::string Hint(const std::vector<IdRun>& runs) {
  const IdRun& last = runs.back();
  const bool others = std::any_of(runs.begin(), runs.end(),
                                  [](const IdRun& run) { return run.id > 0; });
  if (last.id > 0 || !others) return "";
  const std::string id = std::to_string(last.id);
  return "       tokens " + Place(last) + " have the id " + id +
         ": if they are padding, say --pad " + id + "\n";
}

std::string RowText(const IdRows& ids, int64_t row) {
  std::vector<IdRun> runs = optimized::RunsOf(ids.view(), row);
  const std::string hint = ids.pad ? "" : Hint(runs);
  int64_t padding = 0;
  for (const IdRun& run : runs) padding += run.id == ids.pad ? Length(run) : 0;
  std::erase_if(runs, [&](const IdRun& run) { return run.id == ids.pad; });
  std::string listed;
  for (size_t n = 0; n < std::min(runs.size(), kListed); ++n) {
    listed += (n > 0 ? ", " : " ") + ("id " + std::to_string(runs[n].id)) +
              " has " + Tokens(Length(runs[n]));
  }
  if (runs.size() > kListed) {
    listed += " and " + std::to_string(runs.size() - kListed) + " more";
  }
  const int64_t documents = optimized::JoinSegments(&runs);
  std::string text = "row " + std::to_string(row) + "  " +
                     std::to_string(documents) +
                     (documents == 1 ? " document:" : " documents:") + listed +
                     "\n" + ComingBack(runs);
  if (padding > 0) {
    text += "       padding: " + Tokens(padding) +
            ", which see nothing and which nothing sees\n";
  }
  return text + hint + Picture(runs, static_cast<size_t>(ids.tokens));
}

// Integers or booleans of shape [b] or [b, s]; none if the file has no such
// tensor.
Result<std::vector<int64_t>> NumbersOf(const SafetensorsFile& file,
                                       const std::string& name,
                                       const std::vector<int64_t>& shape) {
  std::vector<int64_t> numbers;
  const SafetensorsTensor* found = file.Find(name);
  if (found == nullptr) return numbers;
  const std::string& type = found->type;
  const bool fits =
      found->shape == shape ||
      (shape.front() == 1 &&
       found->shape == std::vector<int64_t>{shape.back()});  // of one row
  const bool whole = type == "I64" || type == "I32" || type == "U8";
  if ((!whole && type != "BOOL") || !fits) {
    return Status::Error(file.path() + ": tensor '" + name + "' is " + type +
                         "; want I64, I32, U8 or BOOL, a number " +
                         (shape.size() == 1 ? "a row" : "a token"));
  }
  const auto size = static_cast<size_t>(SafetensorsTypeBytes(type));
  for (size_t at = 0; at < found->bytes.size(); at += size) {
    int64_t number = 0;
    std::memcpy(&number, found->bytes.data() + at, size);
    numbers.push_back(type == "I32" ? static_cast<int32_t>(number) : number);
  }
  return numbers;
}

// An id that no query has.
int32_t FreeId(const IdRows& ids) {
  std::vector<int32_t> taken = ids.ids;
  std::sort(taken.begin(), taken.end());
  int32_t free = INT32_MIN;
  for (const int32_t id : taken) free += id == free ? 1 : 0;
  return free;
}

}  // namespace

Result<IdRows> ReadIdRows(const SafetensorsFile& file,
                          std::optional<int32_t> pad) {
  const SafetensorsTensor* found = file.Find("q_seg");
  if (found == nullptr && file.tensors().size() == 1) {
    found = &file.tensors()[0];
  }
  const size_t rank = found == nullptr ? 0 : found->shape.size();
  const std::array<int64_t, 2> shape = {
      rank == 2 ? found->shape[0] : 1,
      rank == 1 || rank == 2 ? found->shape[rank - 1] : 0};
  IdRows ids{{}, shape[0], shape[1], pad};
  ids.ids.resize(static_cast<size_t>(shape[0] * shape[1]));
  RETURN_IF_ERROR(CopySegmentIds(file, "q_seg", shape, ids.ids.data()));
  if (!ids.ids.empty()) return ids;
  return Status::Error(file.path() + ": no ids, of no tokens");
}

Status CheckPackedRows(const SafetensorsFile& file, const IdRows& ids) {
  const std::vector<int64_t> tokens = {ids.batch, ids.tokens};
  optimized::PackedCounts counts;
  ASSIGN_OR_RETURN(counts.valid, NumbersOf(file, "valid", {ids.batch}));
  ASSIGN_OR_RETURN(counts.documents, NumbersOf(file, "num_docs", {ids.batch}));
  ASSIGN_OR_RETURN(counts.loss_mask, NumbersOf(file, "loss_mask", tokens));
  const Status packed = optimized::CheckPacked(ids.view(), ids.pad, counts);
  return packed.ok() ? packed
                     : Status::Error(file.path() + ": " + packed.message());
}

std::string IdsText(const IdRows& ids) {
  std::string text;
  for (int64_t b = 0; b < ids.batch; ++b) text += RowText(ids, b);
  return text;
}

Status WriteIds(const std::string& path, const IdRows& ids) {
  const int32_t free = FreeId(ids);
  std::vector<int32_t> kv = ids.ids;
  for (int32_t& id : kv) id = id == ids.pad ? free : id;
  const std::vector<int64_t> shape = {ids.batch, ids.tokens};
  const auto bytes = [](const std::vector<int32_t>& x) {
    return std::span(reinterpret_cast<const uint8_t*>(x.data()), x.size() * 4);
  };
  return WriteSafetensors(path,
                          {{"q_seg", "I32", shape, bytes(ids.ids)},
                           {"kv_seg", "I32", shape, bytes(kv)}},
                          {});
}

}  // namespace lockstep::verify
