// Kernels of this repository as candidates.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "optimized/mamba3_scan.h"
#include "optimized/plan.h"
#include "verify/base/nearest_name.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/ops/backends.h"
#include "verify/tables/scene.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxShift = 15;

std::optional<int64_t> ParseInteger(std::string_view text, int64_t low,
                                    int64_t high) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || text.empty() || value < low ||
      value > high) {
    return std::nullopt;
  }
  return value;
}

Status BadArgument(const std::string& argument, const std::string& wanted) {
  return Status::Error("candidate argument '" + argument + "': " + wanted);
}

Status SetTile(const std::string& argument, std::string_view value,
               Variation* how) {
  const std::string wanted =
      "want tile=QxK with Q >= 1 rows and K a multiple of 16 keys, such as "
      "tile=32x64";
  const size_t x = value.find('x');
  if (x == std::string_view::npos) return BadArgument(argument, wanted);
  const auto rows = ParseInteger(value.substr(0, x), 1, kMaxLength);
  const auto keys = ParseInteger(value.substr(x + 1), 16, kMaxLength);
  if (!rows || !keys || *keys % kStripes != 0)
    return BadArgument(argument, wanted);
  how->tile = {*rows, *keys};
  return {};
}

Status SetArgument(const std::string& argument, Variation* how) {
  const size_t equals = argument.find('=');
  const std::string key = argument.substr(0, equals);
  const std::string_view value =
      equals == std::string::npos
          ? std::string_view()
          : std::string_view(argument).substr(equals + 1);
  if (key == "shift") {
    const auto shift = ParseInteger(value, 0, kMaxShift);
    if (!shift) return BadArgument(argument, "want shift=0..15 elements");
    how->shift = *shift;
    return {};
  }
  if (key == "tile") return SetTile(argument, value, how);
  if (key == "threads") {
    const auto threads = ParseInteger(value, 1, kMaxThreads);
    if (!threads) return BadArgument(argument, "want threads=1..1024");
    how->threads = static_cast<int>(*threads);
    return {};
  }
  if (key == "native") {
    if (value != "0" && value != "1") {
      return BadArgument(argument, "want native=0 or native=1");
    }
    how->native_dot = value == "1";
    return {};
  }
  if (key == "chunk") {
    const auto chunk = ParseInteger(value, 1, optimized::kMamba3MaxChunk);
    if (!chunk) return BadArgument(argument, "want chunk=1..4096 tokens");
    how->chunk = *chunk;
    return {};
  }
  return BadArgument(argument,
                     "known are tile=QxK threads=N native=0|1 chunk=N shift=N");
}

Status SetTarget(const std::string& name, Variation* how) {
  for (const optimized::Target& target : optimized::Targets()) {
    if (target.name != name) continue;
    how->target = name;
    return {};
  }
  const std::string why = "candidate builtin:optimized@" + name + ": " +
                          optimized::UnknownTarget(name);
  if (name.starts_with("AVX3_")) return Status::Error(why);
  return Status::Error(why + "; " +
                       NearestIs(name, optimized::Targets(),
                                 [](const auto& t) { return t.name; }));
}

// "[@TARGET][,key=value]..."
Result<Variation> ParseArguments(std::string_view text) {
  Variation how;
  bool first = true;
  while (!text.empty()) {
    const bool at = first && text.front() == '@';
    if (!at && text.front() != ',') {
      return Status::Error("candidate arguments '" + std::string(text) +
                           "': want a comma before each");
    }
    first = false;
    text.remove_prefix(1);
    const size_t end = std::min(text.find(','), text.size());
    const std::string argument(text.substr(0, end));
    text.remove_prefix(end);
    RETURN_IF_ERROR(at ? SetTarget(argument, &how)
                       : SetArgument(argument, &how));
  }
  return how;
}

bool HasTiles(std::string_view op) {
  return op == "attention_forward" || op == "attention_backward";
}

bool HasChunks(std::string_view op) {
  return op == "mamba3_scan" || op == "ssd_scan";
}

// A scan in matrices has bits of its own.
std::optional<NumericProfile> ClaimsOf(const Variation& fixed) {
  if (!fixed.chunk) return std::nullopt;
  return LoadProfile("scan-chunked").value();
}

class BuiltinOptimized final : public Candidate, public Planner {
 public:
  explicit BuiltinOptimized(const Variation& fixed)
      : Candidate({.backend = "optimized",
                   .fixed = fixed,
                   .ours = true,
                   .claims = ClaimsOf(fixed),
                   .parts = true}) {}

  std::string Spec(const Variation& how) const override {
    return "builtin:optimized" + how.Suffix();
  }
  std::unique_ptr<Candidate> Copy() const override {
    return std::make_unique<BuiltinOptimized>(fixed());
  }
  std::unique_ptr<Candidate> Without(std::string_view op) const override {
    Variation rest = fixed();
    if (!HasChunks(op)) rest.chunk.reset();
    if (!HasTiles(op)) rest.tile.reset();
    if (op != "attention_forward") rest.native_dot.reset();
    if (rest.Suffix() == fixed().Suffix()) return nullptr;
    return std::make_unique<BuiltinOptimized>(rest);
  }
  Status Prepare(const CaseRequest& request) override {
    const std::string op = OpName(*request.call);
    const std::string refused = "candidate " + Candidate::Spec() + ": ";
    if (fixed().chunk && !HasChunks(op)) {
      return Status::Error(refused + "chunk is mamba3_scan's and ssd_scan's, " +
                           "not " + op + "'s");
    }
    if (fixed().tile && !HasTiles(op)) {
      return Status::Error(refused +
                           "tile is attention_forward's and "
                           "attention_backward's; " +
                           op + " takes threads and shift");
    }
    if (fixed().native_dot && op != "attention_forward") {
      return Status::Error(refused + "native is attention_forward's; " + op +
                           " takes " + (HasTiles(op) ? "tile, " : "") +
                           "threads and shift");
    }
    return {};
  }
  std::vector<Variation> Variations(const Trial& trial) const override {
    return trial.kernels().OptimizedVariations(fixed());
  }
  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation& how,
                 const OutputSet& outputs, Execution* execution) override {
    return RunOwnKernel(trial, how, outputs, execution);
  }
  RunOutcome Plan(const CaseRequest&, const BlockPlanScene& scene,
                  PlanTrace* trace, Execution*) override {
    return PlanByOptimized(scene, trace);
  }

 private:
  const Variation& fixed() const { return traits().fixed; }
};

class BuiltinReference final : public Candidate, public Planner {
 public:
  explicit BuiltinReference(const Variation& fixed)
      : Candidate({.backend = "reference",
                   .fixed = fixed,
                   .ours = true,
                   .parts = true}) {}

  std::string Spec(const Variation& how) const override {
    return "builtin:reference" + how.Suffix();
  }
  std::unique_ptr<Candidate> Copy() const override {
    return std::make_unique<BuiltinReference>(traits().fixed);
  }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    return trial.kernels().RunReference(outputs, execution);
  }
  RunOutcome Plan(const CaseRequest&, const BlockPlanScene& scene,
                  PlanTrace* trace, Execution*) override {
    return PlanByReference(scene, trace);
  }
};

}  // namespace

Result<std::unique_ptr<Candidate>> ParseBuiltinOptimized(
    std::string_view arguments) {
  ASSIGN_OR_RETURN(Variation how, ParseArguments(arguments));
  return std::unique_ptr<Candidate>(std::make_unique<BuiltinOptimized>(how));
}

Result<std::unique_ptr<Candidate>> ParseBuiltinReference(
    std::string_view arguments) {
  ASSIGN_OR_RETURN(Variation how, ParseArguments(arguments));
  if (how.target || how.tile || how.threads || how.native_dot || how.chunk) {
    return Status::Error(
        "candidate builtin:reference is scalar and takes shift=N only");
  }
  return std::unique_ptr<Candidate>(std::make_unique<BuiltinReference>(how));
}

}  // namespace lockstep::verify
