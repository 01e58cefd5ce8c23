// lockstep export: a case as files, for tools that are not ours.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "verify/base/io/files.h"
#include "verify/base/printable.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/probe_folders.h"
#include "verify/cli/cli.h"
#include "verify/domain/draws/further.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"
#include "verify/report/export.h"
#include "verify/report/export_calls.h"
#include "verify/run/self_check.h"

namespace lockstep::verify::cli {
namespace {

struct ExportArguments {
  CaseArguments cases;
  std::string out;
  std::string max_memory;
  std::string seed;
  std::string profile;
  int64_t draws = -1;  // not typed
  bool minimal = false;
  bool probes = false;
  bool expected = false;
};

// Calls in order, as `files:DIR` numbers them.
struct Call {
  Case request;
  std::string folder;
  SharedDirectories search_directories;
  bool alone = true;  // no call of a longer sequence
};

// The case's probes beside it, and the index of them.
Status ExportProbes(const Case& c, const std::string& folder, bool expected,
                    const MaterialiseOptions& options) {
  const std::vector<ProbeFolder> probes = ProbeFolders(c);
  if (probes.empty()) return {};
  const std::string base = folder + "/probes";
  std::error_code error;
  std::filesystem::create_directory(base, error);
  for (const ProbeFolder& probe : probes) {
    const std::string place = base + "/" + probe.name;
    RETURN_IF_ERROR(ExportCase(probe.call, place, expected, options));
    std::cout << Printable(place) << "  " << Printable(MinimalLine(probe.call))
              << "\n";
  }
  return WriteFileAtomically(base + "/index.txt", FormatProbeIndex(probes));
}

// What is written, and where. What is to be refused is left aside.
std::vector<Call> CallsOf(const std::vector<Job>& jobs, const std::string& out,
                          const std::optional<uint64_t>& seed) {
  int64_t total = 0;
  for (const Job& job : jobs) {
    total += static_cast<int64_t>(job.sequence.size());
  }
  std::vector<Call> calls;
  int64_t number = 0;
  for (const Job& job : jobs) {
    for (const Case& c : job.sequence) {
      ++number;
      // What is to be refused has no inputs; its number stays its own, as
      // `files:` counts.
      if (c.expect == Expect::kRefuse) continue;
      calls.push_back({c, total == 1 ? out : out + "/" + std::to_string(number),
                       job.search_directories, job.sequence.size() == 1});
      if (seed) calls.back().request.seed = *seed;
    }
  }
  const int64_t aside = total - static_cast<int64_t>(calls.size());
  if (aside > 0) {
    Note(std::to_string(aside) + " of " + std::to_string(total) +
         (aside == 1 ? " cases expects" : " cases expect") +
         " to be refused; left out, and the numbers of their folders stay "
         "unused");
  }
  return calls;
}

// A folder a case: its inputs and nothing of the judge.
int ExportFiles(const ExportArguments& a, const std::vector<Call>& calls,
                MaterialiseOptions options) {
  std::error_code error;
  if (calls[0].folder != a.out) std::filesystem::create_directory(a.out, error);
  for (const Call& call : calls) {
    options.search_directories = *call.search_directories;
    const Status status =
        ExportCase(call.request, call.folder, a.expected, options);
    if (!status.ok()) return Fail(status.message());
    std::cout << Printable(call.folder) << "  "
              << Printable(MinimalLine(call.request)) << "\n";
    if (!a.probes) continue;
    const Status probes =
        ExportProbes(call.request, call.folder, a.expected, options);
    if (!probes.ok()) return Fail(probes.message());
  }
  return kExitPass;
}

// One folder with all calls that judging the cases takes.
int ExportCalls(const ExportArguments& a, const std::vector<Call>& calls,
                MaterialiseOptions options) {
  CallExport request;
  request.folder = a.out;
  request.expected = a.expected;
  if (!a.profile.empty()) {
    Result<NumericProfile> profile = LoadProfile(a.profile);
    if (!profile.ok()) return Fail(profile.message());
    request.profile = std::move(profile.value());
  }
  std::error_code error;
  if (std::filesystem::exists(IndexFile(a.out), error)) {
    return Fail(IndexFile(a.out) +
                " exists, and may have answers to its calls: give another "
                "folder, or remove this one");
  }
  const std::filesystem::path parent =
      std::filesystem::absolute(a.out, error).parent_path();
  if (!std::filesystem::is_directory(parent, error)) {
    return Fail(a.out + ": cannot be made: no folder " + parent.string());
  }
  CallExporter exporter(std::move(request));
  const int64_t draws = a.draws < 0 ? kUsualFurther : a.draws;
  for (const Call& call : calls) {
    options.search_directories = *call.search_directories;
    const Result<int64_t> made =
        exporter.Add(call.request, call.alone ? draws : 0, options);
    if (!made.ok()) return Fail(made.message());
    std::cout << Printable(a.out) << "  "
              << Printable(MinimalLine(call.request)) << "  (" << made.value()
              << (made.value() == 1 ? " call)" : " calls)") << "\n";
  }
  const Status finished = exporter.Finish();
  return finished.ok() ? kExitPass : Fail(finished.message());
}

int Export(const ExportArguments& a) {
  if (a.probes && !a.minimal) {
    return Fail("--probes needs --minimal: without it every call is written");
  }
  if (a.minimal && !a.profile.empty()) {
    return Fail(
        "--candidate-profile chooses calls, which --minimal does not write");
  }
  if (a.minimal && a.draws >= 0) {
    return Fail("--draws adds calls, which --minimal does not write");
  }
  const Result<std::vector<Job>> jobs = ReadJobs(a.cases);
  if (!jobs.ok()) return Fail(jobs.message());
  MaterialiseOptions options;
  options.max_bytes = DefaultMemoryBudget();
  if (!a.max_memory.empty()) {
    const Result<int64_t> memory = ParseMemory(a.max_memory);
    if (!memory.ok()) return Fail(memory.message());
    options.max_bytes = memory.value();
  }
  std::optional<uint64_t> seed;
  if (!a.seed.empty()) {
    const Result<uint64_t> parsed = ParseSeed(a.seed);
    if (!parsed.ok()) return Fail(parsed.message());
    seed = parsed.value();
  }
  const Status sound = SelfCheck(Ops());
  if (!sound.ok()) {
    return Fail("self-check failed: " + sound.message(), kExitSelf);
  }
  const std::vector<Call> calls = CallsOf(jobs.value(), a.out, seed);
  if (calls.empty()) return Fail("no case is left to export");
  // All of them are sound before the first is written.
  for (const Call& call : calls) {
    Status status = ValidateCase(call.request);
    if (status.ok() && EstimateBytes(call.request) > options.max_bytes) {
      status = Status::Error("the case takes more than --max-memory");
    }
    if (!status.ok()) return Fail("case: " + status.message());
  }
  return a.minimal ? ExportFiles(a, calls, options)
                   : ExportCalls(a, calls, options);
}

}  // namespace

void AddExport(Parser* program) {
  Verb* verb = program->Add(
      "export", "Write cases as files, for kernels that run elsewhere",
      "Examples:\n  lockstep export 'attention_forward sq=8 skv=8 d=16' --out "
      "calls1\n  lockstep export --cases my.cases --out out "
      "--candidate-profile flash-bf16\n  lockstep export 'mamba3_scan t=8' "
      "--out case1 --minimal --with-expected\n\nThe folder has every call that "
      "the judge needs (the case, a repeat, its\nprobes, the calls of its "
      "laws, its further draws), an index, and\nlockstep_calls.py, which runs "
      "a kernel on them. Then run:\n  lockstep verify CASE --candidate "
      "files:calls1 --profile P");
  auto a = std::make_shared<ExportArguments>();
  AddCaseArguments(verb, &a->cases);
  verb->Value("--out", &a->out, "Folder, created if it does not exist")
      .Required()
      .Type("DIR");
  verb->Value("--candidate-profile", &a->profile,
              "Only probes and laws of this contract (default: of any)")
      .Type("NAME|FILE");
  verb->Value("--draws", &a->draws,
              "Further draws of each case, as verify judges them "
              "(default 2; 0: none)")
      .Range(0, kMostFurther)
      .Type("N");
  verb->Flag("--minimal", &a->minimal,
             "Only the cases' own inputs, one folder for each case");
  verb->Flag("--probes", &a->probes,
             "Also the exact probes, in probes/NAME; only with --minimal");
  verb->Flag("--with-expected", &a->expected,
             "Also the reference's answers, as expected.safetensors");
  verb->Value("--seed", &a->seed, "Seed of every case, instead of its own")
      .Type("N");
  verb->Value(
          "--max-memory", &a->max_memory,
          "Refuse cases that need more memory (default: half of the machine's)")
      .Type("SIZE");
  verb->run = [a] { return Export(*a); };
}

}  // namespace lockstep::verify::cli
