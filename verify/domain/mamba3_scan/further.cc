// Further draws of scans and of their gradients
// (verify/domain/draws/further.h).
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

#include "verify/case/mamba3_scan/case.h"
#include "verify/case/segments/segment_ids.h"
#include "verify/domain/draws/further.h"
#include "verify/domain/draws/range.h"
#include "verify/domain/mamba3_scan.h"
#include "verify/domain/mamba3_scan_parts.h"

namespace lockstep::verify {
namespace {

using enum FillKind;

FillTerm Of(FillKind kind, uint8_t tensors, double a, double b = 0) {
  return {.kind = kind, .tensors = tensors, .a = {a}, .b = {b}};
}

// The n-th regime behind the case's own.
void NextRegime(uint64_t n, Mamba3ScanCase* c) {
  constexpr uint64_t kRegimes = static_cast<uint64_t>(ScanRegime::kResets) + 1;
  const auto own = static_cast<uint64_t>(c->regime);
  c->regime =
      static_cast<ScanRegime>((own + 1 + n % (kRegimes - 1)) % kRegimes);
}

// Values, of which a gate has its own, beyond and below f16's range; a gate far
// beyond +-4; keys beyond it, with queries below.
constexpr size_t kFills = 4;
std::vector<FillTerm> FillOf(size_t which) {
  switch (which) {
    case 0:
      return {Of(kNormal, kFillAll, 1), Of(kNormal, kFillV, 8)};
    case 1:
      return {Of(kNormal, kFillAll, 1), Of(kNormal, kFillV, 0x1p-30)};
    case 2:
      return {Of(kNormal, kFillAll, 1), Of(kNormal, kFillV, 0x1p20)};
    default:
      return {Of(kNormal, kFillAll, 1), Of(kNormal, kFillQ, 0x1p-30),
              Of(kNormal, kFillK, 0x1p30)};
  }
}

bool OfProbeOrFile(const FillTerm& term) {
  return term.kind == kProbe || term.kind == kFile;
}

}  // namespace

std::optional<Case> FurtherScan(const Case& from, uint64_t number, int64_t n) {
  Case c = from;
  auto& scan = c.Get<Mamba3ScanCase>();
  if (n < 0 || std::any_of(scan.fill.begin(), scan.fill.end(), OfProbeOrFile)) {
    return std::nullopt;
  }
  const auto turn = static_cast<uint64_t>(n);
  scan.fill = FillOf((number + turn) % kFills);
  KeepInRange(scan.problem.lane, kFillAll, &scan.fill);
  NextRegime(number / 8 + turn, &scan);
  constexpr IdRange kRanges[] = {IdRange::kLargest, IdRange::kSmallest,
                                 IdRange::kMirrored, IdRange::kSteps24};
  // Every fill meets every range, from round to round.
  const uint64_t range = number / 64 + turn + turn / kFills;
  RenameIds(kRanges[range % std::size(kRanges)], {&scan.seg});
  return c;
}

std::optional<Case> ShortScan(const Case& from, uint64_t number) {
  Case c = from;
  auto& scan = c.Get<Mamba3ScanCase>();
  if (scan.problem.length < kLongAxis ||
      scan.seg.kind == Segments::Kind::kFile ||
      std::any_of(scan.fill.begin(), scan.fill.end(), OfProbeOrFile)) {
    return std::nullopt;
  }
  constexpr int64_t kLengths[] = {8, 2, 1};
  SetTokens(kLengths[number % std::size(kLengths)], &scan);
  scan.cu.erase(std::unique(scan.cu.begin(), scan.cu.end()), scan.cu.end());
  return c;
}

}  // namespace lockstep::verify
