// lockstep export: a case as files, for tools that are not ours.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>

#include "verify/cli/cli.h"
#include "verify/export.h"
#include "verify/self_check.h"

namespace lockstep::verify::cli {
namespace {

struct Arguments {
  CaseArguments cases;
  std::string out;
  std::string max_memory;
  std::string seed;
};

// Calls in order, as `files:DIR` numbers them.
struct Call {
  Case request;
  std::vector<std::string> search_directories;
};

int Export(const Arguments& a) {
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
  const Status sound = SelfCheck();
  if (!sound.ok()) {
    return Fail("self-check failed: " + sound.message(), kExitSelf);
  }
  std::vector<Call> calls;
  for (const Job& job : jobs.value()) {
    for (const Case& c : job.sequence) {
      calls.push_back({c, job.search_directories});
      if (seed) calls.back().request.seed = *seed;
    }
  }
  // All of them are sound before the first is written.
  for (const Call& call : calls) {
    Status status = ValidateCase(call.request);
    if (status.ok() && EstimateBytes(call.request) > options.max_bytes) {
      status = Status::Error("the case takes more than --max-memory");
    }
    if (!status.ok()) return Fail("case: " + status.message());
  }
  std::error_code error;
  if (calls.size() > 1) std::filesystem::create_directory(a.out, error);
  for (size_t n = 0; n < calls.size(); ++n) {
    options.search_directories = calls[n].search_directories;
    const std::string folder =
        calls.size() == 1 ? a.out : a.out + "/" + std::to_string(n + 1);
    const Status status = ExportCase(calls[n].request, folder, options);
    if (!status.ok()) return Fail(status.message());
    std::cout << folder << "  " << MinimalLine(calls[n].request) << "\n";
  }
  return kExitPass;
}

}  // namespace

void AddExport(Parser* program) {
  Verb* verb = program->Add(
      "export", "Write inputs and expected outputs of cases as safetensors",
      "Examples:\n"
      "  lockstep export 'attention_forward sq=8 skv=8 d=16' --out case1\n"
      "  lockstep export --cases my.cases --out out   # out/1, out/2, ...\n\n"
      "Judge what a kernel made of the inputs, as outputs.safetensors in the\n"
      "same folder: lockstep verify CASE --candidate files:case1 --profile "
      "exact-f32");
  auto a = std::make_shared<Arguments>();
  AddCaseArguments(verb, &a->cases);
  verb->Value("--out", &a->out, "Folder; made if absent")
      .Required()
      .Type("DIR");
  verb->Value("--seed", &a->seed, "Seed of every case, instead of its own")
      .Type("N");
  verb->Value("--max-memory", &a->max_memory,
              "Refuse cases above this (default: half the memory)")
      .Type("SIZE");
  verb->run = [a] { return Export(*a); };
}

}  // namespace lockstep::verify::cli
