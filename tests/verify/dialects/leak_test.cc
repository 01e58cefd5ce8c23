// Leak tests: silent on the exact kernels, loud on kernels that leak.
#include "verify/tables/leak.h"

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/attention_forward.h"
#include "reference/attention_forward.h"
#include "tests/support/attention_problem.h"

namespace lockstep::verify {
namespace {

Status Reference(const AttentionForwardProblem& problem,
                 const AttentionForwardInputs& inputs,
                 const AttentionForwardOutputs& outputs) {
  return reference::AttentionForward(problem, inputs, outputs);
}

MaskExpr Causal() {
  MaskExpr mask;
  mask.kind = MaskExpr::Kind::kCausal;
  return mask;
}

// Documents of the given lengths, then padding up to `length`.
test::Instance Packed(const std::vector<int64_t>& documents, int64_t length,
                      Lane lane) {
  test::Instance instance;
  AttentionForwardProblem& p = instance.problem;
  p.q_heads = 2;
  p.q_len = p.kv_len = length;
  p.head_dim = p.value_dim = 8;
  p.lane = lane;
  p.softcap = 5;
  p.segments = true;
  p.masks = {Causal()};
  std::mt19937 rng(7);
  instance.Fill(rng);
  instance.q_seg.assign(static_cast<size_t>(length), -1);
  instance.kv_seg.assign(static_cast<size_t>(length), -2);
  size_t t = 0;
  for (size_t d = 0; d < documents.size(); ++d) {
    for (int64_t n = 0; n < documents[d]; ++n, ++t) {
      instance.q_seg[t] = instance.kv_seg[t] = static_cast<int32_t>(d);
    }
  }
  return instance;
}

std::string Tests(const Result<LeakReport>& report) {
  EXPECT_TRUE(report.ok()) << report.message();
  std::set<std::string> names;
  for (const Leak& leak : report->leaks) names.insert(leak.test);
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : " ") + name;
  return text;
}

TEST(Leak, ExactKernelsDoNotLeak) {
  const std::vector<int64_t> rows[] = {
      {16, 16, 7},        // aligned, of one length
      {1, 15, 17, 3, 3},  // borders at 1, one before and one behind 16
      {5, 45},            // one over several stripes, not from a border
      {50},               // one document over several tiles
      std::vector<int64_t>(40, 1),
      {},  // padding only
  };
  for (const auto& row : rows) {
    for (const Lane lane : {Lane::kF32, Lane::kBf16}) {
      test::Instance instance = Packed(row, 56, lane);
      const AttentionForwardInputs in = instance.Inputs();
      const auto report = FindLeaks(instance.problem, in, Reference);
      EXPECT_EQ(Tests(report), "") << report->leaks[0].message;
      EXPECT_EQ(report->documents, static_cast<int64_t>(row.size()));
      EXPECT_EQ(report->alone, report->documents);
      const auto fast = FindLeaks(
          instance.problem, in,
          [](const AttentionForwardProblem& p, const AttentionForwardInputs& i,
             const AttentionForwardOutputs& o) {
            const Result<optimized::Plan> plan = optimized::MakePlan(p, {});
            if (!plan.ok()) return plan.status();
            return optimized::AttentionForward(p, i, plan.value(), o, nullptr);
          });
      EXPECT_EQ(Tests(fast), "");
    }
  }
}

TEST(Leak, DocumentsOfOneLengthAreExchanged) {
  test::Instance instance = Packed({16, 16, 8, 8, 16}, 64, Lane::kF32);
  const auto report = FindLeaks(instance.problem, instance.Inputs(), Reference);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->swapped, 2);  // the third sixteen has no partner
}

// Kernels that get something wrong, made from the reference by other inputs.
TEST(Leak, LeakingKernelsAreFound) {
  const auto with = [](const auto& change) {
    return [change](const AttentionForwardProblem& problem,
                    const AttentionForwardInputs& inputs,
                    const AttentionForwardOutputs& outputs) {
      AttentionForwardProblem p = problem;
      AttentionForwardInputs in = inputs;
      std::vector<int32_t> q, kv;
      for (int64_t t = 0; t < p.q_len; ++t) {
        q.push_back(in.q_seg(0, t));
        kv.push_back(in.kv_seg(0, t));
      }
      change(&p, &q, &kv);
      in.q_seg = {q.data(), {1, p.q_len}, {p.q_len, 1}};
      in.kv_seg = {kv.data(), {1, p.q_len}, {p.q_len, 1}};
      return Reference(p, in, outputs);
    };
  };
  using Ids = std::vector<int32_t>;
  test::Instance instance = Packed({16, 16, 7}, 48, Lane::kF32);
  const auto leaks = [&](const AttentionKernel& kernel) {
    return Tests(FindLeaks(instance.problem, instance.Inputs(), kernel));
  };
  // No segments at all.
  EXPECT_EQ(leaks(with([](AttentionForwardProblem*, Ids* q, Ids* kv) {
              q->assign(q->size(), 0);
              kv->assign(kv->size(), 0);
            })),
            "L1 L2 L4 L5");
  // The ids of the third document are those of the first.
  EXPECT_EQ(leaks(with([](AttentionForwardProblem*, Ids* q, Ids* kv) {
              for (Ids* ids : {q, kv}) {
                for (int32_t& id : *ids) id = id == 2 ? 0 : id;
              }
            })),
            "L1 L2 L4 L5");
  // Padding has the id of the last document, and nothing is causal.
  EXPECT_EQ(leaks(with([](AttentionForwardProblem* p, Ids* q, Ids* kv) {
              p->masks = {MaskExpr{}};
              for (Ids* ids : {q, kv}) {
                for (int32_t& id : *ids) id = id < 0 ? 2 : id;
              }
            })),
            "L1 L3");
}

TEST(Leak, RefusesWhatDoesNotMove) {
  test::Instance instance = Packed({16, 16}, 40, Lane::kF32);
  const auto refused = [&] {
    return !FindLeaks(instance.problem, instance.Inputs(), Reference).ok();
  };
  EXPECT_FALSE(refused());
  instance.problem.masks[0].kind = MaskExpr::Kind::kChunked;
  instance.problem.masks[0].chunk = 8;
  EXPECT_TRUE(refused());
  instance.problem.masks = {Causal()};
  instance.problem.align = {Alignment::Kind::kOffset, 1};
  EXPECT_TRUE(refused());
  instance.problem.align = {};
  instance.problem.segments = false;
  EXPECT_TRUE(refused());
  instance.problem.segments = true;
  instance.q_seg[20] = instance.kv_seg[20] = 0;  // document 0 comes back
  EXPECT_TRUE(refused());
}

}  // namespace
}  // namespace lockstep::verify
