// Gradients of the Mamba-3 recurrence: heads of a run walked backwards
// (mamba3_head_backward.h), and 9 of clause N19, the sums over the heads of a
// group and over runs. What it means: docs/ops/mamba3_scan_backward.md.
#include "reference/mamba3_scan_backward.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/mamba3_scan_backward.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "reference/mamba3_head_backward.h"
#include "reference/mamba3_token.h"
#include "reference/runs.h"

namespace lockstep::reference {
namespace {

using Problem = Mamba3ScanBackwardProblem;
using Inputs = Mamba3ScanBackwardInputs;
using Outputs = Mamba3ScanBackwardOutputs;

// 9: the sums of all runs of a head.
void StoreHead(const Mamba3ScanProblem& p, const Outputs& out, int64_t head,
               const HeadSums& sums) {
  const auto finish = [](float x) { return FinishElement(x, Lane::kF32); };
  for (int64_t r = 0; r < p.ranks; ++r) {
    for (int64_t n = 0; p.bias && n < p.state_dim; ++n) {
      out.dbq(head, r, n) = finish(sums.bq[r][n]);
      out.dbk(head, r, n) = finish(sums.bk[r][n]);
    }
    for (int64_t c = 0; p.mimo() && c < p.head_dim; ++c) {
      out.dpsi(head, r, c) = finish(sums.psi[r][c]);
      if (p.gate) out.dzeta(head, r, c) = finish(sums.zeta[r][c]);
      if (p.reduce) out.dphi(head, r, c) = finish(sums.phi[r][c]);
    }
  }
  for (int64_t c = 0; p.norm_epsilon && c < p.head_dim; ++c) {
    out.dnorm_weight(head, c) = finish(sums.norm_weight[0][c]);
  }
  if (p.skip) out.dd(head) = finish(sums.skip);
}

// 9: the sums over the heads of a group.
void StoreGroup(const Mamba3ScanProblem& p, const Run& run, int64_t group,
                const Matrix& sums, const BasicLaneView<void, 5>& to) {
  for (int64_t t = run.first; t < run.end; ++t) {
    for (int64_t r = 0; r < p.ranks; ++r) {
      const float* row = sums[(t - run.first) * p.ranks + r];
      for (int64_t n = 0; n < p.state_dim; ++n) {
        StoreElement(to, row[n], run.row, t, r, group, n);
      }
    }
  }
}

int64_t RootOf(int64_t length) {
  int64_t root = 1;
  while (root * root < length) ++root;
  return root;
}

}  // namespace

Status Mamba3ScanBackward(const Problem& problem, const Inputs& inputs,
                          const Outputs& outputs, int64_t checkpoint) {
  Status valid = Validate(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  const Mamba3ScanProblem& p = problem.forward;
  const std::vector<Run> runs = ListRuns(p, inputs.forward);
  std::vector<HeadSums> sums(static_cast<size_t>(p.heads), HeadSums(p));
  for (size_t i = 0; i < runs.size(); ++i) {
    const int64_t tokens = runs[i].end - runs[i].first;
    const int64_t every = checkpoint > 0 ? checkpoint : RootOf(tokens);
    for (int64_t group = 0; group < p.groups; ++group) {
      Matrix dq(tokens * p.ranks, p.state_dim);
      Matrix dk(tokens * p.ranks, p.state_dim);
      const int64_t first = group * p.group();
      for (int64_t head = first; head < first + p.group(); ++head) {
        HeadBackward backward(problem, inputs, outputs, runs[i],
                              static_cast<int64_t>(i), head, dq, dk);
        HeadSums run = backward.Walk(every);
        sums[static_cast<size_t>(head)].AddRun(run);
      }
      StoreGroup(p, runs[i], group, dq, outputs.dq);
      StoreGroup(p, runs[i], group, dk, outputs.dk);
    }
  }
  for (int64_t head = 0; head < p.heads; ++head) {
    StoreHead(p, outputs, head, sums[static_cast<size_t>(head)]);
  }
  return valid;
}

}  // namespace lockstep::reference
