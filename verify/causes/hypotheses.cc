#include "verify/causes/hypotheses.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>

#include "verify/base/format.h"
#include "verify/case/shards/shard.h"
#include "verify/emulator/mutants_shards/bugs.h"

namespace lockstep::verify {
namespace {

// Tiles of queries x keys, and chunks of tokens, that kernels have.
constexpr std::array<std::array<int64_t, 2>, 8> kTiles = {{{16, 16},
                                                           {32, 32},
                                                           {64, 64},
                                                           {128, 128},
                                                           {64, 128},
                                                           {128, 64},
                                                           {64, 32},
                                                           {256, 256}}};
constexpr int kLeastTile = 8;
constexpr int64_t kChunks[] = {8, 16, 32, 64, 128, 256};
// Bits of precision that are left, and counts of anything else.
constexpr int kBits[] = {4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16};
constexpr int kCounts[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32, 64};

constexpr std::string_view kShardFamily = "shards";

// Whether bugs of scans are bugs of that op.
bool IsScan(std::string_view op) {
  return std::any_of(
      Mutants().begin(), Mutants().end(),
      [&](const MutantInfo& bug) { return bug.scan() && bug.op() == op; });
}

// Whether a bug of that op can be one of this op.
bool Related(const std::string& bug, const std::string& op) {
  return bug == op || (IsScan(bug) && IsScan(op));
}

// The variant of the zoo that computes as the profile says, where the bug is at
// home in ordinary arithmetic.
std::string BaseOf(const MutantInfo& bug, const NumericProfile* profile) {
  if (profile == nullptr || profile->exact) return bug.base;
  const bool narrow = profile->p != NumberType::kF32;
  const std::string_view base = bug.base;
  if (bug.attention() && base == "exact") return narrow ? "flash" : "cpu";
  if (bug.gradients() && base == "grad-cpu" && narrow) return "grad-flash";
  return bug.base;
}

// "attn.x@3" of "mutant:attn.x@3,base=cpu,tile=16x16", and ",tile=16x16".
std::string BugIn(const std::string& spec) {
  const size_t colon = spec.find(':') + 1;
  return spec.substr(colon, spec.find(',') - colon);
}
std::string TileIn(const std::string& spec) {
  const size_t at = std::min(spec.find(",tile="), spec.find(",chunk="));
  return at == std::string::npos ? "" : spec.substr(at);
}

// Kernels that nothing but their arithmetic tells from others.
bool IsUsual(const std::string& variant) {
  constexpr const char* kUsual[] = {"variant:exact", "variant:cpu",
                                    "variant:flash", "variant:scan"};
  return std::find(std::begin(kUsual), std::end(kUsual), variant) !=
         std::end(kUsual);
}

// Bugs of shards as rows of the catalogue, which break no point of a kernel.
const std::vector<MutantInfo>& ShardInfos() {
  static const std::vector<MutantInfo> kInfos = [] {
    std::vector<MutantInfo> infos;
    for (const ShardBug& bug : ShardBugs()) {
      const FaultPoint none =
          bug.scan ? FaultPoint(ScanFault::kNone) : FaultPoint(Fault::kNone);
      infos.emplace_back(none, bug.name, kShardFamily.data(), bug.breaks,
                         bug.pattern, bug.usual);
    }
    return infos;
  }();
  return kInfos;
}

// "the last key is left out" of "the last N keys are left out".
std::string OfOneKey(std::string sentence, size_t n) {
  sentence.erase(n, std::string_view("N ").size());
  const size_t keys = sentence.find("keys", n);
  const bool verb = sentence.compare(keys, 8, "keys are") == 0;
  return sentence.replace(keys, verb ? 8 : 4, verb ? "key is" : "key");
}

}  // namespace

std::string Hypothesis::Name() const {
  const std::string name = bug->name;
  return second == nullptr ? name : name + "+" + second->name;
}

// "the last 32 visible keys are left out" of "the last N ...", in a pair as the
// catalogue has it.
std::string Hypothesis::Sentence() const {
  std::string sentence = bug->breaks;
  if (second != nullptr) return sentence + "; " + second->breaks;
  if (bug->dial == nullptr) return sentence;
  const std::string own = BugIn(spec);
  const size_t at = own.find('@');
  const std::string count = at == std::string::npos
                                ? Format("%g", bug->severity)
                                : own.substr(at + 1);
  const size_t n = sentence.find('N');
  const size_t keys = sentence.find(" keys", n);
  if (count == "1" && keys != std::string::npos) return OfOneKey(sentence, n);
  if (n != std::string::npos) return sentence.replace(n, 1, count);
  return sentence + ", " + bug->dial + " = " + count;
}

std::optional<Hypothesis> PairOf(const Hypothesis& first,
                                 const Hypothesis& second) {
  const bool together = first.bug->gradients() == second.bug->gradients() &&
                        !first.bug->gradients() && !first.bug->merge() &&
                        !InShards(first) && !InShards(second) &&
                        first.bug != second.bug;
  if (!together) return std::nullopt;
  const std::string& right = IsUsual(first.right) ? second.right : first.right;
  const std::string base = right.substr(std::string_view("variant:").size());
  return Hypothesis{first.bug, second.bug,
                    "mutant:" + BugIn(first.spec) + "+" + BugIn(second.spec) +
                        ",base=" + base + TileIn(first.spec),
                    right};
}

std::vector<Hypothesis> HypothesesOf(const std::string& op,
                                     const NumericProfile* profile) {
  std::vector<Hypothesis> all;
  for (const MutantInfo& bug : Mutants()) {
    if (!Related(bug.op(), op)) continue;
    const std::string base = BaseOf(bug, profile);
    std::string spec = std::string("mutant:") + bug.name;
    if (base != bug.base) spec += ",base=" + base;
    all.push_back({&bug, nullptr, std::move(spec), "variant:" + base});
  }
  // Of bugs that are alike, the op's own is the one to name.
  std::stable_partition(all.begin(), all.end(), [&](const Hypothesis& one) {
    return one.bug->op() == op;
  });
  return all;
}

std::string RightKernelOf(const std::string& op,
                          const NumericProfile* profile) {
  std::map<std::string, int64_t> often;
  std::string usual;
  for (const Hypothesis& one : HypothesesOf(op, profile)) {
    if (one.bug->op() != op) continue;
    if (++often[one.right] > often[usual]) usual = one.right;
  }
  return usual;
}

std::vector<Hypothesis> ShardHypothesesOf(const std::string& op,
                                          const NumericProfile* profile,
                                          int64_t count) {
  std::vector<Hypothesis> all;
  const bool narrow = profile != nullptr && profile->p != NumberType::kF32;
  for (const MutantInfo& bug : ShardInfos()) {
    if (!Related(bug.op(), op)) continue;
    const std::string base = bug.attention() && narrow ? "flash" : bug.base;
    const ShardBug& of = *FindShardBug(bug.name).value();
    const auto axis = static_cast<size_t>(ReadShard(of.shard)->axis);
    all.push_back({&bug, nullptr,
                   std::string("mutant:") + bug.name +
                       ",shard=" + std::string(kShardAxes[axis]) + ":" +
                       std::to_string(count) + ",base=" + base,
                   "variant:" + base});
  }
  return all;
}

bool InShards(const Hypothesis& hypothesis) {
  return hypothesis.bug->family == kShardFamily;
}

bool ComputesRowByRow(const std::string& op) {
  return std::any_of(
      Mutants().begin(), Mutants().end(),
      [&](const MutantInfo& bug) { return bug.attention() && bug.op() == op; });
}

std::vector<std::string> TilesOf(const std::string& op, int64_t longest) {
  std::vector<std::string> all;
  const bool chunks = std::any_of(
      Mutants().begin(), Mutants().end(), [&](const MutantInfo& bug) {
        return (bug.scan() || bug.scan_gradients()) && bug.op() == op;
      });
  if (chunks) {
    for (const int64_t chunk : kChunks) {
      if (chunk < 2 * longest) all.push_back("chunk=" + std::to_string(chunk));
    }
    return all;
  }
  // A merge has no tiles.
  const bool merges = std::any_of(
      Mutants().begin(), Mutants().end(),
      [&](const MutantInfo& bug) { return bug.merge() && bug.op() == op; });
  if (merges) return all;
  for (const auto& [rows, keys] : kTiles) {
    if (std::max(rows, keys) >= 2 * longest) continue;
    all.push_back("tile=" + std::to_string(rows) + "x" + std::to_string(keys));
  }
  return all;
}

Hypothesis InTile(const Hypothesis& hypothesis, const std::string& tile) {
  return {hypothesis.bug, hypothesis.second, hypothesis.spec + "," + tile,
          hypothesis.right};
}

bool MayBeTile(const Hypothesis& hypothesis) {
  if (hypothesis.bug->dial == nullptr || hypothesis.second != nullptr ||
      std::string_view(hypothesis.bug->dial) == "bits") {
    return false;
  }
  const std::string own = BugIn(hypothesis.spec);
  const size_t at = own.find('@');
  return at != std::string::npos && std::stoi(own.substr(at + 1)) >= kLeastTile;
}

std::vector<Hypothesis> AtOtherDials(const Hypothesis& hypothesis) {
  std::vector<Hypothesis> all;
  if (hypothesis.bug->dial == nullptr) return all;
  const std::string name = std::string("mutant:") + hypothesis.bug->name;
  const std::string rest = hypothesis.spec.substr(name.size());
  const auto add = [&](int severity) {
    all.push_back({hypothesis.bug, nullptr,
                   name + "@" + std::to_string(severity) + rest,
                   hypothesis.right});
  };
  if (std::string_view(hypothesis.bug->dial) == "bits") {
    for (const int bits : kBits) add(bits);
  } else {
    for (const int count : kCounts) add(count);
  }
  return all;
}

}  // namespace lockstep::verify
