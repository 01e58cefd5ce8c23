// Typed domains: for every op, meaningful cases without end. A case is a pure
// function of (seed, generator version, index) and of what the caller bounds;
// versions are frozen, tests/verify/domain_test.cc holds their digests.
#ifndef LOCKSTEP_VERIFY_DOMAIN_DOMAIN_H_
#define LOCKSTEP_VERIFY_DOMAIN_DOMAIN_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "verify/case.h"
#include "verify/domain/draw.h"

namespace lockstep::verify {

// The generator this library has. A change of what a version draws is a new
// version; `gen=` of case lines is about inputs and has its own count.
inline constexpr uint32_t kDomainVersion = 1;

// What a caller bounds. Part of a campaign's identity, like the seed.
struct DomainOptions {
  std::optional<Lane> lane;  // of q; absent: any
  int64_t tile_q = 4;        // edges that lengths gather around
  int64_t tile_kv = 4;
  // Ordinary numbers, dense layouts, one call: what a zoo of correct kernels
  // is tried on.
  bool tame = false;
};

// Properties of a case that a run should have met: shapes, masks, numbers,
// layouts. Bit n stands for Features()[n].
struct FeatureSet {
  std::vector<bool> has;
  // Adds those of another set of the same op.
  void Add(const FeatureSet& other);
};

// One row of the table of domains.
struct Domain {
  const char* op;
  // A case, or a call sequence; ValidateCase accepts every call.
  std::vector<Case> (*draw)(Draw* draw, const DomainOptions& options);
  std::span<const char* const> (*features)();
  FeatureSet (*features_of)(const Case& c);
  // Simpler sequences, boldest first, by edits that call `call` suggests: made
  // in all calls at once, then in that one alone. ValidateCase accepts them.
  std::vector<std::vector<Case>> (*reduce)(std::span<const Case> sequence,
                                           size_t call);
};

std::span<const Domain> Domains();
// Errors: no such op; the message lists those there are.
Result<const Domain*> FindDomain(std::string_view op);

// Case `index` of a campaign.
std::vector<Case> DrawCase(const Domain& domain, const DomainOptions& options,
                           uint64_t seed, uint64_t index);

// A tame case of attention_forward, of at most about 2e5 multiply-adds.
Case SmallCase(uint64_t seed, std::optional<Lane> lane);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_DOMAIN_H_
