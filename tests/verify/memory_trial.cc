// Every kernel that the judge replays, in memory whose bounds are watched:
// under the address sanitizer nothing may be read or written beyond a tensor.
//   lockstep_memory_trial SHAPES [PART/PARTS]
// First each known bug runs on the case of its entry and on the calls of its
// laws. Then, on so many drawn shapes, right kernels and bugs run with drawn
// tiles, dials, cuts and bases, on all rows or on some. Last, each shape is
// judged with a drawn kernel, laws, probes, claims and the search for causes
// among them. PART/PARTS: of all that, every PARTS-th item.
// Exit codes: 0 nothing found, 1 something, 2 usage.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/base/mixing.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/emulated.h"
#include "verify/case/shards/shard.h"
#include "verify/causes/explain.h"
#include "verify/causes/hypotheses.h"
#include "verify/domain/draw.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/attention_merge/kernel.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"
#include "verify/emulator/mutants.h"
#include "verify/emulator/mutants_claims.h"
#include "verify/emulator/mutants_shards/bugs.h"
#include "verify/judge/judge.h"
#include "verify/ops/laws.h"
#include "verify/registry/ops.h"
#include "verify/tables/mutants.h"

namespace lockstep::verify {
namespace {

constexpr uint64_t kSeed = 20261129;
constexpr uint32_t kKey = 9;  // of the choices here, beside those of a case
// Kernels of a shape, and the multiply-adds of all their runs together.
constexpr int64_t kKernels = 48;
constexpr int64_t kShapeWork = int64_t{1} << 23;
constexpr int64_t kMostBytes = int64_t{1} << 26;
// Work of the search for causes, and of a claim's pairs.
constexpr double kExplainSeconds = 0.1;
constexpr int64_t kClaimWork = int64_t{1} << 18;

struct Part {
  int64_t number = 0;
  int64_t count = 1;
  bool Has(int64_t n) const { return n % count == number; }
};

struct Counts {
  int64_t runs = 0;
  int64_t refused = 0;
  int64_t laws = 0;
  int64_t judged = 0;
  int64_t found = 0;
};

std::string Numbered(const char* key, int64_t number) {
  return std::string(",") + key + "=" + std::to_string(number);
}

// A length that is legal as a tile, a chunk or a dial, seldom a large one.
int64_t Length(Draw* draw) {
  return draw->OneIn(8) ? draw->In(1, 65536) : draw->In(1, 40);
}

std::string BugSpec(const MutantInfo& bug, Draw* draw) {
  std::string spec = std::string("mutant:") + bug.name;
  if (bug.dial != nullptr && draw->OneIn(2)) {
    const bool bits = std::string_view(bug.dial) == "bits";
    spec += "@" + std::to_string(bits ? draw->In(1, 23) : Length(draw));
  }
  if (bug.merge() || draw->OneIn(2)) return spec;
  if (bug.scan() || bug.scan_gradients()) {
    return spec + Numbered("chunk", Length(draw));
  }
  const int64_t rows = Length(draw), keys = Length(draw);
  if (rows * keys > 1 << 20) return spec;  // of scores, as no kernel has
  return spec + Numbered("tile", rows) + "x" + std::to_string(keys);
}

std::string OptimizedSpec(const std::string& op, Draw* draw) {
  std::string spec = "builtin:optimized" + Numbered("threads", draw->In(1, 3));
  const bool attention = op.starts_with("attention_") && op.ends_with("ward");
  if (attention && draw->OneIn(2)) {
    spec += Numbered("tile", Length(draw)) + "x" +
            std::to_string(16 * draw->In(1, 9));
  }
  if ((op == "mamba3_scan" || op == "ssd_scan") && draw->OneIn(2)) {
    spec += Numbered("chunk", draw->In(1, 40));
  }
  return spec + Numbered("shift", draw->In(0, 15));
}

// One of all kernels, most often one of the op.
std::string KernelSpec(const std::string& op, Draw* draw) {
  const auto one_of = [&](const auto& all) -> const auto& {
    return all[static_cast<size_t>(
        draw->In(0, static_cast<int64_t>(std::size(all)) - 1))];
  };
  if (op == "block_plan") {
    return std::string("mutant:") + one_of(PlanMutants()).name;
  }
  switch (draw->In(0, 7)) {
    case 0:
      return OptimizedSpec(op, draw);
    case 1:
      return "variant:" +
             (op == "attention_forward"      ? one_of(AttentionZoo()).name()
              : op == "attention_backward"   ? one_of(GradZoo()).name()
              : op == "attention_merge"      ? one_of(MergeZoo()).name()
              : op == "mamba3_scan_backward" ? one_of(ScanGradZoo()).name()
                                             : one_of(ScanZoo()).name());
    case 2: {
      const ShardBug& bug = one_of(ShardBugs());
      const std::string own = bug.shard;
      return std::string("mutant:") + bug.name +
             ",shard=" + own.substr(0, own.find(':') + 1) +
             std::to_string(draw->In(1, draw->OneIn(4) ? kMostShards : 8));
    }
    case 3:
      return std::string("mutant:") + one_of(ClaimBugs()).name;
    default:
      return BugSpec(*one_of(HypothesesOf(op, nullptr)).bug, draw);
  }
}

class MemoryTrial {
 public:
  explicit MemoryTrial(const Part& part) : part_(part) {}

  void RunAtHome();
  void RunOnShapes(int64_t shapes);
  bool Print() const;

 private:
  void Found(const std::string& what) {
    ++counts_.found;
    std::printf("FOUND %s\n", what.c_str());
    std::fflush(stdout);
  }
  // An answer of the kernel; none where it does not compute the trial.
  Result<OutputSet> Answer(Candidate& kernel, const CaseRequest& request,
                           const Trial& trial, Draw* draw);
  // The trial, and where there is one, the calls of a law.
  void Run(const std::string& spec, const CaseRequest& request,
           const Trial& trial, const std::vector<std::string>& laws,
           Draw* draw);
  void RunTables(const Case& c, const Trial& trial);
  void RunSome(const Case& c, Draw* draw);
  void Judge(const Case& c, Draw* draw);

  const Part part_;
  Counts counts_;
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

Result<OutputSet> MemoryTrial::Answer(Candidate& kernel,
                                      const CaseRequest& request,
                                      const Trial& trial, Draw* draw) {
  const int64_t shift = kernel.traits().fixed.shift;
  Result<OutputSet> outputs = trial.Allocate(shift);
  if (!outputs.ok()) return outputs;
  std::vector<int64_t> rows;
  if (draw->OneIn(3)) {
    const int64_t step = draw->In(1, 5);
    for (int64_t row = draw->In(0, trial.rows() - 1); row < trial.rows();
         row += step) {
      rows.push_back(row);
    }
  }
  auto* const emulated = dynamic_cast<EmulatedCandidate*>(&kernel);
  Execution execution;
  const RunOutcome outcome =
      emulated != nullptr
          ? emulated->RunRows(trial, rows, outputs.value(), &execution)
          : kernel.Run(request, trial, kernel.traits().fixed, outputs.value(),
                       &execution);
  const bool ran = outcome.state == RunOutcome::State::kRan;
  ++(ran ? counts_.runs : counts_.refused);
  for (const LaneTensor& tensor : outputs->tensors) {
    if (tensor.buffer.GuardsIntact()) continue;
    Found(kernel.Spec() + " on '" + request.line + "': writes beyond a tensor");
  }
  return ran ? std::move(outputs) : Status::Error(outcome.message);
}

void MemoryTrial::Run(const std::string& spec, const CaseRequest& request,
                      const Trial& trial, const std::vector<std::string>& laws,
                      Draw* draw) {
  auto kernel = ParseCandidate(spec);
  if (!kernel.ok()) return Found(spec + ": " + kernel.message());
  if (!kernel.value()->Prepare(request).ok()) return;
  const std::string before = trial.StorageDigest();
  const bool ran = Answer(*kernel.value(), request, trial, draw).ok();
  if (trial.StorageDigest() != before) {
    Found(spec + " on '" + request.line + "': changes its inputs");
  }
  if (!ran) return;
  for (const std::string& name : laws) {
    const uint64_t salt = static_cast<uint64_t>(draw->In(0, 1 << 20));
    Result<Law> law = trial.laws().MakeLaw(name, salt);
    if (!law.ok()) return Found(request.line + ": " + law.message());
    OutputSet last;
    for (const LawCall& call : law->calls) {
      if (call.take) call.take(last);
      auto answer = Answer(*kernel.value(), request, *call.trial, draw);
      ++counts_.laws;
      if (!answer.ok()) break;
      last = std::move(answer.value());
    }
  }
}

void MemoryTrial::RunAtHome() {
  int64_t number = 0;
  for (const MutantInfo& bug : Mutants()) {
    if (!part_.Has(number++)) continue;
    Draw draw(kSeed, kKey, static_cast<uint64_t>(number));
    const auto sequence = ParseCaseSequence(bug.pattern);
    if (!sequence.ok()) return Found(sequence.message());
    for (const Case& c : sequence.value()) {
      const auto trial = TrialRowOf(c).value().open(c, {});
      if (!trial.ok()) return Found(trial.message());
      const CaseRequest request = {.call = &c, .line = MinimalLine(c)};
      const auto laws = trial.value()->laws().LawNames();
      const std::string spec = std::string("mutant:") + bug.name;
      Run(spec, request, *trial.value(), laws, &draw);
      Run(BugSpec(bug, &draw), request, *trial.value(), laws, &draw);
    }
  }
}

void MemoryTrial::RunTables(const Case& c, const Trial& trial) {
  std::vector<std::string> specs = {"builtin:reference", "builtin:optimized"};
  for (const PlanMutantInfo& bug : PlanMutants()) {
    specs.push_back(std::string("mutant:") + bug.name);
  }
  const CaseRequest request = {.call = &c, .line = MinimalLine(c)};
  for (const std::string& spec : specs) {
    const auto kernel = ParseCandidate(spec);
    if (!kernel.ok()) return Found(spec + ": " + kernel.message());
    PlanTrace trace;
    Execution execution;
    PlanBy(*kernel.value(), request, *trial.scene(), &trace, &execution);
    ++counts_.runs;
  }
}

void MemoryTrial::RunSome(const Case& c, Draw* draw) {
  MaterialiseOptions options;
  options.max_bytes = kMostBytes;
  const auto opened = TrialRowOf(c).value().open(c, options);
  if (!opened.ok()) return;  // too large
  const Trial& trial = *opened.value();
  if (trial.scene() != nullptr) return RunTables(c, trial);
  const CaseRequest request = {.call = &c, .line = MinimalLine(c)};
  const int64_t kernels =
      std::clamp<int64_t>(kShapeWork / WorkToExplain(trial), 2, kKernels);
  const std::vector<std::string> all = trial.laws().LawNames();
  for (int64_t n = 0; n < kernels; ++n) {
    std::vector<std::string> laws;
    if (n < std::ssize(all)) laws = {all[static_cast<size_t>(n)]};
    const std::string spec =
        n == 0 ? "builtin:reference" : KernelSpec(OpName(c), draw);
    Run(spec, request, trial, laws, draw);
  }
}

void MemoryTrial::Judge(const Case& c, Draw* draw) {
  const std::string spec = KernelSpec(OpName(c), draw);
  const auto kernel = ParseCandidate(spec);
  const CaseRequest request = {.call = &c, .line = MinimalLine(c)};
  if (!kernel.ok() || !kernel.value()->Prepare(request).ok()) return;
  JudgeOptions options;
  options.materialise.max_bytes = kMostBytes;
  options.threads = 1;
  options.max_variations = 3;
  options.causes = options.one_field = options.pictures = true;
  options.explain_seconds = kExplainSeconds;
  options.claim_budget.work = kClaimWork;
  options.claim_budget.runs = 2;
  for (size_t n = 0; n < kClaims; ++n) {
    if (draw->OneIn(3)) options.try_claims.Add(static_cast<Claim>(n));
  }
  const CaseResult result =
      JudgeCase(request, *kernel.value(), options, nullptr);
  ++counts_.judged;
  for (const Finding& finding : result.findings) {
    if (finding.tier != Tier::kSelf) continue;
    Found(spec + " on '" + request.line + "': " + finding.check + ": " +
          finding.message);
  }
}

void MemoryTrial::RunOnShapes(int64_t shapes) {
  const auto domains = Domains();
  for (int64_t n = 0; n < shapes; ++n) {
    if (!part_.Has(n)) continue;
    const auto index = static_cast<uint64_t>(n);
    Draw draw(kSeed + 1, kKey, index);
    DomainOptions options;
    options.guards = DomainOptions::Guards::kSome;
    options.in_shards = draw.OneIn(2);
    options.gpu_orders = draw.OneIn(2);
    // Ops in turn, so that every part has all.
    const Domain& domain = domains[Mix(index) % domains.size()];
    const auto sequence = DrawCase(domain, options, kSeed, index);
    for (const Case& c : sequence) RunSome(c, &draw);
    Judge(sequence.back(), &draw);
  }
}

bool MemoryTrial::Print() const {
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start_;
  const bool good = counts_.found == 0 && counts_.runs > 0 &&
                    counts_.laws > 0 && counts_.judged > 0;
  std::printf(
      "%s: part %lld of %lld: %lld runs, %lld of them of laws; %lld refused; "
      "%lld judged; %lld findings; %.0f s\n",
      good ? "good" : "BAD", static_cast<long long>(part_.number),
      static_cast<long long>(part_.count), static_cast<long long>(counts_.runs),
      static_cast<long long>(counts_.laws),
      static_cast<long long>(counts_.refused),
      static_cast<long long>(counts_.judged),
      static_cast<long long>(counts_.found), seconds.count());
  return good;
}

bool ReadNumber(std::string_view text, int64_t least, int64_t* number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc{} && stop == end && *number >= least;
}

int Main(std::span<const char* const> arguments) {
  int64_t shapes = 0;
  Part part;
  const std::string_view share = arguments.size() > 1 ? arguments[1] : "0/1";
  const size_t slash = std::min(share.find('/'), share.size());
  const bool good =
      !arguments.empty() && ReadNumber(arguments[0], 1, &shapes) &&
      ReadNumber(share.substr(0, slash), 0, &part.number) &&
      slash < share.size() &&
      ReadNumber(share.substr(slash + 1), part.number + 1, &part.count);
  if (!good) {
    std::fprintf(stderr, "lockstep_memory_trial SHAPES [PART/PARTS]\n");
    return 2;
  }
  MemoryTrial trial(part);
  trial.RunAtHome();
  trial.RunOnShapes(shapes);
  return trial.Print() ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::verify

int main(int argc, char** argv) {
  return lockstep::verify::Main(
      {argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0)});
}
