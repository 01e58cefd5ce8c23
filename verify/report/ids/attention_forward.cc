#include "verify/report/ids/attention_forward.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward_file.h"

namespace lockstep::verify {
namespace {

// What a list names, and cells of a picture's side.
constexpr size_t kListed = 12;
constexpr size_t kIdCells = 32;

struct IdRun {
  int32_t id = 0;
  int64_t first = 0, end = 0;  // tokens
};

std::vector<IdRun> RunsOf(const std::vector<int32_t>& row) {
  std::vector<IdRun> runs;
  for (size_t i = 0; i < row.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (runs.empty() || runs.back().id != row[i])
      runs.push_back({row[i], at, at});
    runs.back().end = at + 1;
  }
  return runs;
}

std::string Tokens(int64_t count) {
  return std::to_string(count) + (count == 1 ? " token" : " tokens");
}

std::string Place(const IdRun& run) {
  const std::string first = std::to_string(run.first);
  return run.end == run.first + 1
             ? first
             : first + " to " + std::to_string(run.end - 1);
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
std::string Picture(const std::vector<int32_t>& row,
                    const std::optional<int32_t>& pad) {
  const size_t tokens = row.size();
  const size_t step = std::max<size_t>((tokens + kIdCells - 1) / kIdCells, 1);
  const size_t cells = (tokens + step - 1) / step;
  std::vector<std::pair<int32_t, size_t>> places;  // id, cell
  for (size_t i = 0; i < tokens; ++i) {
    if (row[i] != pad) places.emplace_back(row[i], i / step);
  }
  std::sort(places.begin(), places.end());
  std::array<std::array<size_t, kIdCells>, kIdCells> seen{};  // pairs
  for (auto at = places.begin(); at != places.end();) {
    std::array<size_t, kIdCells> own{};  // tokens of this id
    const int32_t id = at->first;
    for (; at != places.end() && at->first == id; ++at) ++own[at->second];
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

std::string RowText(size_t number, const std::vector<int32_t>& row,
                    const std::optional<int32_t>& pad) {
  std::vector<IdRun> runs = RunsOf(row);
  const std::string hint = pad || runs.empty() ? "" : Hint(runs);
  int64_t padding = 0;
  for (const IdRun& run : runs)
    padding += run.id == pad ? run.end - run.first : 0;
  std::erase_if(runs, [&](const IdRun& run) { return run.id == pad; });
  std::string listed;
  for (size_t n = 0; n < std::min(runs.size(), kListed); ++n) {
    listed += (n > 0 ? ", " : " ") + ("id " + std::to_string(runs[n].id)) +
              " has " + Tokens(runs[n].end - runs[n].first);
  }
  if (runs.size() > kListed) {
    listed += " and " + std::to_string(runs.size() - kListed) + " more";
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto& a, const auto& b) { return a.id < b.id; });
  int64_t documents = 0;
  for (size_t n = 0; n < runs.size(); ++n) {
    documents += n == 0 || runs[n].id != runs[n - 1].id ? 1 : 0;
  }
  std::string text = "row " + std::to_string(number) + "  " +
                     std::to_string(documents) +
                     (documents == 1 ? " document:" : " documents:") + listed +
                     "\n" + ComingBack(runs);
  if (padding > 0) {
    text += "       padding: " + Tokens(padding) +
            ", which see nothing and which nothing sees\n";
  }
  return text + hint + Picture(row, pad);
}

// An id that no query has.
int32_t FreeId(const IdRows& ids) {
  std::vector<int32_t> taken;
  for (const auto& row : ids.rows)
    taken.insert(taken.end(), row.begin(), row.end());
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
  std::vector<int32_t> all(static_cast<size_t>(shape[0] * shape[1]));
  RETURN_IF_ERROR(CopySegmentIds(file, "q_seg", shape, all.data()));
  if (all.empty()) return Status::Error(file.path() + ": no ids, of no tokens");
  IdRows ids{{}, pad};
  for (int64_t b = 0; b < shape[0]; ++b) {
    ids.rows.emplace_back(all.begin() + b * shape[1],
                          all.begin() + (b + 1) * shape[1]);
  }
  return ids;
}

std::string IdsText(const IdRows& ids) {
  std::string text;
  for (size_t b = 0; b < ids.rows.size(); ++b) {
    text += RowText(b, ids.rows[b], ids.pad);
  }
  return text;
}

Status WriteIds(const std::string& path, const IdRows& ids) {
  const int32_t free = FreeId(ids);
  std::vector<int32_t> q, kv;
  for (const auto& row : ids.rows) {
    q.insert(q.end(), row.begin(), row.end());
    for (const int32_t id : row) kv.push_back(id == ids.pad ? free : id);
  }
  const std::vector<int64_t> shape = {std::ssize(ids.rows),
                                      std::ssize(ids.rows[0])};
  const auto bytes = [](const std::vector<int32_t>& x) {
    return std::span(reinterpret_cast<const uint8_t*>(x.data()), x.size() * 4);
  };
  return WriteSafetensors(
      path,
      {{"q_seg", "I32", shape, bytes(q)}, {"kv_seg", "I32", shape, bytes(kv)}},
      {});
}

}  // namespace lockstep::verify
