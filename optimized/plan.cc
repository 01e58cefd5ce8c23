#include "optimized/plan.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/attention_tuning.h"
#include "optimized/attention_work.h"
#include "optimized/matrix_unit.h"
#include "optimized/simd/flush_scope.h"
#include "optimized/simd/targets.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/contract/team.h"

namespace lockstep::optimized {
namespace {

// Keys of a tile stay in L2 for head sizes up to 256, and few enough rows that
// two workers find even work in short sequences.
constexpr int64_t kTileRows = 48;  // whole blocks of 6 and of 8 rows
constexpr int64_t kTileKeys = 256;
// Each row tile reads all keys and values once, from L3 where they are many, so
// more rows read less: 12 % of 4096 rows on an Intel Xeon (family 6, model 167)
// that reads 11 GB/s there. Blocks of masks are powers of two, too.
constexpr int64_t kManyTileRows = 256;
// As many tiles keep a worker about even with the others.
constexpr int64_t kTilesOfAWorker = 8;
// The matrix unit has 32 rows at a time, and its products are so quick that
// sums want to stay longer in its tiles.
constexpr int64_t kMatrixTileRows = 128;
constexpr int64_t kMatrixTileKeys = 512;
// The most f32 sums of parts that a row tile may hold until they are joined
// (N22).
constexpr int64_t kPartElements = int64_t{1} << 24;
// Of packed tiles that a worker keeps: what the second caches of common CPUs
// hold, from 512 KiB on.
constexpr int64_t kKeptBytes = int64_t{1} << 19;

std::string CompiledNames() {
  std::string names;
  for (const int64_t bit : CompiledTargets()) {
    names += std::string(" ") + hwy::TargetName(bit);
  }
  return names;
}

Result<std::string> ChooseTarget(const std::string& asked) {
  for (const Target& target : Targets()) {
    if (asked.empty() ? target.supported : target.name == asked) {
      if (target.supported) return target.name;
      return Status::Error("target " + asked + " is not supported by this CPU");
    }
  }
  return Status::Error(asked.empty() ? "this CPU supports none of the compiled "
                                       "targets:" +
                                           CompiledNames()
                                     : UnknownTarget(asked));
}

Status CheckCaps(const Caps& caps) {
  if (caps.threads < 0 || caps.threads > kMaxThreads) {
    return Status::Error("threads=" + std::to_string(caps.threads) +
                         " is out of range; want 1.." +
                         std::to_string(kMaxThreads));
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
  if (caps.kept_tiles.value_or(0) < 0 ||
      caps.kept_tiles.value_or(0) > kMaxLength) {
    return Status::Error("kept tiles " + std::to_string(*caps.kept_tiles) +
                         " are out of range; want 0.." +
                         std::to_string(kMaxLength));
  }
  return Status();
}

// Whether the bf16 dot instruction does more a cycle than f32 multiply-adds. It
// starts every cycle on AMD's cores; on the Intel ones measured every second
// cycle, at any width, so that panels widened to f32 have twice its speed. Of
// other makers' nothing is known.
bool DotIsFast() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

// Whether the CPU does a vector of 512 bits, if it has any, in two halves:
// AMD's of family 25.
bool HalvesWideVectors() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_is("amdfam19h") != 0;
#else
  return false;
#endif
}

int64_t RowsOf(const AttentionForwardProblem& problem) {
  return problem.group() * problem.q_len;
}

// Few rows read each key once: where it lies, not from packed panels.
bool DecodesInPlace(const AttentionForwardProblem& problem) {
  return RowsOf(problem) <= kDotLanes && problem.head_dim <= kDirectHeadDim;
}

}  // namespace

namespace {

const std::vector<Target>& AllTargets() {
  // The self-tests run once.
  static const std::vector<Target> kTargets = [] {
    std::vector<Target> targets;
    for (const int64_t bit : CompiledTargets()) {
      Target target;
      target.name = hwy::TargetName(bit);
      target.supported = (hwy::SupportedTargets() & bit) != 0;
      target.native_dot = NativeDotWorks(target.name);
      target.matrix_unit = target.supported && TakesMatrixUnit(target.name) &&
                           TheMatrixUnit().usable;
      targets.push_back(target);
    }
    return targets;
  }();
  return kTargets;
}

// Up to 8 rows of bf16 that are decoded in place fill half a vector of 512
// bits. Two keys share it then, which takes longer than whole vectors of 256
// bits on a core that halves the wide ones (AMD EPYC, family 25: 6.63 ms for
// 5.02). A caller that asks for the dot instruction gets the target that has
// it.
Result<std::string> TargetFor(const AttentionForwardProblem& problem,
                              const Caps& caps) {
  const bool asked = !caps.target.empty() || caps.native_dot.value_or(false);
  const bool narrow = !asked && LaneBytes(problem.lane) == 2 &&
                      problem.order == ProductOrder::kChain &&
                      DecodesInPlace(problem) &&
                      RowsOf(problem) <= kDotLanes / 2;
  if (narrow && HalvesWideVectors()) {
    const auto avx2 = std::find_if(
        AllTargets().begin(), AllTargets().end(),
        [](const Target& target) { return target.name == "AVX2"; });
    if (avx2 != AllTargets().end() && avx2->supported) return avx2->name;
  }
  return ChooseTarget(caps.target);
}

const Target& TargetOf(const std::string& name) {
  const std::vector<Target>& targets = AllTargets();
  return *std::find_if(
      targets.begin(), targets.end(),
      [&](const Target& target) { return target.name == name; });
}

// Rows of a tile of products that are one chain (N3).
int64_t TileRowsOf(const AttentionForwardProblem& problem, int threads) {
  const int64_t all = problem.batch * problem.kv_heads * RowsOf(problem);
  const int64_t many = kTilesOfAWorker * threads * kManyTileRows;
  return all >= many ? kManyTileRows : kTileRows;
}

// At least two, for rows that see the end of a tile and the next one.
int64_t TilesInCache(const AttentionForwardProblem& problem, const Plan& plan) {
  const int64_t bytes = plan.tile_keys *
                        (problem.head_dim + problem.value_dim) *
                        static_cast<int64_t>(sizeof(float));
  return std::clamp<int64_t>(kKeptBytes / bytes, 2, 8);
}

BlockForm FormOf(const AttentionForwardProblem& problem, const Caps& caps,
                 const std::string& target) {
  if (problem.order == ProductOrder::kChain) return BlockForm::kNone;
  if (caps.native_dot.value_or(true) && TargetOf(target).matrix_unit) {
    return BlockForm::kMatrix;
  }
  return kCanFlush && caps.flush.value_or(true) ? BlockForm::kFlushed
                                                : BlockForm::kGuarded;
}

// Whether there is one, and the caller has no wish of his own.
bool TakeTunedTile(const AttentionForwardProblem& problem, const Plan& plan,
                   const Tuning& tuning, Caps* caps) {
  if (tuning.entries.empty() || caps->tile_rows > 0 || caps->tile_keys > 0) {
    return false;
  }
  const TuningEntry* entry =
      tuning.Find(CpuModel(), plan.target, TuningKey(problem, plan.threads));
  if (entry == nullptr) return false;
  caps->tile_rows = entry->tile_rows;
  caps->tile_keys = entry->tile_keys;
  return true;
}

// Keys of a tile where the problem has parts: whole tiles a part if they may be
// a quarter as large, for a tile across two parts is visited in both.
int64_t TileKeysOfParts(int64_t width, int64_t wanted, int64_t step) {
  if (width % step != 0) return wanted;
  if (width <= wanted) return width;
  for (int64_t tiles = CeilDiv(width, wanted); width / tiles >= wanted / 4;
       ++tiles) {
    if (width % (tiles * step) == 0) return width / tiles;
  }
  return wanted;
}

// Rows of a tile whose parts' sums leave enough room.
int64_t TileRowsOfParts(const AttentionForwardProblem& problem, int64_t rows) {
  const int64_t most = kPartElements / (problem.parts() * problem.value_dim);
  return std::clamp<int64_t>(most, 1, rows);
}

std::string DotName(const Plan& plan) {
  const char* const names[] = {plan.native_dot ? "pairs" : "f32", "matrix",
                               "flushed", "guarded"};  // as in BlockForm
  return names[static_cast<size_t>(plan.blocks)];
}

}  // namespace

std::vector<Target> Targets() { return AllTargets(); }

std::string UnknownTarget(const std::string& name) {
  if (name == "AVX3_ZEN4" || name == "AVX3_SPR") {
    return "target " + name +
           " is AVX3 here, which takes the bf16 dot instruction where the CPU "
           "has it; want AVX3";
  }
  return "unknown target " + name + "; compiled are" + CompiledNames();
}

std::string Plan::ToString() const {
  return "target=" + target + " threads=" + std::to_string(threads) +
         " tile=" + std::to_string(tile_rows) + "x" +
         std::to_string(tile_keys) + " dot=" + DotName(*this) +
         " path=" + (fixed_m ? "fixed" : "online") +
         " pack=" + (pack_ahead ? "ahead" : "tile") +
         " row_tiles=" + std::to_string(row_tiles) +
         " key_tiles=" + std::to_string(key_tiles) + (tuned ? " tuned" : "");
}

bool AllowsFixedPath(const AttentionForwardProblem& problem) {
  return problem.softcap.has_value() && !problem.v_scales.by_key() &&
         static_cast<float>(*problem.softcap * kLog2E) <= kFixedPathBound;
}

Result<Plan> MakePlan(const AttentionForwardProblem& problem,
                      const Caps& caps) {
  const Result<Tuning>& tuning = TheTuning();
  if (!tuning.ok()) return tuning.status();
  return MakePlan(problem, caps, tuning.value());
}

Result<Plan> MakePlan(const AttentionForwardProblem& problem, const Caps& wish,
                      const Tuning& tuning) {
  Caps caps = wish;
  Status status = Validate(problem);
  if (status.ok() && StepOf(problem.order) != nullptr) {
    status = Status::Error(std::string("order=") + OrderName(problem.order) +
                           " has no SIMD kernels; want the reference");
  }
  if (status.ok()) status = CheckCaps(caps);
  if (!status.ok()) return status;
  const Result<std::string> target = TargetFor(problem, caps);
  if (!target.ok()) return target.status();

  Plan plan;
  plan.target = target.value();
  plan.threads = caps.threads > 0 ? caps.threads : DefaultThreads();
  plan.tuned = TakeTunedTile(problem, plan, tuning, &caps);
  const int64_t rows = RowsOf(problem);
  plan.blocks = FormOf(problem, caps, plan.target);
  const bool matrix = plan.blocks == BlockForm::kMatrix;
  const bool split = problem.parts() > 1;
  const int64_t step =
      problem.order == ProductOrder::kAmx ? kProductBlock : kStripes;
  int64_t tile_rows =
      matrix ? kMatrixTileRows : TileRowsOf(problem, plan.threads);
  int64_t tile_keys = matrix ? kMatrixTileKeys : kTileKeys;
  if (split) {
    tile_rows = TileRowsOfParts(problem, tile_rows);
    tile_keys = TileKeysOfParts(problem.part_width(), tile_keys, step);
  }
  plan.tile_rows =
      std::min(rows, caps.tile_rows > 0 ? caps.tile_rows : tile_rows);
  const int64_t wanted = caps.tile_keys > 0 ? caps.tile_keys : tile_keys;
  plan.tile_keys = std::min(CeilDiv(problem.kv_len, step) * step,
                            CeilDiv(wanted, step) * step);
  plan.row_tiles = CeilDiv(rows, plan.tile_rows);
  plan.key_tiles = CeilDiv(problem.kv_len, plan.tile_keys);
  // Packed panels pay off when more than one row tile reads them.
  plan.pack_ahead = plan.row_tiles > 1;
  plan.kept_tiles = plan.pack_ahead
                        ? caps.kept_tiles.value_or(TilesInCache(problem, plan))
                        : 0;
  // Pairs have to be packed, and few rows read each once: decoding in place is
  // 2.2 times as fast as the dot instruction on an AMD EPYC (family 26).
  plan.native_dot =
      problem.key_lane() == Lane::kBf16 && plan.blocks == BlockForm::kNone &&
      caps.native_dot.value_or(TargetOf(plan.target).native_dot &&
                               DotIsFast() && !DecodesInPlace(problem));
  plan.fixed_m = AllowsFixedPath(problem);
  return plan;
}

}  // namespace lockstep::optimized
