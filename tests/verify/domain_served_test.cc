// Draws of calls that people serve and train,
// lanes and layouts that come together, numbers that lanes hold.
#include "verify/domain/draws/served.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/verify/trials.h"
#include "verify/base/compare.h"
#include "verify/case/attention_forward/case.h"
#include "verify/domain/domain.h"
#include "verify/domain/draws/further.h"
#include "verify/inputs/named_tensor.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

TEST(DomainServed, RowsAreExpanded) {
  Draw first{std::span<const uint8_t>()};  // every choice is its first
  EXPECT_EQ(Expand(&first, "sq={3..9} skv=$,{a|b|} page=16{|:nhd} mask=(a|b)"),
            "sq=3 skv=3,a page=16 mask=(a|b)");
  std::set<std::string> seen;
  for (uint64_t n = 0; n < 100; ++n) {
    Draw draw(1, kDrawKey, n);
    seen.insert(Expand(&draw, "{1..3}{|x}$"));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"1", "2", "3", "1xx", "2xx", "3xx"}));
}

// Of so many cases how many are so, by their lines.
int Count(const char* op, int cases,
          const std::function<bool(const std::string&)>& so) {
  const Domain& domain = *FindDomain(op).value();
  int count = 0;
  for (int n = 0; n < cases; ++n) {
    count += so(MinimalLine(DrawCase(domain, {}, 0, static_cast<uint64_t>(n))))
                 ? 1
                 : 0;
  }
  return count;
}

std::function<bool(const std::string&)> Has(std::vector<std::string> parts) {
  return [parts](const std::string& line) {
    return std::all_of(
        parts.begin(), parts.end(), [&](const std::string& part) {
          return (" " + line + " ").find(part) != std::string::npos;
        });
  };
}

TEST(DomainServed, CallsThatPeopleServeAreDrawn) {
  const char* const forward = "attention_forward";
  EXPECT_GE(
      Count(forward, 2000, Has({" sq=1 ", "=causal&window:", " align=br "})),
      15);
  EXPECT_GE(Count(forward, 2000, Has({" alias=v_in_k:512 "})), 10);
  EXPECT_GE(Count(forward, 2000, Has({" page=16", " sq=1 "})), 15);
  EXPECT_GE(Count(forward, 2000, Has({" page=", "strides=k:"})), 15);
  EXPECT_GE(Count(forward, 2000, Has({" layout=varlen ", "index:"})), 5);
  EXPECT_GE(Count("attention_backward", 2000, Has({" d=128 dv=96 "})), 5);
  EXPECT_GE(Count("attention_merge", 2000, Has({" dv=512 "})), 5);
  EXPECT_GE(Count("mamba3_step", 2000, Has({" t=1 ", " carry=yes "})), 15);
}

TEST(DomainServed, F16IsDrawnForEveryOp) {
  for (const Domain& domain : Domains()) {
    if (std::string(domain.op) == "block_plan") continue;
    const int narrow = Count(domain.op, 1000, Has({" lane=f16 "}));
    EXPECT_GT(narrow, 100) << domain.op;
    EXPECT_LT(narrow, 300) << domain.op;
  }
}

// NaN comes after the bugs.
TEST(DomainServed, TheFirstCasesHaveOrdinaryNumbers) {
  for (const Domain& domain : Domains()) {
    for (uint64_t n = 0; n < kOrdinaryFirst; ++n) {
      const std::string line = MinimalLine(DrawCase(domain, {}, 3, n));
      for (const char* wild :
           {"special:", "poison", "huge:", "nan=", "posinf=", "subnormal:"}) {
        EXPECT_EQ(line.find(wild), std::string::npos) << line;
      }
    }
  }
}

int64_t Infinities(const Case& c) {
  const auto trial = Open(c);
  auto outputs = trial->Allocate(0);
  EXPECT_TRUE(outputs.ok());
  int64_t count = 0;
  for (const NamedTensor& tensor :
       trial->Call(0, outputs.value()).inputs.tensors) {
    if (tensor.type != ElementType::kF16) continue;
    const std::vector<uint8_t> bytes = DenseBytes(tensor);
    for (size_t at = 0; at < bytes.size(); at += 2) {
      uint16_t bits = 0;
      std::memcpy(&bits, bytes.data() + at, sizeof(bits));
      count += std::isfinite(ElementValue(Lane::kF16, bits)) ? 0 : 1;
    }
  }
  return count;
}

TEST(DomainServed, OrdinaryNumbersStayInTheLane) {
  DomainOptions options;
  options.lane = Lane::kF16;
  for (const Domain& domain : Domains()) {
    if (std::string(domain.op) == "block_plan") continue;
    for (uint64_t n = 0; n < kOrdinaryFirst; ++n) {
      for (const Case& c : DrawCase(domain, options, 1, n)) {
        EXPECT_EQ(Infinities(c), 0) << MinimalLine(c);
        for (const Case& further : FurtherDraws(c, n % 4 == 0 ? 3 : 0)) {
          EXPECT_EQ(Infinities(further), 0) << MinimalLine(further);
        }
      }
    }
  }
}

// 95 % of V was infinite.
TEST(DomainServed, FurtherDrawsOfF16AreFinite) {
  for (const Case& c : FurtherDraws(
           ParseCase("attention_forward hq=2 sq=5 skv=65 d=80 lane=f16 p=f16 "
                     "mask=causal&window:16,0")
               .value(),
           12)) {
    EXPECT_EQ(Infinities(c), 0) << MinimalLine(c);
  }
}

}  // namespace
}  // namespace lockstep::verify
