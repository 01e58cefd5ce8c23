#include "optimized/plan.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/simd/targets.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {
namespace {

// Tile sizes hardly matter between 64 and 512 (2 % measured): keys of a tile
// stay in L2 for head sizes up to 256, and few enough rows that two workers
// find even work in short sequences.
constexpr int64_t kTileRows = 48;  // whole blocks of 6 and of 8 rows
constexpr int64_t kTileKeys = 256;

Result<std::string> ChooseTarget(const std::string& asked) {
  std::string known;
  for (const Target& target : Targets()) {
    if (asked.empty() ? target.supported : target.name == asked) {
      if (target.supported) return target.name;
      return Status::Error("target " + asked + " is not supported by this CPU");
    }
    known += " " + target.name;
  }
  if (asked.empty()) {
    return Status::Error("this CPU supports none of the compiled targets:" +
                         known);
  }
  return Status::Error("unknown target " + asked + "; compiled are" + known);
}

Status CheckCaps(const Caps& caps) {
  if (caps.threads < 0 || caps.threads > 4096) {
    return Status::Error("threads=" + std::to_string(caps.threads) +
                         " is out of range; want 1..4096");
  }
  if (caps.tile_rows < 0 || caps.tile_rows > kMaxLength) {
    return Status::Error("tile rows " + std::to_string(caps.tile_rows) +
                         " are out of range; want 1.." +
                         std::to_string(kMaxLength));
  }
  if (caps.tile_keys < 0 || caps.tile_keys > kMaxLength ||
      caps.tile_keys % kStripes != 0) {
    return Status::Error("tile keys " + std::to_string(caps.tile_keys) +
                         " are not usable; want a multiple of " +
                         std::to_string(kStripes));
  }
  return Status();
}

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::vector<Target> Targets() {
  // The self-test runs once.
  static const std::vector<Target> kTargets = [] {
    std::vector<Target> targets;
    for (const int64_t bit : CompiledTargets()) {
      Target target;
      target.name = hwy::TargetName(bit);
      target.supported = (hwy::SupportedTargets() & bit) != 0;
      target.native_dot = NativeDotWorks(target.name);
      targets.push_back(target);
    }
    return targets;
  }();
  return kTargets;
}

namespace {

bool HasNativeDot(const std::string& name) {
  for (const Target& target : Targets()) {
    if (target.name == name) return target.native_dot;
  }
  return false;
}

}  // namespace

std::string Plan::ToString() const {
  return "target=" + target + " threads=" + std::to_string(threads) +
         " tile=" + std::to_string(tile_rows) + "x" +
         std::to_string(tile_keys) + " dot=" + (native_dot ? "pairs" : "f32") +
         " path=" + (fixed_m ? "fixed" : "online") +
         " pack=" + (pack_ahead ? "ahead" : "tile") +
         " row_tiles=" + std::to_string(row_tiles) +
         " key_tiles=" + std::to_string(key_tiles);
}

Result<Plan> MakePlan(const AttentionForwardProblem& problem,
                      const Caps& caps) {
  const Status status = CheckCaps(caps);
  if (!status.ok()) return status;
  const Result<std::string> target = ChooseTarget(caps.target);
  if (!target.ok()) return target.status();

  Plan plan;
  plan.target = target.value();
  plan.threads = caps.threads > 0
                     ? caps.threads
                     : std::max(1u, std::thread::hardware_concurrency());
  const int64_t rows = problem.group() * problem.q_len;
  plan.tile_rows =
      std::min(rows, caps.tile_rows > 0 ? caps.tile_rows : kTileRows);
  const int64_t padded_keys = CeilDiv(problem.kv_len, kStripes) * kStripes;
  plan.tile_keys =
      std::min(padded_keys, caps.tile_keys > 0 ? caps.tile_keys : kTileKeys);
  plan.row_tiles = CeilDiv(rows, plan.tile_rows);
  plan.key_tiles = CeilDiv(problem.kv_len, plan.tile_keys);
  // Packed panels pay off when more than one row tile reads them.
  plan.pack_ahead = plan.row_tiles > 1;
  plan.native_dot = problem.lane == Lane::kBf16 &&
                    caps.native_dot.value_or(HasNativeDot(plan.target));
  plan.fixed_m =
      problem.softcap.has_value() &&
      static_cast<float>(*problem.softcap * kLog2E) <= kFixedPathBound;
  return plan;
}

}  // namespace lockstep::optimized
