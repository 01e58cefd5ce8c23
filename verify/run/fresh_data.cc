#include "verify/run/fresh_data.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <utility>

#include "verify/base/digest.h"
#include "verify/base/text.h"
#include "verify/case/attention_backward.h"
#include "verify/case/block_plan.h"
#include "verify/run/case_file.h"

namespace lockstep::verify {
namespace {

constexpr FreshSeed kMostSeed = (FreshSeed{1} << 53) - 1;

// 32 bits are few enough to be typed and told apart in a report.
FreshSeed DrawSeed() {
  return uint64_t{1} + std::random_device()() % UINT32_MAX;
}

// The seed of a case in place of `old`: the same for the same three.
uint64_t SeedOf(FreshSeed fresh, size_t job, uint64_t old) {
  Digester digester;
  digester.UpdateText(std::to_string(fresh) + " " + std::to_string(job) + " " +
                      std::to_string(old));
  const std::string hex = digester.Hex().substr(0, 8);
  uint64_t seed = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), seed, 16);
  return seed == old ? seed + 1 : seed;
}

bool Drawn(const FillTerm& term) {
  return term.kind != FillKind::kFile && term.kind != FillKind::kConst;
}

bool DrawsMask(const AttentionForwardCase& c) {
  return std::any_of(
      c.dense.begin(), c.dense.end(),
      [](const DenseSource& source) { return !source.from_file(); });
}

bool DrawsCotangent(const Case& c) {
  if (!c.Has<AttentionBackwardCase>()) return false;
  const auto& gradients = c.Get<AttentionBackwardCase>();
  return std::any_of(gradients.d_o.begin(), gradients.d_o.end(), Drawn) ||
         (gradients.dlse && Drawn(*gradients.dlse));
}

}  // namespace

Result<FreshSeed> ParseFreshSeed(std::string_view text) {
  if (text == "random") return DrawSeed();
  FreshSeed seed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc{} || stop != end || seed > kMostSeed) {
    return Status::Error("fresh seed " + Quote(text) +
                         ": want 'random', or an integer from 0 to 2^53 - 1");
  }
  return seed;
}

bool DrawsNumbers(const Case& c) {
  // A scan's step sizes and decays are drawn.
  if (!c.Has<AttentionForwardCase>()) return true;
  const auto& attention = c.Get<AttentionForwardCase>();
  if (DrawsMask(attention) || DrawsCotangent(c)) return true;
  // A plan has no numbers.
  return !c.Has<BlockPlanCase>() &&
         (std::any_of(attention.fill.begin(), attention.fill.end(), Drawn) ||
          (attention.sinklogit && Drawn(*attention.sinklogit)));
}

Status AddFreshJobs(FreshSeed seed, std::vector<Job>* jobs) {
  if (seed == 0) return {};
  std::vector<Job> both;
  size_t calls = 0;
  for (size_t n = 0; n < jobs->size(); ++n) {
    Job& job = (*jobs)[n];
    const bool fresh = std::all_of(
        job.sequence.begin(), job.sequence.end(), [](const Case& c) {
          return c.expect == Expect::kPass && DrawsNumbers(c);
        });
    calls += job.sequence.size();
    both.push_back(job);
    if (!fresh) continue;
    calls += job.sequence.size();
    job.origin.fresh = true;
    for (Case& c : job.sequence) c.seed = SeedOf(seed, n, c.seed);
    both.push_back(std::move(job));
  }
  if (calls > kMostCalls) {
    return Status::Error("with fresh data there are " + std::to_string(calls) +
                         " cases; one run takes at most " +
                         std::to_string(kMostCalls) +
                         " (--fresh-seed 0: only those that are written)");
  }
  *jobs = std::move(both);
  return {};
}

}  // namespace lockstep::verify
