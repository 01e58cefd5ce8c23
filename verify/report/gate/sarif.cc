#include "verify/report/gate/sarif.h"

#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include "verify/base/digest.h"
#include "verify/base/io/json.h"
#include "verify/base/printable.h"

namespace lockstep::verify {
namespace {

constexpr const char* kRootId = "%SRCROOT%";

// A path as a relative reference of a URI.
std::string UriOf(const std::string& path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  std::string uri;
  for (const char c : path) {
    if (kPlain.find(c) != kPlain.npos) {
      uri += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    uri += '%';
    uri += kHex[byte >> 4];
    uri += kHex[byte & 15];
  }
  return uri;
}

Json TextOf(const std::string& text) { return {{"text", Printable(text)}}; }

Json LocationOf(const RootCause& cause, const std::string& root) {
  Json location = Json::object();
  if (cause.origin.file != nullptr) {
    const std::string path = PathBelow(root, *cause.origin.file);
    Json artifact = {{"uri", UriOf(path)}};
    if (!std::filesystem::path(path).is_absolute()) {
      artifact["uriBaseId"] = kRootId;
    } else {
      artifact["uri"] = "file://" + UriOf(path);
    }
    location["physicalLocation"] = {
        {"artifactLocation", artifact},
        {"region", {{"startLine", cause.origin.number}}}};
  }
  location["logicalLocations"] = Json::array(
      {{{"fullyQualifiedName", Printable(cause.line)}, {"kind", "member"}}});
  return location;
}

// The same for the same cause on another day: what is shown as new, and what is
// not, goes by it. The case is no part of it.
std::string Fingerprint(const RootCause& cause) {
  Digester digester;
  digester.UpdateText(cause.candidate + "\n" + cause.op + "\n" +
                      cause.signature);
  return digester.Hex();
}

const char* LevelOf(const RootCause& cause, bool fails) {
  if (fails || (cause.known && !cause.known->expired)) return "error";
  return cause.verdict == Verdict::kSkipped ? "note" : "warning";
}

Json ResultOf(const RootCause& cause, bool fails, const std::string& root,
              const std::string& rule, size_t index) {
  Json result;
  result["ruleId"] = rule;
  result["ruleIndex"] = index;
  result["kind"] = "fail";
  result["level"] = LevelOf(cause, fails);
  result["message"] = TextOf(DescribeCause(cause, "; "));
  result["locations"] = Json::array({LocationOf(cause, root)});
  result["occurrenceCount"] = cause.cases;
  result["partialFingerprints"] = {{"rootCause/v1", Fingerprint(cause)}};
  if (cause.known && !cause.known->expired) {
    result["suppressions"] =
        Json::array({{{"kind", "external"},
                      {"status", "accepted"},
                      {"justification", Printable(cause.known->text)}}});
  }
  result["properties"] = {{"candidate", Printable(cause.candidate)},
                          {"case", Printable(cause.line)},
                          {"verdict", VerdictName(cause.verdict)},
                          {"replay", Printable(cause.replay)}};
  return result;
}

Json InvocationOf(const SarifRun& run, int exit_code, bool successful) {
  Json arguments = Json::array();
  for (const std::string& word : run.arguments) {
    arguments.push_back(Printable(word));
  }
  return {{"executionSuccessful", successful},
          {"exitCode", exit_code},
          {"arguments", arguments},
          {"startTimeUtc", run.start},
          {"endTimeUtc", run.end}};
}

std::string DocumentOf(const SarifRun& run, const Json& rules,
                       const Json& results, const Json& invocation) {
  std::error_code error;
  const std::string root =
      std::filesystem::absolute(run.root.empty() ? "." : run.root, error)
          .lexically_normal()
          .string();
  Json one;
  one["tool"] = {
      {"driver",
       {{"name", "lockstep"}, {"version", run.version}, {"rules", rules}}}};
  one["invocations"] = Json::array({invocation});
  one["originalUriBaseIds"] = {
      {kRootId,
       {{"uri", "file://" + UriOf(root) + (root.ends_with('/') ? "" : "/")}}}};
  one["results"] = results;
  return DumpJson({{"$schema",
                    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/"
                    "os/schemas/sarif-schema-2.1.0.json"},
                   {"version", "2.1.0"},
                   {"runs", Json::array({one})}},
                  2);
}

}  // namespace

std::string SarifText(const SarifRun& run, const RootCauses& causes,
                      const Totals& totals, const ExitPolicy& policy,
                      int exit_code) {
  std::map<std::string, size_t> index;
  Json rules = Json::array();
  Json results = Json::array();
  for (const RootCause& cause : causes.all()) {
    const std::string rule = cause.op + "/" + Printable(cause.signature);
    const auto [at, added] = index.try_emplace(rule, rules.size());
    if (added) {
      rules.push_back(
          {{"id", rule},
           {"shortDescription", TextOf(cause.op + ": " + cause.signature +
                                       " (docs/verdicts.md)")}});
    }
    results.push_back(ResultOf(cause, Fails(cause, totals, policy), run.root,
                               rule, at->second));
  }
  return DocumentOf(run, rules, results,
                    InvocationOf(run, exit_code, !totals.interrupted));
}

std::string SarifOfNothing(const SarifRun& run, const std::string& message,
                           int exit_code) {
  Json invocation = InvocationOf(run, exit_code, false);
  invocation["toolExecutionNotifications"] =
      Json::array({{{"level", "error"}, {"message", TextOf(message)}}});
  return DocumentOf(run, Json::array(), Json::array(), invocation);
}

}  // namespace lockstep::verify
