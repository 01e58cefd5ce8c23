#include "bench/limits.h"

#include <algorithm>
#include <thread>

#include "bench/cache_size.h"
#include "bench/matrix_peak.h"
#include "bench/peak.h"
#include "optimized/matrix_unit.h"
#include "optimized/plan.h"
#include "optimized/simd/targets.h"

namespace lockstep::bench {
namespace {

std::string BestTarget() {
  for (const optimized::Target& target : optimized::Targets()) {
    if (target.supported) return target.name;
  }
  return "";
}

double BurstOfOne(const Engine& engine, double seconds) {
  if (engine.instruction == Instruction::kMatrix) {
    return MeasureMatrixPeak(seconds);
  }
  const int64_t bit = optimized::TargetBit(engine.target);
  if (bit == 0) return 0;
  return engine.instruction == Instruction::kFma
             ? MeasureFmaPeak(bit, seconds)
             : MeasureBf16DotPeak(bit, seconds);
}

}  // namespace

const char* InstructionName(Instruction instruction) {
  switch (instruction) {
    case Instruction::kFma:
      return "f32_fma";
    case Instruction::kBf16Dot:
      return "bf16_dot";
    case Instruction::kMatrix:
      break;
  }
  return "amx";
}

std::string Engine::Name() const {
  return InstructionName(instruction) + (target.empty() ? "" : "@" + target);
}

std::vector<Engine> EnginesFor(verify::WorkLane lane) {
  const std::string target = BestTarget();
  if (target.empty()) return {};
  std::vector<Engine> engines = {{Instruction::kFma, target}};
  if (lane == verify::WorkLane::kF32) return engines;
  for (const optimized::Target& known : optimized::Targets()) {
    if (known.name == target && known.native_dot) {
      engines.push_back({Instruction::kBf16Dot, target});
    }
  }
  if (lane == verify::WorkLane::kBf16Blocks &&
      optimized::TheMatrixUnit().usable) {
    engines.push_back({Instruction::kMatrix, ""});
  }
  return engines;
}

std::optional<Engine> EngineOf(const verify::Execution& execution) {
  if (execution.Count("tiles_matrix") > 0) {
    return Engine{Instruction::kMatrix, ""};
  }
  if (optimized::TargetBit(execution.target) == 0) return std::nullopt;
  const bool dot = execution.Count("tiles_native_dot") > 0;
  return Engine{dot ? Instruction::kBf16Dot : Instruction::kFma,
                execution.target};
}

double Burst(const Engine& engine, int threads, double seconds) {
  std::vector<double> rates(static_cast<size_t>(std::max(threads, 1)));
  std::vector<std::thread> others;
  for (size_t n = 1; n < rates.size(); ++n) {
    others.emplace_back([&, n] { rates[n] = BurstOfOne(engine, seconds); });
  }
  rates[0] = BurstOfOne(engine, seconds);
  for (std::thread& other : others) other.join();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

std::vector<ReadLevel> ReadLevels(size_t most) {
  const size_t l1 = CacheBytes(1);
  const size_t l2 = CacheBytes(2);
  const size_t l3 = CacheBytes(3);
  std::vector<ReadLevel> levels;
  for (const auto& [name, bytes] :
       {std::pair{"L1", l1}, std::pair{"L2", l2}, std::pair{"L3", l3}}) {
    if (bytes > 0) levels.push_back({name, std::min(bytes / 2, most), 0});
  }
  // Beyond the last cache, or as far as we go.
  const size_t last = levels.empty() ? 0 : 2 * std::max(l2, l3);
  if (last < most) {
    levels.push_back({"memory", std::max(last, most / 2), 0});
  }
  return levels;
}

void MeasureLevel(double seconds, ReadLevel* level) {
  const std::string target = BestTarget();
  if (target.empty()) return;
  level->bytes_per_second =
      std::max(level->bytes_per_second,
               MeasureReadBandwidth(optimized::TargetBit(target), level->bytes,
                                    seconds));
}

const ReadLevel& LevelOf(const std::vector<ReadLevel>& levels, double bytes) {
  for (const ReadLevel& level : levels) {
    // Arrays are half of their level, so that it holds them.
    if (bytes <= 2.0 * static_cast<double>(level.bytes)) return level;
  }
  return levels.back();
}

}  // namespace lockstep::bench
