// lockstep selftest: the judge on trial by its own mutants and zoo.
#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "verify/case/probe_kind.h"
#include "verify/cli/cli.h"
#include "verify/selftest/attention_forward_nulls.h"
#include "verify/selftest/identify/measured.h"
#include "verify/selftest/lengths/matrix.h"
#include "verify/selftest/naming/attention_forward.h"
#include "verify/selftest/selftest.h"
#include "verify/selftest/zoo/draw.h"

namespace lockstep::verify::cli {
namespace {

struct SelftestArguments {
  std::string cases = "data/cases/selftest.cases";
  std::string budget = "100000cases";
  std::string json;
  std::string html;
  std::string op;
  std::string seed = "0";
  std::string lengths;  // the matrix, in place of the rest
  bool full = false;
  std::string only;
  std::string with;
  std::string without;
  std::string markdown;
  int threads = 0;
  bool zoo = false;  // alone
  int64_t zoo_keys = 0;
  bool dials = false;  // alone
  int64_t curves = 0;
  bool statistics = false;  // alone
  bool naming = false;      // alone
  bool identify = false;    // alone
  double explain_seconds = kCauseSeconds;
};

std::vector<std::string> WordsOfList(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// "1024,4096,16384": ascending.
Result<std::vector<int64_t>> Lengths(const std::string& text) {
  std::vector<int64_t> lengths;
  for (const std::string& word : WordsOfList(text)) {
    int64_t length = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, length);
    if (error != std::errc{} || stop != end || length < 64 ||
        length > 1 << 19 || (!lengths.empty() && length <= lengths.back())) {
      return Status::Error("--lengths '" + text +
                           "': want ascending counts of keys in 64..524288, "
                           "such as 1024,4096,16384");
    }
    lengths.push_back(length);
  }
  return lengths;
}

// Whether the files that a run ends with can be written.
Status CheckFiles(const SelftestArguments& a) {
  return CheckDeliverables(
      {{"--json", a.json}, {"--markdown", a.markdown}, {"--html", a.html}},
      {a.cases});
}

// Of a result, all that was asked for.
int DeliverAll(const SelftestArguments& a, const SelftestResult& result,
               const std::string& text, const std::string& json) {
  if (a.json != "-" && a.html != "-") std::cout << text;
  Status status;
  if (!a.json.empty()) status = Deliver(a.json, json + "\n");
  if (status.ok() && !a.html.empty()) {
    status = Deliver(a.html, SelftestPage(result));
  }
  return status.ok() ? kExitPass : Fail(status.message());
}

int RunLengths(const SelftestArguments& a) {
  if (!a.html.empty()) {
    return Fail(
        "--html does not go with --lengths, whose table --markdown "
        "writes");
  }
  MatrixOptions options;
  const Result<std::vector<int64_t>> lengths = Lengths(a.lengths);
  if (!lengths.ok()) return Fail(lengths.message());
  options.lengths = lengths.value();
  options.full = a.full;
  options.threads = a.threads;
  options.op = a.op;
  options.only = WordsOfList(a.only);
  options.without = WordsOfList(a.without);
  if (a.without == "all") options.without.clear();
  for (const ProbeInfo& probe : Probes()) {
    if (a.without == "all") options.without.emplace_back(probe.name);
  }
  for (const std::string& probe : options.without) {
    const Result<ProbeKind> known = FindProbe(probe);
    if (!known.ok()) return Fail("--without-probe: " + known.message());
  }
  options.progress = [](const std::string& word) { std::cerr << word << "\n"; };
  const Status files = CheckFiles(a);
  if (!files.ok()) return Fail(files.message());
  const Result<MatrixResult> result = RunMatrix(options);
  if (!result.ok()) return Fail(result.message());
  if (a.json != "-" && a.markdown != "-") {
    std::cout << MatrixText(result.value());
  }
  if (!a.json.empty()) {
    const Status status = Deliver(a.json, MatrixJson(result.value()) + "\n");
    if (!status.ok()) return Fail(status.message());
  }
  if (!a.markdown.empty()) {
    const Status status = Deliver(a.markdown, PowerPage(result.value()));
    if (!status.ok()) return Fail(status.message());
  }
  return result->Passed() ? kExitPass : kExitFail;
}

// "100000cases": the zoo is judged by count, so that its statement is one.
Result<int64_t> ZooCases(const std::string& budget) {
  int64_t cases = 0;
  const char* end = budget.data() + budget.size();
  const auto [stop, error] = std::from_chars(budget.data(), end, cases);
  if (error != std::errc{} || cases < 1 || cases > 1000000000 ||
      std::string(stop, end) != "cases") {
    return Status::Error("--budget '" + budget +
                         "': want a count, such as 100000cases");
  }
  return cases;
}

int RunZooAlone(const SelftestOptions& options, const SelftestArguments& a) {
  const Status files = CheckFiles(a);
  if (!files.ok()) return Fail(files.message());
  if (a.zoo_keys != 0 && (a.zoo_keys < 64 || a.zoo_keys > 1 << 19)) {
    return Fail("--zoo-keys " + std::to_string(a.zoo_keys) +
                ": want 64..524288");
  }
  const Status keys = CheckZooKeys(options);
  if (!keys.ok()) return Fail(keys.message());
  const SelftestResult result = RunZoo(options);
  if (result.zoo_variants == 0) {
    return Fail("--only " + a.only +
                ": no correct kernel has a name that begins so");
  }
  const int done = DeliverAll(a, result, ZooText(result), SelftestJson(result));
  if (done != kExitPass) return done;
  return result.ZooPassed() ? kExitPass : kExitSelf;
}

int RunDials(const SelftestOptions& options, const SelftestArguments& a) {
  const Status files = CheckFiles(a);
  if (!files.ok()) return Fail(files.message());
  auto rows = MeasureDials(options.ordinary, options.threads);
  if (!rows.ok()) return Fail(rows.message());
  SelftestResult result;
  result.dials = std::move(rows.value());
  auto curves =
      MeasureCurves(options.ordinary, options.curves, options.threads);
  if (!curves.ok()) return Fail(curves.message());
  result.curves = std::move(curves.value());
  return DeliverAll(a, result,
                    DialsText(result.dials) + CurvesText(result.curves),
                    DialsJson(result.dials, result.curves));
}

// The zoo, or one kernel of `only`, before the statistics.
int SelftestStatistics(const SelftestOptions& options,
                       const SelftestArguments& a) {
  if (!a.markdown.empty() || !a.html.empty()) {
    return Fail("--statistics has no page: leave out --markdown and --html");
  }
  const Status files = CheckFiles(a);
  if (!files.ok()) return Fail(files.message());
  if (a.zoo_keys != 0 && (a.zoo_keys < 24 || a.zoo_keys > 1 << 17)) {
    return Fail("--zoo-keys " + std::to_string(a.zoo_keys) +
                " --statistics: want 24..131072");
  }
  NullOptions nulls;
  nulls.cases = options.zoo_cases;
  nulls.keys = a.zoo_keys;
  nulls.threads = a.threads;
  nulls.seed = options.seed;
  nulls.kernel = a.only;
  const NullResult result = RunNulls(nulls);
  if (a.json != "-") std::cout << NullText(result);
  if (!a.json.empty()) {
    const Status status = Deliver(a.json, NullJson(result) + "\n");
    if (!status.ok()) return Fail(status.message());
  }
  return result.Passed() ? kExitPass : kExitSelf;
}

// How often a failing verdict names the bug.
int RunNames(const SelftestArguments& a) {
  if (!a.html.empty()) return Fail("--naming has no page: leave out --html");
  const Status files = CheckFiles(a);
  if (!files.ok()) return Fail(files.message());
  const Result<std::vector<int64_t>> sizes = Lengths(a.lengths);
  if (!sizes.ok()) return Fail(sizes.message());
  for (const int64_t keys : sizes.value()) {
    if (keys == 128 || keys == 4096) continue;
    return Fail(
        "--naming has cases of 128 and of 4096 keys: --lengths 128 or "
        "4096");
  }
  // A long run shows that it is alive.
  std::mutex telling;
  const auto tell = [&](const NamedBug& bug) {
    const std::lock_guard<std::mutex> lock(telling);
    std::cerr << NamedText(bug) << "\n" << std::flush;
  };
  const NamingResult result = RunNaming(
      {sizes.value(), WordsOfList(a.only), a.threads, a.explain_seconds, tell});
  if (a.json != "-" && a.markdown != "-") std::cout << NamingText(result);
  Status status;
  if (!a.json.empty()) status = Deliver(a.json, NamingJson(result) + "\n");
  if (status.ok() && !a.markdown.empty()) {
    status = Deliver(a.markdown, NamingText(result));
  }
  if (!status.ok()) return Fail(status.message());
  return result.Passed() ? kExitPass : kExitFail;
}

// What is lost where a profile is learned from the kernel: the zoo's fields,
// then bugs on their own patterns; or bugs alone, at the lengths that are
// named.
int RunIdentified(const SelftestArguments& a) {
  if (!a.html.empty()) {
    return Fail("--identify has no page: leave out --html");
  }
  const Status files = CheckFiles(a);
  if (!files.ok()) return Fail(files.message());
  AutoOptions options;
  if (!a.lengths.empty()) {
    const Result<std::vector<int64_t>> lengths = Lengths(a.lengths);
    if (!lengths.ok()) return Fail(lengths.message());
    options.lengths = lengths.value();
  }
  options.only = WordsOfList(a.only);
  options.threads = a.threads;
  options.progress = [](const std::string& word) { std::cerr << word << "\n"; };
  const auto rows = IdentifyRowsOf(a.op);
  if (rows.empty()) {
    return Fail("--identify --op " + a.op + ": its kernels cannot be asked");
  }
  std::vector<SeenZoo> zoos;
  for (const SelftestRow* row : rows) {
    if (a.lengths.empty()) zoos.push_back(IdentifyZoo(*row));
  }
  const Result<AutoResult> bugs = JudgeIdentified(rows, options);
  if (!bugs.ok()) return Fail(bugs.message());
  std::string text;
  bool passed = bugs->Passed();
  for (const SeenZoo& zoo : zoos) {
    text += SeenText(zoo) + "\n";
    passed = passed && zoo.Passed();
  }
  text += AutoText(bugs.value());
  if (a.markdown != "-" && a.json != "-") std::cout << text;
  Status status;
  if (!a.json.empty()) {
    status = Deliver(a.json, IdentifyJson(zoos, bugs.value()) + "\n");
  }
  if (status.ok() && !a.markdown.empty()) status = Deliver(a.markdown, text);
  if (!status.ok()) return Fail(status.message());
  return passed ? kExitPass : kExitFail;
}

int RunSelftestVerb(const SelftestArguments& a) {
  if (a.identify) return RunIdentified(a);
  if (a.naming) return RunNames(a);
  if (!a.lengths.empty()) return RunLengths(a);
  SelftestOptions options;
  const Result<uint64_t> seed = ParseSeed(a.seed);
  if (!seed.ok()) return Fail(seed.message());
  options.seed = seed.value();
  for (const SelftestRow* const& op : SelftestRows()) {
    if (a.op == op->op) options.rows = {&op, 1};
  }
  options.plans = a.op.empty() || a.op == "attention_forward";
  const Result<int64_t> zoo_cases = ZooCases(a.budget);
  if (!zoo_cases.ok()) return Fail(zoo_cases.message());
  options.zoo_cases = zoo_cases.value();
  options.threads = a.threads;
  options.zoo_keys = a.zoo_keys;
  options.zoo_only = WordsOfList(a.only);
  options.zoo_with = WordsOfList(a.with);
  if (!a.with.empty() && !a.zoo) return Fail("--with goes with --zoo");
  if (a.statistics) return SelftestStatistics(options, a);
  if (a.zoo || a.zoo_keys > 0) return RunZooAlone(options, a);
  const CaseArguments files{{}, {a.cases}};
  const Result<std::vector<Job>> jobs = ReadJobs(files);
  if (!jobs.ok()) return Fail(jobs.message());
  for (const Job& job : jobs.value()) {
    options.ordinary.push_back(MinimalLine(job.sequence));
  }
  options.curves = a.curves;
  if (a.dials) return RunDials(options, a);
  options.dials = options.plans;
  const Status writable = CheckFiles(a);
  if (!writable.ok()) return Fail(writable.message());
  const Result<SelftestResult> result = RunSelftest(options);
  if (!result.ok()) return Fail(result.message());
  const int done = DeliverAll(a, result.value(), SelftestText(result.value()),
                              SelftestJson(result.value()));
  if (done != kExitPass) return done;
  return result->Passed() ? kExitPass : kExitSelf;
}

}  // namespace

void AddSelftest(Parser* program) {
  Verb* verb = program->Add(
      "selftest", "Test the judge with known bugs and correct kernels",
      "Example:\n  lockstep selftest --budget 100000cases --json self.json");
  auto a = std::make_shared<SelftestArguments>();
  verb->Value("--cases", &a->cases, "Ordinary cases for the rule table")
      .Type("FILE");
  verb->Value("--budget", &a->budget, "Cases of the zoo: Ncases")
      .Type("BUDGET");
  verb->Value("--op", &a->op,
              "Only attention_forward, attention_backward, attention_merge,\n"
              "mamba3_scan, mamba3_scan_backward or ssd_scan")
      .OneOf({"attention_forward", "attention_backward", "attention_merge",
              "mamba3_scan", "mamba3_scan_backward", "ssd_scan"});
  verb->Value("--seed", &a->seed, "Of the zoo's cases").Type("N");
  verb->Value("--json", &a->json, "The whole result as JSON").Type("FILE|-");
  verb->Value("--html", &a->html, "The whole result as a page").Type("FILE|-");
  verb->Value("--lengths", &a->lengths,
              "In place of the rest: every structural bug at these lengths")
      .Type("N,...");
  verb->Flag("--full", &a->full, "Every row of the cover at every length");
  verb->Value("--only", &a->only,
              "Only bugs, or with --zoo correct kernels, whose names begin so")
      .Type("NAME,...");
  verb->Value("--with", &a->with,
              "Only cases of the zoo whose lines have one of these keys")
      .Type("KEY,...");
  verb->Value("--without-probe", &a->without,
              "Judge without these probes; all: without any")
      .Type("KIND,...");
  verb->Value("--markdown", &a->markdown, "The table of power, FILE or -");
  verb->Flag("--zoo", &a->zoo,
             "In place of the rest: correct kernels, --budget of them");
  verb->Value("--zoo-keys", &a->zoo_keys,
              "In place of the rest: the zoo on cases of N keys")
      .Type("N");
  verb->Flag("--dials", &a->dials,
             "In place of the rest: the mildest setting that is found, for "
             "every bug with a dial");
  verb->Value("--curves", &a->curves,
              "How often each setting of a dial is found, over N draws of the "
              "ordinary cases")
      .NonNegative()
      .Type("N");
  verb->Flag("--statistics", &a->statistics,
             "In place of the rest: how often the statistics of errors alarm "
             "for correct kernels");
  verb->Flag("--naming", &a->naming,
             "In place of the rest: how often a failing verdict names the bug "
             "of an attention kernel");
  verb->Flag("--identify", &a->identify,
             "In place of the rest: which fields `identify` sees of correct "
             "kernels, and which bugs fail under the profile that it finds");
  verb->Value("--explain-budget", &a->explain_seconds,
              "Work, in seconds of CPU time, to find the bug\nbehind each "
              "failure (default 2)")
      .NonNegative()
      .Type("SECONDS");
  verb->Value("--threads", &a->threads, "0: all").NonNegative();
  verb->run = [a] { return RunSelftestVerb(*a); };
}

}  // namespace lockstep::verify::cli
