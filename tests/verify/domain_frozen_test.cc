// Digests of the cases that versions of the domains draw.
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

// Version 14 may never draw anything else: campaigns and reports name it. Its
// tame cases are version 1's.
TEST(DomainTest, VersionFourteenIsFrozen) {
  ASSERT_EQ(kDomainVersion, 14u);
  const Domain& domain = *FindDomain("attention_forward").value();
  EXPECT_EQ(DigestText(LinesOf(domain, {}, 0, 1000)),
            "db59f8bff704b9017e5f484f94433dba");
  EXPECT_EQ(DigestText(LinesOf(domain, {}, 0x123456789abcdef0u, 1000)),
            "6980b69a84b4cd6e4f4d0c057e9ce4b1");
  DomainOptions options;
  options.lane = Lane::kBf16;
  options.tile_q = 16;
  options.tile_kv = 64;
  EXPECT_EQ(DigestText(LinesOf(domain, options, 7, 1000)),
            "e5d6bd97c65db81aeffeef8e6357b4ff");
  // Tame draws are like version 4's: no tensors that reach far, no keys in
  // parts or in pages, no ragged batches, no v in k, no fp8, no
  // index lists.
  options.near = true;
  EXPECT_EQ(DigestText(LinesOf(domain, options, 7, 1000)),
            "5d57c7b1c3f490cfe598e908275d98b0");
  options.tame = true;
  EXPECT_EQ(DigestText(LinesOf(domain, options, 7, 1000)),
            "b8d7e57dafcbb73831528ee890622a8a");
}

TEST(DomainTest, VersionFourOfOtherOpsIsFrozen) {
  const struct {
    const char* op;
    const char* wild;
    const char* tame;  // version 1's
  } ops[] = {{"mamba3_scan", "6525acc7c99a961f77bee3889f704050",
              "c8f0fd694c20749965eea76b715bd310"},
             {"mamba3_step", "75d5155eb81cd376d8633f7c6fa828f0",
              "fd2bc29ed4a167d410a6ba3499f4012a"},
             {"ssd_scan", "a3e2b3d5580dc01c1eeb578af0ad22db",
              "927171b043eb5c201a369d77cb13ee08"},
             {"mamba3_scan_backward", "641c785058f10f01fb0693fef20a7276",
              "f3a020d1fd4f2c3567ef67a4976f8125"},
             {"attention_backward", "f591d4422bf78fc78730b09098aec672",
              "5f4a2e3de104d42bb7799f9defa6530a"}};
  for (const auto& [op, wild, tame] : ops) {
    const Domain& domain = *FindDomain(op).value();
    DomainOptions options;
    std::string lines = LinesOf(domain, options, 0, 1000);
    options.lane = Lane::kBf16;
    options.tile_kv = 64;
    lines += LinesOf(domain, options, 7, 1000);
    EXPECT_EQ(DigestText(lines), wild) << op;
    options.tame = true;
    EXPECT_EQ(DigestText(LinesOf(domain, options, 7, 1000)), tame) << op;
  }
}

TEST(DomainTest, VersionOneOfPlansIsFrozen) {
  const Domain& domain = *FindDomain("block_plan").value();
  DomainOptions options;
  std::string lines = LinesOf(domain, options, 0, 1000);
  options.tile_q = 16;
  options.tile_kv = 64;
  lines += LinesOf(domain, options, 7, 1000);
  options.tame = true;
  lines += LinesOf(domain, options, 7, 1000);
  EXPECT_EQ(DigestText(lines), "94c317a9748e12ccf0bf0204cfe42ad8");
}

TEST(DomainTest, GuardCasesAreLegalAndFrozen) {
  using Guards = DomainOptions::Guards;
  DomainOptions only;
  only.guards = Guards::kOnly;
  for (const auto& [name, digest] :
       {std::pair{"attention_forward", "326de990844044eb7cc3f9ddc28f1d59"},
        std::pair{"attention_backward", "56ff5eb0fc771e763f43cc03108d096b"}}) {
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
