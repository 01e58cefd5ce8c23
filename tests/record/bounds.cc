#include "tests/record/bounds.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "verify/judge/bounded.h"
#include "verify/judge/truth.h"
#include "verify/ops/allowed.h"
#include "verify/ops/envelopes.h"
#include "verify/ops/op.h"

namespace lockstep::record {
namespace {

using verify::Case;
using verify::Digester;
using verify::NumericProfile;

struct Digests {
  std::string truth, lo, hi, sets;
};

std::string DigestOf(const verify::Truth& truth) {
  Digester digest;
  for (const auto& output : truth.bits) {
    digest.Update(output.data(), output.size() * sizeof(output[0]));
  }
  return ShortHex(digest);
}

// Every bound of the rows, proof and suspicion.
void AddBounds(const verify::Trial& trial,
               const verify::AllowedResults& allowed, Digester* lo,
               Digester* hi) {
  const auto outputs = trial.Allocate(0);
  if (!outputs.ok()) return lo->UpdateText(outputs.message());
  allowed.JudgeEach(outputs.value(), [&](const std::string& tensor,
                                         const verify::JudgedElement& element) {
    const verify::Bounds& bounds = element.bounds;
    lo->UpdateText(tensor);
    UpdateNumber(bounds.allowed.lo, lo);
    UpdateNumber(bounds.likely.lo, lo);
    UpdateNumber(bounds.truth, lo);
    lo->UpdateU64((bounds.allowed.nan ? 1u : 0u) + (bounds.vacuous ? 2u : 0u) +
                  (bounds.unclaimed ? 4u : 0u));
    UpdateNumber(bounds.allowed.hi, hi);
    UpdateNumber(bounds.likely.hi, hi);
    UpdateNumber(bounds.error, hi);
  });
}

std::string SetsOf(const verify::TrialRow& op, const Case& call,
                   const NumericProfile& profile,
                   const verify::MaterialiseOptions& options) {
  Digester digest;
  for (const Case& probe : op.probe_cases(call, profile)) {
    digest.UpdateText(verify::MinimalLine(probe));
    const auto trial = op.open(probe, options);
    if (!trial.ok()) {
      digest.UpdateText(trial.message());
      continue;
    }
    const auto allowed = trial.value()->envelopes().Probe(
        profile, verify::ProbeRows(*trial.value()));
    if (allowed != nullptr) {
      AddBounds(*trial.value(), *allowed, &digest, &digest);
    }
  }
  return ShortHex(digest);
}

Digests Compute(const Case& call, const NumericProfile* profile) {
  const auto op = verify::TrialRowOf(call);
  if (!op.ok()) return {};
  const verify::MaterialiseOptions options = verify::OptionsFor(profile);
  const auto trial = op->open(call, options);
  if (!trial.ok()) return {};
  const verify::Truth truth = verify::ComputeTruth(*trial.value(), false, 1);
  Digests digests;
  digests.truth = DigestOf(truth);
  if (profile == nullptr) return digests;
  const auto allowed =
      trial.value()->envelopes().Envelope(*profile, truth.rows, 1);
  if (allowed == nullptr) return digests;
  Digester lo, hi;
  AddBounds(*trial.value(), *allowed, &lo, &hi);
  digests.lo = ShortHex(lo);
  digests.hi = ShortHex(hi);
  digests.sets = SetsOf(op.value(), call, *profile, options);
  return digests;
}

const Digests& Known(const Case& call, const NumericProfile* profile) {
  static std::map<std::pair<std::string, std::string>, Digests> known;
  const std::string line = verify::MinimalLine(call);
  const std::string claims =
      profile == nullptr ? "" : verify::ProfileText(*profile);
  const auto at = known.find({line, claims});
  if (at != known.end()) return at->second;
  return known[{line, claims}] = Compute(call, profile);
}

// Of several calls: the digest of what they have, one after another.
void Append(const std::string& more, std::string* digest) {
  if (digest->empty()) {
    *digest = more;
  } else {
    *digest = verify::DigestText(*digest + more).substr(0, 16);
  }
}

}  // namespace

std::string ShortHex(const Digester& digest) {
  return digest.Hex().substr(0, 16);
}

void UpdateNumber(double x, Digester* digest) {
  digest->UpdateU64(std::isnan(x) ? UINT64_MAX : std::bit_cast<uint64_t>(x));
}

void BoundsDigest::Add(const Case& call, const NumericProfile* profile) {
  const Digests& digests = Known(call, profile);
  Append(digests.truth, &truth_);
  Append(digests.lo, &lo_);
  Append(digests.hi, &hi_);
  Append(digests.sets, &sets_);
}

}  // namespace lockstep::record
