// lockstep replay: a case, a case file, or the findings of an earlier run, in
// detail.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "verify/cli/session.h"
#include "verify/files.h"
#include "verify/json_text.h"

namespace lockstep::verify::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  lockstep replay 'attention_forward sq=37 skv=129 d=64 seed=7'\n"
    "  lockstep replay out.ndjson      # findings of verify --json out.ndjson\n"
    "  lockstep replay receipt.json    # findings of verify --receipt";

constexpr size_t kMaxFile = size_t{256} << 20;

std::string Text(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

// A finding, as a group of one job.
Status AddFinding(const Json& finding, const SessionOptions& options,
                  std::vector<JobGroup>* groups) {
  Result<std::vector<Job>> jobs = JobsFromLines({Text(finding, "sequence")});
  if (!jobs.ok()) return jobs.status();
  JobGroup group{std::move(jobs.value()), options.candidates, options.profile};
  if (group.candidates.empty()) {
    group.candidates = {Text(finding, "candidate")};
  }
  if (group.profile.empty()) group.profile = Text(finding, "profile");
  // Several findings of one case are one replay.
  for (const JobGroup& known : *groups) {
    if (known.jobs[0].sequence == group.jobs[0].sequence &&
        known.candidates == group.candidates) {
      return {};
    }
  }
  groups->push_back(std::move(group));
  return {};
}

Status AddReceipt(const Json& receipt, const SessionOptions& options,
                  std::vector<JobGroup>* groups) {
  const auto cases = receipt.find("cases");
  if (cases == receipt.end() || !cases->is_array()) return {};
  for (const Json& one : *cases) {
    const Json findings =
        one.is_object() && one.contains("outcome") && one["outcome"].is_object()
            ? one["outcome"].value("findings", Json::array())
            : Json::array();
    for (const Json& finding : findings) {
      if (!finding.is_object()) continue;
      const Status status = AddFinding(finding, options, groups);
      if (!status.ok()) return status;
    }
  }
  return {};
}

// Findings of NDJSON events or of a receipt.
Result<std::vector<JobGroup>> ReadFindings(const std::string& path,
                                           const std::string& text,
                                           const SessionOptions& options) {
  std::vector<JobGroup> groups;
  const Json whole = Json::parse(text, nullptr, false);
  if (whole.is_object() && Text(whole, "kind") == "receipt") {
    const Status status = AddReceipt(whole, options, &groups);
    if (!status.ok()) return Status::Error(path + ": " + status.message());
    return groups;
  }
  int64_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.empty()) continue;
    const std::string where = path + ":" + std::to_string(number) + ": ";
    const Json event = Json::parse(line, nullptr, false);
    if (!event.is_object()) {
      return Status::Error(where + "neither an event nor a receipt");
    }
    if (Text(event, "kind") != "finding") continue;
    const Status status = AddFinding(event, options, &groups);
    if (!status.ok()) return Status::Error(where + status.message());
  }
  return groups;
}

Result<std::vector<JobGroup>> ReadGroups(const std::string& what,
                                         const SessionOptions& options) {
  std::error_code error;
  const bool file = std::filesystem::is_regular_file(what, error);
  if (file) {
    const Result<std::vector<uint8_t>> bytes = ReadWholeFile(what, kMaxFile);
    if (!bytes.ok()) return bytes.status();
    const std::string text(bytes.value().begin(), bytes.value().end());
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && text[first] == '{') {
      return ReadFindings(what, text, options);
    }
  }
  Result<std::vector<Job>> jobs =
      file ? JobsFromFile(what) : JobsFromLines({what});
  if (!jobs.ok()) return jobs.status();
  std::vector<JobGroup> groups;
  groups.push_back(
      {std::move(jobs.value()), options.candidates, options.profile});
  return groups;
}

}  // namespace

void AddReplay(Parser* program) {
  Verb* verb = program->Add(
      "replay", "Judge again, in detail, what an earlier run found", kFooter);
  struct Arguments {
    std::string what;
    SessionOptions session;
  };
  auto a = std::make_shared<Arguments>();
  a->session.verbose = true;
  verb->Value("CASE|FILE", &a->what,
              "Case line, case file, NDJSON events or receipt")
      .Required();
  verb->Value("--candidate", &a->session.candidates,
              "Instead of the one recorded (default builtin:optimized)")
      .Words(1, 1)
      .Type("SPEC");
  verb->Value("--profile", &a->session.profile,
              "Numeric contract the candidate claims")
      .Type("NAME|FILE");
  verb->Value("--threads", &a->session.threads,
              "Threads of the candidate and the reference")
      .Range(1, 1024);
  verb->Value("--json", &a->session.json, "Events as NDJSON").Type("FILE|-");
  verb->Value("--receipt", &a->session.receipt, "Receipt as JSON")
      .Type("FILE|-");
  verb->run = [a] {
    Result<std::vector<JobGroup>> groups = ReadGroups(a->what, a->session);
    if (!groups.ok()) return Fail(groups.message());
    return RunSession(std::move(groups.value()), a->session);
  };
}

}  // namespace lockstep::verify::cli
