#include "verify/report/ids/attention_forward.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/inputs/attention_forward_file.h"

namespace lockstep::verify {
namespace {

// Runs that a line lists, and cells of a picture's side.
constexpr size_t kListedRuns = 12;
constexpr int64_t kIdCells = 32;

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

// "id 7 comes back: its tokens 0 to 3 and 8 are one document".
std::string ComingBack(const std::vector<IdRun>& runs) {
  std::map<int32_t, std::vector<IdRun>> by_id;
  for (const IdRun& run : runs) by_id[run.id].push_back(run);
  std::string text;
  for (const auto& [id, places] : by_id) {
    if (places.size() < 2) continue;
    text += "       id " + std::to_string(id) + " comes back: tokens ";
    for (size_t n = 0; n < std::min(places.size(), kListedRuns); ++n) {
      text += (n > 0 ? ", " : "") + Place(places[n]);
    }
    text += places.size() > kListedRuns ? ", ... are one document\n"
                                        : " are one document\n";
  }
  return text;
}

// '#': all pairs of a cell see each other, '+': some, '.': none.
std::string Picture(const std::vector<int32_t>& row,
                    const std::optional<int32_t>& pad) {
  const auto tokens = static_cast<int64_t>(row.size());
  const int64_t step = std::max<int64_t>((tokens + kIdCells - 1) / kIdCells, 1);
  const auto counts = [&](int64_t begin) {
    std::map<int32_t, int64_t> of;
    for (int64_t i = begin; i < std::min(begin + step, tokens); ++i) {
      ++of[row[static_cast<size_t>(i)]];
    }
    return of;
  };
  std::vector<std::map<int32_t, int64_t>> cells;
  for (int64_t begin = 0; begin < tokens; begin += step) {
    cells.push_back(counts(begin));
  }
  std::string text;
  for (size_t q = 0; q < cells.size(); ++q) {
    text += "       ";
    for (size_t k = 0; k < cells.size(); ++k) {
      int64_t seen = 0, queries = 0, keys = 0;
      for (const auto& [id, count] : cells[k]) keys += count;
      for (const auto& [id, count] : cells[q]) {
        queries += count;
        const auto same = cells[k].find(id);
        if (same != cells[k].end() && id != pad) seen += count * same->second;
      }
      text += seen == 0 ? '.' : seen == queries * keys ? '#' : '+';
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
  std::set<int32_t> documents;
  for (const IdRun& run : runs) documents.insert(run.id);
  std::string text = "row " + std::to_string(number) + "  " +
                     std::to_string(documents.size()) +
                     (documents.size() == 1 ? " document:" : " documents:");
  for (size_t n = 0; n < std::min(runs.size(), kListedRuns); ++n) {
    text += (n > 0 ? ", " : " ") + ("id " + std::to_string(runs[n].id)) +
            " has " + Tokens(runs[n].end - runs[n].first);
  }
  if (runs.size() > kListedRuns) {
    text += " and " + std::to_string(runs.size() - kListedRuns) + " more";
  }
  text += "\n" + ComingBack(runs);
  if (padding > 0) {
    text += "       padding: " + Tokens(padding) +
            ", which see nothing and which nothing sees\n";
  }
  return text + hint + Picture(row, pad);
}

// An id that no query has.
int32_t FreeId(const IdRows& ids) {
  std::set<int32_t> taken;
  for (const auto& row : ids.rows) taken.insert(row.begin(), row.end());
  int32_t free = INT32_MIN;
  while (taken.contains(free)) ++free;
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
