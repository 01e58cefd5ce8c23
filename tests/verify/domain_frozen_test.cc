// Digests of the cases that the domains draw.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/digest.h"
#include "verify/domain/domain.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

std::string LinesOf(const Domain& domain, const DomainOptions& options,
                    uint64_t seed, uint64_t cases) {
  std::string lines;
  for (uint64_t n = 0; n < cases; ++n) {
    lines += CanonicalLine(DrawCase(domain, options, seed, n)) + "\n";
  }
  return lines;
}

// Campaigns and reports name the version.
TEST(DomainTest, VersionOneIsFrozen) {
  ASSERT_EQ(kDomainVersion, 1u);
  const Domain& domain = *FindDomain("attention_forward").value();
  EXPECT_EQ(DigestText(LinesOf(domain, {}, 0, 1000)),
            "59bf188bca259049b5e6fcae8ba8e6e5");
  EXPECT_EQ(DigestText(LinesOf(domain, {}, 0x123456789abcdef0u, 1000)),
            "0083d0fd4683757ce00a82d9c52f92e8");
  DomainOptions options;
  options.lane = Lane::kBf16;
  options.tile_q = 16;
  options.tile_kv = 64;
  EXPECT_EQ(DigestText(LinesOf(domain, options, 7, 1000)),
            "8cdbab8bd6972320b6dd209d8c999e7b");
  options.plain = true;
  EXPECT_EQ(DigestText(LinesOf(domain, options, 7, 1000)),
            "146cd02e1426bb36abcaaa5da818f713");
}

TEST(DomainTest, VersionOneOfOtherOpsIsFrozen) {
  const struct {
    const char* op;
    const char* wild;
    const char* plain;
  } ops[] = {{"mamba3_scan", "30008376614591b0e9ffa6cf8474ff24",
              "c8f0fd694c20749965eea76b715bd310"},
             {"mamba3_step", "a7f1b1261f98bb2cd8ad5646339e8ff1",
              "fd2bc29ed4a167d410a6ba3499f4012a"},
             {"ssd_scan", "6043ea1d44813e4f71553616c2547efe",
              "927171b043eb5c201a369d77cb13ee08"},
             {"mamba3_scan_backward", "711165e82802769f8f7b396f1e715680",
              "f3a020d1fd4f2c3567ef67a4976f8125"},
             {"attention_backward", "62ff7556cc74cf1f6f611bde9815b510",
              "79129bb8efa18adc935f2d970398a3fb"}};
  for (const auto& [op, wild, plain] : ops) {
    const Domain& domain = *FindDomain(op).value();
    DomainOptions options;
    std::string lines = LinesOf(domain, options, 0, 1000);
    options.lane = Lane::kBf16;
    options.tile_kv = 64;
    lines += LinesOf(domain, options, 7, 1000);
    EXPECT_EQ(DigestText(lines), wild) << op;
    options.plain = true;
    EXPECT_EQ(DigestText(LinesOf(domain, options, 7, 1000)), plain) << op;
  }
}

TEST(DomainTest, VersionOneOfPlansIsFrozen) {
  const Domain& domain = *FindDomain("block_plan").value();
  DomainOptions options;
  std::string lines = LinesOf(domain, options, 0, 1000);
  options.tile_q = 16;
  options.tile_kv = 64;
  lines += LinesOf(domain, options, 7, 1000);
  EXPECT_EQ(DigestText(lines), "90a254df67d5b4f38542a72b08ef79c2");
}

TEST(DomainTest, GuardCasesAreLegalAndFrozen) {
  using Guards = DomainOptions::Guards;
  DomainOptions only;
  only.guards = Guards::kOnly;
  for (const auto& [name, digest] :
       {std::pair{"attention_forward", "326de990844044eb7cc3f9ddc28f1d59"},
        std::pair{"attention_backward", "035250ce9ae12c5278926b0840bf597f"}}) {
    const Domain& domain = *FindDomain(name).value();
    std::set<std::string> lines;
    for (uint64_t n = 0; n < 2000; ++n) {
      const std::vector<Case> sequence = DrawCase(domain, only, 3, n);
      ASSERT_EQ(sequence.size(), 1u);
      EXPECT_TRUE(ValidateCase(sequence[0]).ok());
      lines.insert(MinimalLine(sequence));
    }
    EXPECT_GT(lines.size(), 1990u);
    EXPECT_EQ(DigestText(LinesOf(domain, only, 0, 1000)), digest) << name;
  }
}

}  // namespace
}  // namespace lockstep::verify
