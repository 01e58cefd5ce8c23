// lockstep-power measures the judge: which bugs it proves at the lengths that
// people run, how mild a bug may be, and how often statistics alarm. It also
// counts verdicts that name the bug, and what a learned profile loses.
#include <charconv>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/power/attention_forward_nulls.h"
#include "tests/power/dials/dials.h"
#include "tests/power/identify/measured.h"
#include "tests/power/lengths/cases.h"
#include "tests/power/lengths/matrix.h"
#include "tests/power/naming/attention_forward.h"
#include "verify/case/probe_kind.h"
#include "verify/cli/cli.h"
#include "verify/cli/process.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify::cli {
namespace {

// Options that several measurements have.
struct Arguments {
  std::string cases = "data/cases/selftest.cases";
  std::string json;
  std::string markdown;
  std::string op;
  std::string only;
  std::string lengths;
  std::string without;
  std::string seed = "0";
  int64_t budget = 10000;
  int64_t keys = 0;
  int64_t curves = 0;
  int threads = 0;
  bool full = false;
  double explain_seconds = kCauseSeconds;
};

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

// Writes what was asked for. `text`: of stdout and --markdown.
int DeliverAll(const Arguments& a, bool passed, int failed,
               const std::string& text, const std::string& page,
               const std::string& json) {
  if (a.json != "-" && a.markdown != "-") std::cout << text;
  Status status;
  if (!a.json.empty()) status = Deliver(a.json, json + "\n");
  if (status.ok() && !a.markdown.empty()) status = Deliver(a.markdown, page);
  if (!status.ok()) return Fail(status.message());
  return passed ? kExitPass : failed;
}

void Tell(const std::string& word) { std::cerr << word << "\n" << std::flush; }

int RunLengths(const Arguments& a) {
  MatrixOptions options;
  const Result<std::vector<int64_t>> lengths = Lengths(a.lengths);
  if (!lengths.ok()) return Fail(lengths.message());
  options.lengths = lengths.value();
  options.full = a.full;
  options.threads = a.threads;
  options.op = a.op;
  options.only = WordsOfList(a.only);
  if (a.without == "all") {
    for (const ProbeInfo& probe : Probes()) {
      options.without.emplace_back(probe.name);
    }
  } else {
    options.without = WordsOfList(a.without);
  }
  for (const std::string& probe : options.without) {
    const Result<ProbeKind> known = FindProbe(probe);
    if (!known.ok()) return Fail("--without-probe: " + known.message());
  }
  options.progress = &Tell;
  const Result<MatrixResult> result = RunMatrix(options);
  if (!result.ok()) return Fail(result.message());
  return DeliverAll(a, result->Passed(), kExitFail, MatrixText(result.value()),
                    PowerPage(result.value()), MatrixJson(result.value()));
}

// Judges correct kernels on cases of --keys keys (tokens).
int RunZooAtLength(const Arguments& a) {
  using LineAt = std::string (*)(uint64_t, int64_t, const NumericProfile&);
  static const std::map<std::string, LineAt> kLines = {
      {"attention_forward", &AttentionLineAt},
      {"attention_backward", &GradientLineAt},
      {"attention_merge", &MergeLineAt},
      {"mamba3_scan", &Mamba3ScanLineAt},
      {"mamba3_scan_backward", &ScanGradientLineAt},
      {"ssd_scan", &SsdScanLineAt}};
  if (a.keys < 64 || a.keys > 1 << 19) {
    return Fail("--keys " + std::to_string(a.keys) + ": want 64..524288");
  }
  SelftestOptions options;
  const Result<uint64_t> seed = ParseSeed(a.seed);
  if (!seed.ok()) return Fail(seed.message());
  options.seed = seed.value();
  for (const SelftestRow* const& op : SelftestRows()) {
    if (a.op == op->op) options.rows = {&op, 1};
  }
  options.zoo_cases = a.budget;
  options.threads = a.threads;
  options.zoo_only = WordsOfList(a.only);
  options.draw = [&](const SelftestRow& op, const NumericProfile& profile,
                     uint64_t case_seed) {
    return ParseCase(kLines.at(op.op)(case_seed, a.keys, profile));
  };
  const SelftestResult result = RunZoo(options);
  if (result.zoo_variants == 0) {
    return Fail("--only " + a.only +
                ": no correct kernel has a name that begins so");
  }
  return DeliverAll(a, result.ZooPassed(), kExitSelf, ZooText(result),
                    ZooText(result), SelftestJson(result));
}

int RunDials(const Arguments& a) {
  const Result<std::vector<Job>> jobs = ReadJobs({{}, {a.cases}});
  if (!jobs.ok()) return Fail(jobs.message());
  std::vector<std::string> ordinary;
  for (const Job& job : jobs.value()) {
    ordinary.push_back(MinimalLine(job.sequence));
  }
  const auto rows = MeasureDials(ordinary, a.threads);
  if (!rows.ok()) return Fail(rows.message());
  const auto curves = MeasureCurves(ordinary, a.curves, a.threads);
  if (!curves.ok()) return Fail(curves.message());
  const std::string text = DialsText(rows.value()) + CurvesText(curves.value());
  return DeliverAll(a, true, kExitSelf, text, text,
                    DialsJson(rows.value(), curves.value()));
}

// Measures how often the statistics of errors alarm on the zoo, or on one
// kernel of --only.
int RunStatistics(const Arguments& a) {
  if (a.keys != 0 && (a.keys < 24 || a.keys > 1 << 17)) {
    return Fail("--keys " + std::to_string(a.keys) + ": want 24..131072");
  }
  const Result<uint64_t> seed = ParseSeed(a.seed);
  if (!seed.ok()) return Fail(seed.message());
  NullOptions nulls;
  nulls.cases = a.budget;
  nulls.keys = a.keys;
  nulls.threads = a.threads;
  nulls.seed = seed.value();
  nulls.kernel = a.only;
  const NullResult result = RunNulls(nulls);
  return DeliverAll(a, result.Passed(), kExitSelf, NullText(result),
                    NullText(result), NullJson(result));
}

// Measures how often a failing verdict names the bug.
int RunNames(const Arguments& a) {
  const Result<std::vector<int64_t>> sizes = Lengths(a.lengths);
  if (!sizes.ok()) return Fail(sizes.message());
  for (const int64_t keys : sizes.value()) {
    if (keys == 128 || keys == 4096) continue;
    return Fail(
        "naming has cases of 128 and of 4096 keys: --lengths 128 or 4096");
  }
  // A long run shows that it is alive.
  std::mutex telling;
  const auto tell = [&](const NamedBug& bug) {
    const std::lock_guard<std::mutex> lock(telling);
    Tell(NamedText(bug));
  };
  const NamingResult result = RunNaming(
      {sizes.value(), WordsOfList(a.only), a.threads, a.explain_seconds, tell});
  return DeliverAll(a, result.Passed(), kExitFail, NamingText(result),
                    NamingText(result), NamingJson(result));
}

// Measures what is lost where a profile is learned from the kernel: the zoo's
// fields, then bugs on their own patterns; or bugs alone, at --lengths.
int RunIdentified(const Arguments& a) {
  AutoOptions options;
  if (!a.lengths.empty()) {
    const Result<std::vector<int64_t>> lengths = Lengths(a.lengths);
    if (!lengths.ok()) return Fail(lengths.message());
    options.lengths = lengths.value();
  }
  options.only = WordsOfList(a.only);
  options.threads = a.threads;
  options.progress = &Tell;
  const auto rows = IdentifyRowsOf(a.op);
  if (rows.empty()) {
    return Fail("identify --op " + a.op + ": its kernels cannot be asked");
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
  return DeliverAll(a, passed, kExitFail, text, text,
                    IdentifyJson(zoos, bugs.value()));
}

// A measurement is a verb; `more` adds the options that only some have.
void Add(Parser* program, const char* name, const char* what,
         int (*run)(const Arguments&),
         const std::function<void(Verb*, Arguments*)>& more) {
  auto a = std::make_shared<Arguments>();
  Verb* verb = program->Add(name, what, "");
  more(verb, a.get());
  verb->Value("--op", &a->op, "Only this op")
      .OneOf({"attention_forward", "attention_backward", "attention_merge",
              "mamba3_scan", "mamba3_scan_backward", "ssd_scan"});
  verb->Value("--only", &a->only, "Only names that begin so").Type("NAME,...");
  verb->Value("--json", &a->json, "The result as JSON").Type("FILE|-");
  verb->Value("--markdown", &a->markdown, "The result as text").Type("FILE|-");
  verb->Value("--threads", &a->threads, "0: all").NonNegative();
  verb->run = [a, run] {
    const Status files = CheckDeliverables(
        {{"--json", a->json}, {"--markdown", a->markdown}}, {a->cases});
    return files.ok() ? run(*a) : Fail(files.message());
  };
}

void AddLengths(Verb* verb, Arguments* a) {
  verb->Value("--lengths", &a->lengths, "Counts of keys (tokens)")
      .Type("N,...");
}

void AddCases(Verb* verb, Arguments* a) {
  verb->Value("--budget", &a->budget, "Number of cases").Positive();
  verb->Value("--keys", &a->keys, "Keys (tokens) of each case").Type("N");
  verb->Value("--seed", &a->seed, "Of the cases").Type("N");
}

}  // namespace

int RunPower(int argc, char** argv) {
  return Guarded([&] {
    LetThreadsSleep();
    Parser program("Measures the judge by known bugs and correct kernels.", "",
                   "lockstep-power");
    Add(&program, "lengths", "Prove structural bugs at real lengths",
        &RunLengths, [](Verb* verb, Arguments* a) {
          AddLengths(verb, a);
          verb->Flag("--full", &a->full,
                     "Every row of the cover at every length");
          verb->Value("--without-probe", &a->without,
                      "Judge without these probes; all: without any")
              .Type("KIND,...");
        });
    Add(&program, "zoo", "Judge correct kernels at one length", &RunZooAtLength,
        &AddCases);
    Add(&program, "dials", "Find the mildest setting of each bug's dial",
        &RunDials, [](Verb* verb, Arguments* a) {
          verb->Value("--cases", &a->cases, "Ordinary cases").Type("FILE");
          verb->Value("--curves", &a->curves,
                      "How often each setting is found, over N draws")
              .NonNegative()
              .Type("N");
        });
    Add(&program, "statistics", "Count alarms of statistics on right kernels",
        &RunStatistics, &AddCases);
    Add(&program, "naming", "Count verdicts that name the bug", &RunNames,
        [](Verb* verb, Arguments* a) {
          AddLengths(verb, a);
          verb->Value("--explain-budget", &a->explain_seconds,
                      "Seconds of CPU time for each failure")
              .NonNegative();
        });
    Add(&program, "identify", "Judge bugs by the profile learned from them",
        &RunIdentified, &AddLengths);
    return program.Run(argc, argv);
  });
}

}  // namespace lockstep::verify::cli

int main(int argc, char** argv) {
  return lockstep::verify::cli::RunPower(argc, argv);
}
