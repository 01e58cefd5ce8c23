// Draws of the sizes of real models.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/domain/attention_forward_parts.h"
#include "verify/domain/domain.h"
#include "verify/domain/mamba3_scan_parts.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// The head sizes that models have, and long axes, each now
// and then, in few products.
TEST(DomainSizes, SizesOfModelsAreDrawn) {
  for (const char* op : {"attention_forward", "attention_backward"}) {
    const Domain& domain = *FindDomain(op).value();
    std::map<std::pair<int64_t, int64_t>, int> heads;
    int keys = 0, queries = 0;
    for (uint64_t n = 0; n < 3000; ++n) {
      const std::vector<Case> sequence = DrawCase(domain, {}, 0, n);
      const auto& a = sequence[0].Get<AttentionForwardCase>();
      ++heads[{a.head_dim, a.value_dim}];
      keys += a.kv_len > 256 ? 1 : 0;
      queries += a.q_len > 256 ? 1 : 0;
      EXPECT_LE(WorkOf(a), int64_t{1} << 23) << MinimalLine(sequence);
    }
    for (const int64_t d : {80, 96, 112, 128, 256}) {
      EXPECT_GT((heads[{d, d}]), 20) << op << " " << d;
    }
    EXPECT_GT((heads[{192, 128}]), 20) << op;
    EXPECT_GT((heads[{576, 512}]), 20) << op;
    EXPECT_GT(keys, 30) << op;
    EXPECT_GT(queries, 8) << op;
  }
}

TEST(DomainSizes, WidthsOfModelsAreDrawn) {
  for (const char* op :
       {"mamba3_scan", "mamba3_step", "ssd_scan", "mamba3_scan_backward"}) {
    const Domain& domain = *FindDomain(op).value();
    std::map<std::pair<int64_t, int64_t>, int> widths;
    int tokens = 0;
    for (uint64_t n = 0; n < 3000; ++n) {
      const std::vector<Case> sequence = DrawCase(domain, {}, 0, n);
      const auto& p = sequence[0].Get<Mamba3ScanCase>().problem;
      ++widths[{p.state_dim, p.head_dim}];
      tokens += p.length > 256 ? 1 : 0;
      EXPECT_LE(WorkOf(p), int64_t{1} << 19) << MinimalLine(sequence);
    }
    for (const int64_t n : {64, 128, 256}) {
      EXPECT_GT((widths[{n, 64}]), 15) << op << " " << n;
    }
    EXPECT_GT((widths[{128, 80}]), 15) << op;
    EXPECT_GT((widths[{128, 128}]), 15) << op;
    EXPECT_GT((widths[{256, 128}]), 15) << op;
    if (op != std::string("mamba3_step")) EXPECT_GT(tokens, 30) << op;
  }
}

}  // namespace
}  // namespace lockstep::verify
