// Scans that people train and serve. data/cases/served.cases
// has a line of each.
#include "verify/domain/draws/served.h"

#include <span>
#include <utility>

#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/domain/mamba3_scan_parts.h"

namespace lockstep::verify {
namespace {

constexpr const char* kScans[] = {
    // Training: chunks of 64 with a rest, groups, ranks, documents.
    "b=2 t={33..70} h=4 g=2 n=32 p=16 gate=yes",
    "t={63|64|65|127|128|129} h=2 n=32 p=16", "t={17..30} h=2 n=128 p=64",
    "t={17..40} h=2 n=32 p=16 variant=mimo r=4 gate=yes reduce={no|yes}",
    "t=40 h=2 n=32 p=16 seg=runs:{13,27|16,24|1,9,30|39,1}",
    "t=40 h=2 n=32 p=16 cu=0,{13|16|1|39},40 carry=yes",
    "t=40 h=2 n=32 p=16 cu=0,{13|16|1},$,40 carry={no|yes}",
    // Prefill in chunks, from the state that the last one left.
    "b=2 t={1..40} h=4 g=2 n=32 p=16 carry=yes",
    "t={5..20} h=2 n=64 p=32 carry=yes gate=yes norm=1e-5"};

constexpr const char* kSteps[] = {
    "b={1..4} t=1 h=4 g=2 n=64 p=32 carry=yes",
    "b=2 t=1 h=2 n=128 p=64 carry=yes gate=yes",
    "b=2 t={2..8} h=4 g=1 n=32 p=16 carry=yes",
    "t=1 h=2 n=32 p=16 variant=mimo r=4 carry=yes gate=yes reduce={no|yes}",
    "t={2..8} h=2 n=32 p=16 carry=no"};

constexpr const char* kSsd[] = {
    "b=2 t={33..70} h=4 g=2 n=32 p=16 gate={no|yes}",
    "t={63|64|65|127|128|129} h=2 n=32 p=16",
    "t={17..30} h=2 n=128 p=64",
    "t=40 h=2 n=32 p=16 seg=runs:{13,27|16,24|1,9,30|39,1}",
    "t=40 h=2 n=32 p=16 cu=0,{13|16|1|39},40 carry={no|yes}",
    "b=2 t={1..40} h=4 g=2 n=32 p=16 carry=yes",
    "b={1..4} t=1 h=4 g=2 n=64 p=32 carry=yes"};

constexpr const char* kGradients[] = {
    "b=2 t={17..40} h=4 g=2 n=16 p=16 gate=yes",
    "t={63|64|65} h=2 n=16 p=16",
    "t={9..17} h=2 n=64 p=32",
    "t={9..20} h=2 n=16 p=16 variant=mimo r=4 gate=yes reduce={no|yes}",
    "t=40 h=2 n=16 p=16 seg=runs:{13,27|16,24|1,9,30|39,1}",
    "t=40 h=2 n=16 p=16 cu=0,{13|16|1|39},40 carry=yes dcarry=yes",
    "t={5..20} h=2 n=16 p=16 carry=yes dcarry=yes"};

std::span<const char* const> RowsOf(const Case& c) {
  if (c.Has<Mamba3ScanBackwardCase>()) return kGradients;
  if (c.Has<Mamba3StepCase>()) return kSteps;
  if (c.Get<Mamba3ScanCase>().ssd) return kSsd;
  return kScans;
}

}  // namespace

std::vector<Case> WithServedScans(Draw* draw, const DomainOptions& options,
                                  std::vector<Case> sequence) {
  const std::span<const char* const> rows = RowsOf(sequence[0]);
  sequence = WithF16(draw, options, std::move(sequence));
  return WithServed(draw, options, rows, std::move(sequence));
}

}  // namespace lockstep::verify
