// An op, from bytes to a typed case to the judge. How close a case came to its
// bound is a feature of its own: an engine then climbs towards the bound.
//   LOCKSTEP_FUZZ_OP         whose cases, default attention_forward
//   LOCKSTEP_FUZZ_CANDIDATE  spec, default builtin:optimized,threads=1
//   LOCKSTEP_FUZZ_PROFILE    name or path, default the candidate's own
#include <cstdlib>
#include <string>

#include "fuzz/engine/engine.h"
#include "fuzz/trial.h"
#include "verify/domain/domain.h"
#include "verify/registry/ops.h"

namespace lockstep::fuzz {
namespace {

// log2(error / bound) from 2^-32 to 2^0, read by libFuzzer as counters.
constexpr int kBuckets = 34;
__attribute__((used, section("__libfuzzer_extra_counters"))) uint8_t
    error_buckets[kBuckets];

std::string Setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

struct Setup {
  const verify::Domain* domain = nullptr;
  Target target;
};

const Setup& TheSetup() {
  static const Setup setup = [] {
    Setup made;
    const auto domain =
        verify::FindDomain(Setting("LOCKSTEP_FUZZ_OP", "attention_forward"));
    Expect(domain.ok(), domain.ok() ? "" : domain.message(), "");
    made.domain = domain.value();
    const auto target = Target::Open(
        Setting("LOCKSTEP_FUZZ_CANDIDATE", "builtin:optimized,threads=1"),
        Setting("LOCKSTEP_FUZZ_PROFILE", ""));
    Expect(target.ok(), target.ok() ? "" : target.message(), "");
    made.target = target.value();
    return made;
  }();
  return setup;
}

void Check(const uint8_t* data, size_t size) {
  const Setup& setup = TheSetup();
  verify::DomainOptions options;
  options.lane = setup.target.lane;
  verify::Draw draw{std::span<const uint8_t>(data, size)};
  const auto sequence = setup.domain->draw(*setup.domain->row, &draw, options);
  // An odd number: with one of its laws; not the first: canaries are rare.
  constexpr int64_t kNumber = 3;
  const Outcome outcome = TryCase(sequence, setup.target, kNumber);
  if (outcome.nearness > 0) {
    error_buckets[NearnessBucket(outcome.nearness, kBuckets)] = 1;
  }
  Expect(!outcome.Found(), outcome.signature + ": " + outcome.message,
         outcome.replay);
}

}  // namespace
}  // namespace lockstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::fuzz::Check(data, size);
  return 0;
}
