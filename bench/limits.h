// What this machine can do at most, measured while the rows are: clocks drift,
// and neighbours come and go.
#ifndef LOCKSTEP_BENCH_LIMITS_H_
#define LOCKSTEP_BENCH_LIMITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/ops/facts.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"

namespace lockstep::bench {

// The instruction that products are made of.
enum class Instruction : uint8_t { kFma, kBf16Dot, kMatrix };
const char* InstructionName(Instruction instruction);

// An instruction on one of Highway's targets; that of the matrix unit has none.
struct Engine {
  Instruction instruction = Instruction::kFma;
  std::string target;
  friend bool operator==(const Engine&, const Engine&) = default;
  // "f32_fma@AVX2", "bf16_dot@AVX3", "amx".
  std::string Name() const;
};

// The engines of this machine that may do a work's products: on the best
// target; for bf16 in one chain f32 multiply-adds and the dot instruction, in
// blocks the matrix unit, too. Best first is not known before they are
// measured. Empty: no compiled target runs here.
std::vector<Engine> EnginesFor(verify::WorkLane lane);

// The engine that a run used, by what it says of itself; none where that is
// not known.
std::optional<Engine> EngineOf(const verify::Execution& execution);

// Flop/s of `threads` threads at once for about so many seconds; 0 where the
// machine has no such instruction.
double Burst(const Engine& engine, int threads, double seconds);

// A level of the memory and how fast one thread reads from it.
struct ReadLevel {
  std::string name;  // "L1", "L2", "L3", "memory"
  size_t bytes = 0;  // of the array that is read: half of the level
  double bytes_per_second = 0;
};

// The levels, not measured yet. One that is larger than `most` bytes is read
// by an array of that size.
std::vector<ReadLevel> ReadLevels(size_t most);
// Measures one for about so many seconds and keeps the better figure.
void MeasureLevel(double seconds, ReadLevel* level);

// Of the smallest level that holds so many bytes; of the last one where none
// does. Requires: levels, measured.
const ReadLevel& LevelOf(const std::vector<ReadLevel>& levels, double bytes);

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_LIMITS_H_
