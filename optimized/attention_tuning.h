// The best tiles of the problems and machines that were measured. They stand in
// the file that LOCKSTEP_TUNING names: `lockstep bench --tune` writes it, and
// MakePlan reads it. A tile never changes a bit, so a tuning file never does.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_TUNING_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_TUNING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

struct TuningEntry {
  std::string cpu;     // CpuModel() of the machine that was measured
  std::string target;  // "AVX2", ...
  std::string key;     // TuningKey() of the problem
  int64_t tile_rows = 0;
  int64_t tile_keys = 0;
  friend bool operator==(const TuningEntry&, const TuningEntry&) = default;
};

struct Tuning {
  std::vector<TuningEntry> entries;

  // Null: that was not measured.
  const TuningEntry* Find(std::string_view cpu, std::string_view target,
                          std::string_view key) const;
  // In place of one with the same cpu, target and key.
  void Set(const TuningEntry& entry);
};

// What a tile depends on: lanes, order, sizes of heads, group, softcap or not,
// mask, threads, and the lengths, each rounded up to a power of two.
std::string TuningKey(const AttentionForwardProblem& problem, int threads);

// Name and family/model/stepping, one line; "unknown" where the system does not
// say it.
const std::string& CpuModel();

// A line "lockstep-tuning 1", then per entry a line with cpu, target, key and
// tile=QxK, separated by tabs; '#' begins a comment line. Errors: "NAME:LINE:"
// and what is wrong: another version, a wrong number of fields, an empty one, a
// target that this library does not know, a tile that no plan can have, two
// entries for the same thing.
Result<Tuning> ParseTuning(std::string_view text, const std::string& name);
std::string TuningText(const Tuning& tuning);

// Of the file that LOCKSTEP_TUNING names, read once; without that, no entries.
// Errors: the file cannot be read, or ParseTuning's.
const Result<Tuning>& TheTuning();

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_TUNING_H_
