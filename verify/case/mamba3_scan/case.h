// What mamba3_scan and mamba3_step cases say, as values. Keys: docs/cases.md.
#ifndef LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_CASE_H_
#define LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_CASE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// Step sizes, decays and mixing weights of a scan: what one regime shows,
// another hides. Numbers: docs/cases.md.
enum class ScanRegime : uint8_t { kTypical, kShort, kLong, kStrong, kResets };

// Order of the axes in memory; all are views in the contract's order.
enum class ScanLayout : uint8_t {
  kBthp,  // rows, tokens, heads; a, dt and tau with time last
  kBhtp,  // rows, heads, tokens; a, dt and tau with heads last
};

struct Mamba3ScanCase : OpValuesAs<Mamba3ScanCase> {
  // Its runs, carry_in and norm_epsilon follow from the fields below.
  Mamba3ScanProblem problem;
  Segments seg;
  std::vector<int64_t> cu;  // cu_seqlens; empty: none
  std::string carry;        // parts of the initial one: "thkv", some, or none
  ScanLayout layout = ScanLayout::kBthp;
  int64_t pad = 0;  // elements between neighbouring innermost rows
  ScanRegime regime = ScanRegime::kTypical;
  // Absent: what the regime says.
  std::optional<FillTerm> a, dt, tau, rate;
  std::vector<FillTerm> fill = {FillTerm{FillKind::kNormal, kFillAll, {1.0}}};
  std::optional<Number> norm;     // epsilon of the output norm
  std::optional<int64_t> poison;  // a run that holds NaN and infinities
  // Mamba-2's scan: tau is +infinity and no tensor, a carry is h alone.
  bool ssd = false;
  friend bool operator==(const Mamba3ScanCase&,
                         const Mamba3ScanCase&) = default;
};

// The same problem, decoded token by token, from carry to carry.
struct Mamba3StepCase : OpValuesAs<Mamba3StepCase, Mamba3ScanCase> {
  friend bool operator==(const Mamba3StepCase&,
                         const Mamba3StepCase&) = default;
};

// The static problem. Requires: ValidateCase passes for a meaningful one.
Mamba3ScanProblem ToProblem(const Mamba3ScanCase& c);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_MAMBA3_SCAN_CASE_H_
