// Typed domains: for every op, meaningful cases without end. A case is a pure
// function of (seed, generator version, index) and of what the caller bounds;
// tests/verify/domain_frozen_test.cc holds digests of them.
#ifndef LOCKSTEP_VERIFY_DOMAIN_DOMAIN_H_
#define LOCKSTEP_VERIFY_DOMAIN_DOMAIN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "reference/contract/tensor_view.h"
#include "verify/case/case.h"
#include "verify/domain/draw.h"

namespace lockstep::verify {

// Numbers the generator, as campaigns and reports do: a change of what a
// released one draws is a new version. `gen=` of case lines is about inputs and
// has its own count.
inline constexpr uint32_t kDomainVersion = 1;
inline constexpr uint32_t kDrawKey = 1;
inline constexpr uint32_t kGuardKey = 2;  // of draw_guards

// What a caller bounds. Part of a campaign's identity, like the seed.
struct DomainOptions {
  std::optional<Lane> lane;  // of q; absent: any
  int64_t tile_q = 4;        // edges that lengths gather around
  int64_t tile_kv = 4;
  // Cases at the borders of the guards of our fast paths (DomainRow): none, one
  // of four, or no others.
  enum class Guards : uint8_t { kNone, kSome, kOnly };
  Guards guards = Guards::kNone;
  // Calls that are drawn with order=amx have the orders of N21 in two of three,
  // by their seeds: every other choice stays.
  bool gpu_orders = false;
  // Every case that can be cut is also judged in shards. Its seed says how, and
  // every other choice stays.
  bool in_shards = false;
  // Small, with ordinary numbers and natural strides, one call: what a zoo of
  // correct kernels is tried on.
  bool plain = false;
  // No NaN, no infinity and no number near the ends of the range.
  bool ordinary = false;
};

// Properties that the cases of a run should have: shapes, masks, numbers,
// layouts. Bit n stands for Features()[n].
struct FeatureSet {
  std::vector<bool> has;
  // Adds those of another set of the same op.
  void Add(const FeatureSet& other);
};

// What this room knows of an op.
struct DomainRow {
  // A case of that op, or a call sequence; ValidateCase accepts every call.
  std::vector<Case> (*draw)(const OpRow& op, Draw* draw,
                            const DomainOptions& options);
  std::span<const char* const> (*features)();
  FeatureSet (*features_of)(const Case& c);
  // Simpler sequences, boldest first, by edits that call `call` suggests: made
  // in all calls at once, then in that one alone. ValidateCase accepts them.
  std::vector<std::vector<Case>> (*reduce)(std::span<const Case> sequence,
                                           size_t call);
  // Further draws of a case (further.h), number n of those that follow from
  // `number`, and its short twin; legal or not. Null: the op has none.
  std::optional<Case> (*further)(const Case& c, uint64_t number,
                                 int64_t n) = nullptr;
  std::optional<Case> (*twin)(const Case& c, uint64_t number) = nullptr;
  // Like `draw`: cases on which the guards of optimized/ change their mind from
  // tile to tile. Null: the op has no guarded fast path.
  std::vector<Case> (*draw_guards)(const OpRow& op, Draw* draw,
                                   const DomainOptions& options) = nullptr;
  // The case with lengths of side / 2 to side where they are longer. All that
  // is measured in tokens shrinks as much. None where no length is longer, or
  // where the case takes values from files. Heads are fewer where bugs are
  // replayed on all of a case. Null: not known.
  std::optional<Case> (*small)(const Case& c, int64_t side) = nullptr;
};

// "none", "some", "only": as --guards and records of campaigns have them.
const char* GuardsName(DomainOptions::Guards guards);
std::optional<DomainOptions::Guards> GuardsByName(std::string_view name);

// With its op. Those of the program: verify/registry/ops.h.
struct Domain : DomainRow {
  const OpRow* row = nullptr;
  const char* op = nullptr;  // its name
};
// Requires: the op has one.
Domain DomainOf(const OpRow& op);

// The first cases of a campaign have ordinary numbers: what a kernel makes of
// NaN is told after its bugs.
inline constexpr uint64_t kOrdinaryFirst = 128;

// Case `index` of a campaign.
std::vector<Case> DrawCase(const Domain& domain, const DomainOptions& options,
                           uint64_t seed, uint64_t index);

// Draws a plain case; of attention_forward at most about 2e5 multiply-adds.
Case PlainCase(const Domain& domain, uint64_t seed, std::optional<Lane> lane);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_DOMAIN_H_
