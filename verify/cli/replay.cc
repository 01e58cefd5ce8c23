// lockstep replay: a case, a case file, or the findings of an earlier run, in
// detail.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "verify/base/io/files.h"
#include "verify/base/status_macros.h"
#include "verify/cli/outputs/outputs.h"
#include "verify/cli/session.h"
#include "verify/registry/ops.h"
#include "verify/report/json_text.h"

namespace lockstep::verify::cli {
namespace {

constexpr const char* kReplayFooter =
    "Examples:\n"
    "  lockstep replay 'attention_forward sq=37 skv=129 d=64 seed=7'\n"
    "  lockstep replay out.ndjson      # findings of verify --json out.ndjson\n"
    "  lockstep replay found.ndjson    # findings of fuzz --json\n"
    "  lockstep replay receipt.json    # findings of verify --receipt";

constexpr size_t kMaxFile = size_t{256} << 20;

std::string Text(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

std::vector<std::string> Words(const Json& object, const char* key) {
  std::vector<std::string> words;
  const auto at = object.find(key);
  if (at == object.end() || !at->is_array()) return words;
  for (const Json& word : *at) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return words;
}

// Empty where there is none.
Json Object(const Json& of, const char* key) {
  const bool there = of.is_object() && of.contains(key) && of[key].is_object();
  return there ? of[key] : Json::object();
}

Json Array(const Json& of, const char* key) {
  const bool there = of.is_object() && of.contains(key) && of[key].is_array();
  return there ? of[key] : Json::array();
}

// A finding, as a group of one job.
Status AddFinding(const Json& finding, const SessionOptions& options,
                  std::vector<JobGroup>* groups) {
  // What `fuzz` found is one line, shrunk, under its other name.
  const std::string line =
      Text(finding, finding.contains("sequence") ? "sequence" : "case");
  ASSIGN_OR_RETURN(std::vector<Job> jobs, JobsFromLines({line}, Ops()));
  JobGroup group{std::move(jobs), options.candidates, options.profile,
                 Words(finding, "options")};
  if (group.candidates.empty()) {
    if (!finding.contains("candidate")) {
      return Status::Error("the finding names no candidate; give --candidate");
    }
    group.candidates = {Text(finding, "candidate")};
    if (!options.trust_file) group.untrusted = "the file";
  }
  if (group.profile.empty()) group.profile = Text(finding, "profile");
  // Several findings of one case are one replay.
  for (const JobGroup& known : *groups) {
    if (known.jobs[0].sequence == group.jobs[0].sequence &&
        known.candidates == group.candidates &&
        known.profile == group.profile && known.options == group.options) {
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
    Json outcomes = Json::array({Object(one, "outcome")});
    const Json draws = Array(one, "draws");
    for (const Json& drawn : draws) {
      outcomes.push_back(Object(drawn, "outcome"));
    }
    for (const Json& outcome : outcomes) {
      for (const Json& finding : Array(outcome, "findings")) {
        if (!finding.is_object()) continue;
        RETURN_IF_ERROR(AddFinding(finding, options, groups));
      }
    }
  }
  return {};
}

// Findings of NDJSON events or of a receipt.
Result<std::vector<JobGroup>> ReadFindings(const std::string& path,
                                           const std::string& text,
                                           const SessionOptions& options) {
  std::vector<JobGroup> groups;
  const Json whole = ParseJson(text);
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
    const Json event = ParseJson(line);
    if (!event.is_object()) {
      return Status::Error(where + "neither an event nor a receipt");
    }
    if (Text(event, "kind") != "finding") continue;
    const Status status = AddFinding(event, options, &groups);
    if (!status.ok()) return Status::Error(where + status.message());
  }
  return groups;
}

Result<std::string> ReadText(const std::string& what) {
  if (what == "-") return ReadStdin(kMaxFile);
  ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                   ReadWholeFile(what, kMaxFile));
  return std::string(bytes.begin(), bytes.end());
}

Result<std::vector<JobGroup>> OneGroup(Result<std::vector<Job>> jobs,
                                       const SessionOptions& options) {
  if (!jobs.ok()) return jobs.status();
  std::vector<JobGroup> groups;
  groups.push_back(
      {std::move(jobs.value()), options.candidates, options.profile, {}});
  return groups;
}

Result<std::vector<JobGroup>> ReadGroups(const std::string& what,
                                         const SessionOptions& options) {
  std::error_code error;
  const bool file = std::filesystem::is_regular_file(what, error);
  if (file || what == "-") {
    ASSIGN_OR_RETURN(const std::string read, ReadText(what));
    const std::string& text = read;
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && text[first] == '{') {
      return ReadFindings(what == "-" ? "stdin" : what, text, options);
    }
    if (!file) return OneGroup(JobsFromText("stdin", text, Ops()), options);
  }
  return OneGroup(
      file ? JobsFromFile(what, Ops()) : JobsFromLines({what}, Ops()), options);
}

}  // namespace

void AddReplay(Parser* program) {
  Verb* verb = program->Add("replay",
                            "Judge again, in detail, what an earlier run found",
                            kReplayFooter);
  struct Arguments {
    std::string what;
    SessionOptions session;
  };
  auto a = std::make_shared<Arguments>();
  a->session.verbose = true;
  verb->Value("CASE|FILE", &a->what,
              "Case line, case file, NDJSON of verify or fuzz, receipt; - for "
              "stdin")
      .Required();
  verb->Value(
          "--candidate", &a->session.candidates,
          "Candidate in place of the recorded one (default builtin:optimized)")
      .Words(1, 1)
      .Type("SPEC");
  verb->Value("--profile", &a->session.profile,
              "Numeric contract the candidate claims")
      .Type("NAME|FILE");
  verb->Flag("--trust-file", &a->session.trust_file,
             "Start programs that FILE names as candidates");
  AddHostArguments(verb, &a->session.hosts);
  verb->Value("--threads", &a->session.threads,
              "Threads of the candidate and the reference")
      .Range(1, 1024);
  AddJobs(verb, &a->session);
  verb->Value("--json", &a->session.json, "Events as NDJSON").Type("FILE|-");
  verb->Value("--receipt", &a->session.receipt, "Receipt as JSON")
      .Type("FILE|-");
  verb->Value("--html", &a->session.html,
              "A page to read, with maps of the errors")
      .Type("FILE|-");
  AddColor(verb, &a->session);
  verb->run = [a] {
    Result<std::vector<JobGroup>> groups = ReadGroups(a->what, a->session);
    if (!groups.ok()) return Fail(groups.message());
    a->session.inputs = {a->what, a->session.profile};
    const Status outputs = CheckOutputs(a->session);
    if (!outputs.ok()) return Fail(outputs.message());
    return RunSession(std::move(groups.value()), a->session);
  };
}

}  // namespace lockstep::verify::cli
