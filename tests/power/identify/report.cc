// Writes the tables of `lockstep-power identify`.
#include <set>
#include <string>
#include <utility>

#include "tests/power/identify/measured.h"
#include "verify/base/format.h"
#include "verify/base/io/json.h"
#include "verify/selftest/program.h"

namespace lockstep::verify {
namespace {

std::string Digits(int64_t n) { return std::to_string(n); }

std::string KeysOf(int64_t length) {
  return length == 0 ? "the bug's own" : Digits(length);
}

Json JsonOf(const SeenZoo& zoo) {
  Json fields = Json::array();
  for (const auto& [key, count] : zoo.fields) {
    fields.push_back({{"field", key},
                      {"seen", count.seen},
                      {"equal", count.equal},
                      {"reported", count.reported},
                      {"cannot_tell", count.untold}});
  }
  return {{"op", zoo.op},
          {"kernels", zoo.kernels},
          {"seen", zoo.Seen()},
          {"equal", zoo.Equal()},
          {"stricter", zoo.stricter},
          {"longest_seconds", zoo.longest_seconds},
          {"fields", fields}};
}

}  // namespace

std::string SeenText(const SeenZoo& zoo) {
  std::string text = zoo.op +
                     "\n| field | seen | equal | reported | cannot tell "
                     "|\n|---|---|---|---|---|\n";
  for (const auto& [key, count] : zoo.fields) {
    text += "| `" + key + "` | " + Digits(count.seen) + " | " +
            Digits(count.equal) + " | " + Digits(count.reported) + " | " +
            Digits(count.untold) + " |\n";
  }
  text += Format(
      "%lld kernels: equal in %lld of %lld seen fields, stricter in %zu; at "
      "most %.2f s each\n",
      static_cast<long long>(zoo.kernels), static_cast<long long>(zoo.Equal()),
      static_cast<long long>(zoo.Seen()), zoo.stricter.size(),
      zoo.longest_seconds);
  for (const std::string& line : zoo.stricter) {
    text += "  stricter: " + line + "\n";
  }
  for (const std::string& line : zoo.other) text += "  other: " + line + "\n";
  return text;
}

std::string AutoText(const AutoResult& result) {
  std::string text =
      "| op | breaks | family | keys | failed by the right profile | failed by "
      "auto |\n|---|---|---|---|---|---|\n";
  const auto row = [&](const AutoPlace& at, const std::string& family,
                       const AutoCount& count) {
    text += "| " + at.op + " | " +
            (at.convention ? "a convention" : "arithmetic") + " | " + family +
            " | " + KeysOf(at.length) + " | " + Digits(count.own) + " | " +
            Digits(count.kept) + " |\n";
  };
  std::string lost;
  for (const auto& [at, count] : result.counts) {
    row(at, at.family, count);
    for (const std::string& spec : count.by_laws) {
      lost += "by laws alone at " + KeysOf(at.length) + ": " + spec + "\n";
    }
    for (const std::string& spec : count.lost) {
      lost += "lost at " + KeysOf(at.length) + ": " + spec + "\n";
    }
  }
  std::set<std::pair<std::string, int64_t>> groups;
  for (const auto& [at, count] : result.counts) {
    groups.insert({at.op, at.length});
  }
  for (const auto& [op, length] : groups) {
    for (const bool convention : {false, true}) {
      row({op, convention, "", length}, "all",
          result.Total(op, convention, length));
    }
  }
  return text + lost;
}

std::string IdentifyJson(const std::vector<SeenZoo>& zoos,
                         const AutoResult& result) {
  Json zoo = Json::array(), bugs = Json::array();
  for (const SeenZoo& one : zoos) zoo.push_back(JsonOf(one));
  for (const auto& [at, count] : result.counts) {
    bugs.push_back({{"op", at.op},
                    {"convention", at.convention},
                    {"family", at.family},
                    {"keys", at.length},
                    {"own", count.own},
                    {"kept", count.kept},
                    {"by_laws", count.by_laws},
                    {"lost", count.lost}});
  }
  return DumpJson({{"kind", "selftest_identify"},
                   {"program", ProgramJson()},
                   {"zoo", zoo},
                   {"bugs", bugs}},
                  2);
}

}  // namespace lockstep::verify
