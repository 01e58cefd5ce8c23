// The catalogue of known bugs, in one table: it serves the candidates
// `mutant:NAME`, hypothesis replay, `lockstep list mutants` and
// docs/mutants.md.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MUTANTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_MUTANTS_H_

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "reference/contract/status.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/emulator/attention_forward/faults.h"
#include "verify/emulator/attention_forward/variant.h"
#include "verify/emulator/mamba3_scan/faults.h"
#include "verify/emulator/mamba3_scan/kernel.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"

namespace lockstep::verify {

struct MutantInfo {
  // Of attention_forward; `variant`: of the zoo, that is broken.
  constexpr MutantInfo(const char* id, const char* kind, Fault point,
                       const char* what, const char* example,
                       const char* variant = "exact")
      : name(id),
        family(kind),
        breaks(what),
        pattern(example),
        base(variant),
        fault(point) {}
  // The same with a dial: what @SEVERITY counts, and its value without @.
  constexpr MutantInfo(const char* id, const char* kind, Fault point,
                       const char* what, const char* example, const char* unit,
                       double value, const char* variant = "exact")
      : MutantInfo(id, kind, point, what, example, variant) {
    dial = unit;
    severity = value;
  }
  // Of the gradients of attention.
  constexpr MutantInfo(const char* id, const char* kind, GradFault point,
                       const char* what, const char* example,
                       const char* variant = "grad-cpu")
      : MutantInfo(id, kind, Fault::kNone, what, example, variant) {
    grad_fault = point;
  }
  // Of the scans.
  constexpr MutantInfo(const char* id, const char* kind, ScanFault point,
                       const char* what, const char* example,
                       const char* variant = "scan")
      : MutantInfo(id, kind, Fault::kNone, what, example, variant) {
    scan_fault = point;
  }
  // Of the gradients of a scan.
  constexpr MutantInfo(const char* id, const char* kind, ScanGradFault point,
                       const char* what, const char* example,
                       const char* variant = "scan-grad")
      : MutantInfo(id, kind, Fault::kNone, what, example, variant) {
    scan_grad_fault = point;
  }

  const char* name;
  const char* family;  // softcap mask layout tiles softmax numeric cheat
  const char* breaks;
  // The smallest case that shows it in tiles of 4x4; `A ;; B` is a sequence.
  const char* pattern;
  const char* base;
  const char* dial = nullptr;  // null: no dial
  double severity = 0;
  Fault fault;
  ScanFault scan_fault = ScanFault::kNone;
  GradFault grad_fault = GradFault::kNone;
  ScanGradFault scan_grad_fault = ScanGradFault::kNone;

  // Whether it breaks attention_forward, its gradients, a scan, or those of
  // one.
  bool attention() const {
    return !gradients() && !scan() && !scan_gradients();
  }
  bool scan_gradients() const {
    return scan_grad_fault != ScanGradFault::kNone;
  }
  bool gradients() const { return grad_fault != GradFault::kNone; }
  bool scan() const { return scan_fault != ScanFault::kNone; }
  // The op of its pattern.
  std::string op() const { return {pattern, std::strcspn(pattern, " ")}; }
};
std::span<const MutantInfo> Mutants();

// Bugs of the literature that change nothing, with the proof.
struct EquivalentMutant {
  const char* name;
  const char* proof;
};
std::span<const EquivalentMutant> EquivalentMutants();

// A mutant with its dial and the variant it lives in.
struct Mutant {
  const MutantInfo* info = nullptr;
  const MutantInfo* second = nullptr;  // null: one bug
  FaultDial dial;
  AttentionVariant variant;
  // Of scans, in place of dial and variant.
  ScanDial scan_dial;
  ScanVariant scan;
  // Of gradients.
  GradVariant grad;
  ScanGradVariant scan_grad;
  std::string spec;  // as it was given
};

// "NAME[@SEVERITY][,base=VARIANT][,tile=ROWSxKEYS]", of scans chunk=N in place
// of the tile; "NAME[@SEVERITY]+NAME[@SEVERITY]..." is two bugs in one kernel.
// Errors: an unknown name (the nearest is named), a severity without a dial or
// out of range, an unknown variant, no tile or chunk, a pair that no kernel
// has.
Result<Mutant> ParseMutant(std::string_view spec);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MUTANTS_H_
