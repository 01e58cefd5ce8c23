// What is to be judged, from lines and files, and how much of it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/run/case_file.h"
#include "verify/run/run.h"

namespace lockstep::verify {
namespace {

template <typename T>
bool ParseWhole(std::string_view text, T* value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc{} && stop == end && !text.empty();
}

SharedDirectories Shared(std::vector<std::string> directories) {
  return std::make_shared<const std::vector<std::string>>(
      std::move(directories));
}

SharedDirectories Here() { return Shared({"."}); }

Result<std::vector<Job>> JobsOf(Result<CaseFile> file,
                                const SharedDirectories& search_directories,
                                std::string* note) {
  if (!file.ok()) return file.status();
  if (note != nullptr && file->aside > 0) {
    *note = std::to_string(file->aside) +
            (file->aside == 1 ? " line of " : " lines of ") + file->path +
            " left out, because their probes do not apply; first " +
            file->first_aside;
  }
  std::vector<Job> jobs;
  jobs.reserve(file->entries.size());
  const auto path = std::make_shared<const std::string>(file->path);
  for (CaseFileEntry& entry : file->entries) {
    jobs.push_back(
        {std::move(entry.sequence), {path, entry.line}, search_directories});
  }
  return jobs;
}

}  // namespace

Result<Budget> ParseBudget(std::string_view text) {
  const Status bad =
      Status::Error("budget '" + std::string(text) +
                    "': want seconds, minutes, hours or cases, such as 60s, "
                    "5m, 2h or 1000cases");
  const size_t digits =
      std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit = text.substr(digits);
  if (unit == "cases") {
    int64_t cases = 0;
    if (!ParseWhole(text.substr(0, digits), &cases) || cases < 1) return bad;
    return Budget{.seconds = std::nullopt, .cases = cases};
  }
  double value = 0;
  if (!ParseWhole(text.substr(0, digits), &value)) return bad;
  const double scale = unit == "s"   ? 1
                       : unit == "m" ? 60
                       : unit == "h" ? 3600
                                     : 0;
  if (scale == 0 || !(value > 0) || !std::isfinite(value)) return bad;
  return Budget{.seconds = value * scale, .cases = std::nullopt};
}

Result<Shard> ParseShard(std::string_view text) {
  Shard shard;
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos ||
      !ParseWhole(text.substr(0, slash), &shard.index) ||
      !ParseWhole(text.substr(slash + 1), &shard.count) || shard.index < 0 ||
      shard.index >= shard.count) {
    return Status::Error("shard '" + std::string(text) +
                         "': want i/N with 0 <= i < N, such as 0/4");
  }
  return shard;
}

Result<std::vector<Job>> JobsFromLines(const std::vector<std::string>& lines,
                                       OpRows ops) {
  std::vector<Job> jobs;
  const SharedDirectories here = Here();
  for (const std::string& line : lines) {
    Result<std::vector<Case>> sequence = ParseCaseSequence(line, ops);
    if (!sequence.ok()) return Status::Error("case: " + sequence.message());
    for (const Case& c : sequence.value()) {
      const Status status = ValidateCase(c);
      if (!status.ok() && c.expect != Expect::kRefuse) {
        return Status::Error("case: " + status.message());
      }
    }
    const int64_t number = static_cast<int64_t>(jobs.size()) + 1;
    jobs.push_back({std::move(sequence.value()), {nullptr, number}, here});
  }
  return jobs;
}

Result<std::vector<Job>> JobsFromFile(const std::string& path, OpRows ops,
                                      std::string* note) {
  return JobsOf(ReadCaseFile(path, ops), Shared(SearchDirectories(path)), note);
}

Result<std::vector<Job>> JobsFromText(const std::string& name,
                                      std::string_view text, OpRows ops,
                                      std::string* note) {
  return JobsOf(ParseCaseFile(name, text, ops), Here(), note);
}

}  // namespace lockstep::verify
