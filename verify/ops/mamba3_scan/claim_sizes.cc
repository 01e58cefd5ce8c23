#include "verify/ops/mamba3_scan/claim_sizes.h"

#include <algorithm>
#include <utility>

#include "verify/case/mamba3_scan/case.h"

namespace lockstep::verify {
namespace {

// What a call of a chain counts as, in multiply-adds: a message to a host.
constexpr int64_t kStepCost = 100000;

const Mamba3ScanCase& ScanIn(const Case& c) { return c.Get<Mamba3ScanCase>(); }

void RemoveRuns(Mamba3ScanCase* scan) {
  scan->seg = {};
  scan->cu.clear();
  scan->poison.reset();
}

void SetTokens(int64_t length, Mamba3ScanCase* scan) {
  if (scan->problem.length == length) return;
  scan->poison.reset();
  scan->problem.length = length;
  for (auto& row : scan->seg.rows) {
    int64_t end = 0;
    std::vector<SegmentRun> runs;
    for (SegmentRun run : row) {
      run.length = std::min(run.length, length - end);
      if (run.length <= 0) break;
      end += run.length;
      runs.push_back(run);
    }
    if (!runs.empty()) runs.back().length += length - end;
    row = std::move(runs);
  }
  if (scan->cu.empty()) return;
  std::erase_if(scan->cu, [&](int64_t at) { return at >= length; });
  scan->cu.push_back(length);
}

std::vector<int64_t> OrOwn(std::vector<int64_t> sizes, bool own, int64_t size) {
  if (own) sizes.push_back(size);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// The first is short, the last has all tokens, the others any number.
int64_t TokensOfRun(int64_t run, const ClaimSize& size) {
  if (run == size.width - 1) return size.length;
  if (run == 0) return (size.length + 1) / 2;
  return 1 + (run * 7919 + 13) % size.length;
}

}  // namespace

int64_t ScanClaimWork(const Case& c) {
  const Mamba3ScanProblem& p = ScanIn(c).problem;
  const int64_t work = p.batch * p.length * p.heads * p.head_dim * p.state_dim *
                       (1 + 3 * p.ranks);
  return work + (c.Has<Mamba3StepCase>() ? p.length * kStepCost : 0);
}

Result<Case> ScanOfLength(const Case& c, const ClaimSize& size) {
  Case made = c;
  SetTokens(size.length, &made.Get<Mamba3ScanCase>());
  return made;
}

Result<Case> ScanOfBatch(const Case& c, const ClaimSize& size) {
  const Mamba3ScanCase& own = ScanIn(c);
  const bool same = size.length == own.problem.length && !size.ragged &&
                    size.width == own.problem.batch && own.cu.empty();
  if (same) return c;
  Case made = c;
  auto& scan = made.Get<Mamba3ScanCase>();
  RemoveRuns(&scan);
  scan.problem.length = size.length;
  scan.problem.batch = size.width;
  if (!size.ragged) return made;
  scan.problem.batch = 1;
  scan.cu = {0};
  for (int64_t run = 0; run < size.width; ++run) {
    scan.cu.push_back(scan.cu.back() + TokensOfRun(run, size));
  }
  scan.problem.length = scan.cu.back();
  return made;
}

Result<Case> ScanOfHeads(const Case& c, const ClaimSize& size) {
  Case made = c;
  auto& scan = made.Get<Mamba3ScanCase>();
  SetTokens(size.length, &scan);
  const int64_t group = scan.problem.group();
  scan.problem.groups = size.width;
  scan.problem.heads = size.width * group;
  return made;
}

Result<Case> ScanOfRows(const Case& c, const ClaimSize& size) {
  Case made = c;
  auto& scan = made.Get<Mamba3ScanCase>();
  RemoveRuns(&scan);
  scan.problem.length = size.length;
  return made;
}

Result<Case> ScanOfOneRow(const Case& c, const ClaimSize& size) {
  Result<Case> made = ScanOfRows(c, size);
  made->Get<Mamba3ScanCase>().problem.batch = 1;
  return made;
}

std::vector<int64_t> ScanBatches(const Case& c, int64_t length) {
  const Mamba3ScanProblem& p = ScanIn(c).problem;
  return OrOwn({2, 3, 8, 64}, length == p.length && p.batch > 1, p.batch);
}

std::vector<int64_t> ScanGroups(const Case& c, int64_t length) {
  const Mamba3ScanProblem& p = ScanIn(c).problem;
  return OrOwn({2, 3, 8}, length == p.length && p.heads > 1, p.groups);
}

std::vector<int64_t> ScanPaddings(const Case&, int64_t length) {
  return OrOwn({1, 15, 128}, true, length);
}

std::vector<int64_t> ScanChunks(const Case&, int64_t length) {
  std::vector<int64_t> chunks;
  for (const int64_t chunk : {1, 7, 16, 64, 128, 1000}) {
    if (chunk < length || chunks.empty()) chunks.push_back(chunk);
  }
  return chunks;
}

}  // namespace lockstep::verify
