// How a problem is cut up. A Plan is a pure function of contract, payload
// shape and caps: print it, digest it, replay it. Exact outputs never depend
// on it (N16 and the promise of docs/numerics.md).
//
// Words (docs/glossary.md): a *row* of a kv head is one (query head of the
// group, query) pair, numbered head-major; a *tile* is tile_rows rows times
// tile_keys keys.
#ifndef LOCKSTEP_OPTIMIZED_PLAN_H_
#define LOCKSTEP_OPTIMIZED_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "optimized/attention_tuning.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// What the caller allows or asks for; zero or empty means "choose".
struct Caps {
  std::string target;     // "AVX2", "AVX3"
  int threads = 0;        // > 0: exactly so many
  int64_t tile_rows = 0;  // any >= 1
  int64_t tile_keys = 0;  // a multiple of kStripes (N11); order=amx rounds it
                          // up to whole blocks (N20)
  // The bf16 dot instruction (N5), for bf16 lanes: absent, where the target has
  // a fast one; true, in its two-step form where the target has none.
  // With order=amx: the matrix unit, where the target has it, or else its
  // emulation; false: the emulation.
  std::optional<bool> native_dot;
  // The emulation of order=amx: absent or true, by flushing subnormals where
  // the processor can; false: behind a guard, without.
  std::optional<bool> flush;
  // Key tiles that a worker keeps packed where the mask is narrow; absent, as
  // many as caches hold; 0: all are packed ahead.
  std::optional<int64_t> kept_tiles;
};

// The most threads that a plan may have.
inline constexpr int kMaxThreads = 4096;

// One instruction set the library was built for.
struct Target {
  std::string name;
  bool supported = false;    // by this CPU
  bool native_dot = false;   // has the bf16 dot instruction and it passed the
                             // start-up self-test (N5); false if not supported
  bool matrix_unit = false;  // may use TheMatrixUnit() for order=amx
};

// How products that are no chain are formed: those of order=amx (N20), by one
// of three with the same bits.
enum class BlockForm : uint8_t {
  kNone,     // order=chain
  kMatrix,   // by the matrix unit
  kFlushed,  // by multiply-adds while the processor flushes subnormals
  kGuarded,  // by multiply-adds, where no number can be one
};

// Every compiled target, best first.
std::vector<Target> Targets();
// Says in one line which targets there are, of a name that is none. Highway's
// two names for AVX3 with the bf16 dot instruction lead to AVX3.
std::string UnknownTarget(const std::string& name);

struct Plan {
  std::string target;
  int threads = 1;
  int64_t tile_rows = 0;
  int64_t tile_keys = 0;
  bool native_dot = false;  // products on pairs of bf16
  BlockForm blocks = BlockForm::kNone;
  bool fixed_m = false;     // softcap small enough for N9's fixed-m path; a
                            // row with a large sink still leaves it
  bool pack_ahead = false;  // pack all keys and values once, before the rows
  int64_t kept_tiles = 0;   // .. unless the mask is narrow: key tiles that each
                            // worker keeps then (attention_panels.h); 0: never
  bool tuned = false;       // the tile is that of a tuning file
  int64_t row_tiles = 0;    // per kv head
  int64_t key_tiles = 0;

  // One line of "name=value" words, stable: receipts digest it.
  std::string ToString() const;
};

// Whether the softcap is small enough for N9's fixed-m path.
bool AllowsFixedPath(const AttentionForwardProblem& problem);

// Where caps have no tile, that of `tuning` for this CPU, if there is one.
// Errors: unknown or unsupported target, tile_keys not a multiple of kStripes,
// negative values; order=ampere and order=hopper, which only the reference has;
// Validate(problem)'s.
Result<Plan> MakePlan(const AttentionForwardProblem& problem, const Caps& caps,
                      const Tuning& tuning);
// By TheTuning(). Errors: also TheTuning()'s.
Result<Plan> MakePlan(const AttentionForwardProblem& problem, const Caps& caps);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_PLAN_H_
