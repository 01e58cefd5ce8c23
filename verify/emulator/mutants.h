// The catalogue of known bugs, in one table: it serves the candidates
// `mutant:NAME`, hypothesis replay, `lockstep list mutants` and
// docs/mutants.md.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MUTANTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_MUTANTS_H_

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "reference/contract/status.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/emulator/attention_forward/faults.h"
#include "verify/emulator/attention_forward/variant.h"
#include "verify/emulator/attention_merge/kernel.h"
#include "verify/emulator/catalogue.h"
#include "verify/emulator/mamba3_scan/faults.h"
#include "verify/emulator/mamba3_scan/kernel.h"
#include "verify/emulator/mamba3_scan_backward/kernel.h"

namespace lockstep::verify {

// A point at which an emulated kernel is broken, of one of the five kernels.
using FaultPoint =
    std::variant<Fault, GradFault, ScanFault, ScanGradFault, MergeFault>;

struct MutantInfo {
  // `variant`: of the zoo, that is broken; null: the kernel's usual one.
  constexpr MutantInfo(FaultPoint where, const char* id, const char* kind,
                       const char* what, const char* example,
                       const char* variant = nullptr)
      : name(id),
        family(kind),
        breaks(what),
        pattern(example),
        base(variant != nullptr ? variant : kUsualBase[where.index()]),
        point(where) {}
  // The same with a dial: what @SEVERITY counts, and its value without @.
  constexpr MutantInfo(FaultPoint where, const char* id, const char* kind,
                       const char* what, const char* example, const char* unit,
                       double value, const char* variant = nullptr)
      : MutantInfo(where, id, kind, what, example, variant) {
    dial = unit;
    severity = value;
  }

  const char* name;
  // softcap mask layout tiles softmax numeric f16 fp8 cheat, and others
  const char* family;
  const char* breaks;
  // The smallest case that shows it in tiles of 4x4; `A ;; B` is a sequence.
  const char* pattern;
  const char* base;
  const char* dial = nullptr;  // null: no dial
  double severity = 0;
  FaultPoint point;

  // Whether it breaks attention_forward, its gradients, a scan, a scan's
  // gradients, or a merge.
  bool attention() const { return std::holds_alternative<Fault>(point); }
  bool gradients() const { return std::holds_alternative<GradFault>(point); }
  bool scan() const { return std::holds_alternative<ScanFault>(point); }
  bool scan_gradients() const {
    return std::holds_alternative<ScanGradFault>(point);
  }
  bool merge() const { return std::holds_alternative<MergeFault>(point); }
  // The point of that kernel; kNone: the bug is another kernel's.
  template <typename Point>
  Point PointOf() const {
    const Point* of = std::get_if<Point>(&point);
    return of == nullptr ? Point::kNone : *of;
  }
  // The op of its pattern.
  std::string op() const { return OpOfPattern(pattern); }

 private:
  static constexpr const char* kUsualBase[] = {"exact", "grad-cpu", "scan",
                                               "scan-grad", "merge"};
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
  MergeVariant merge;
  std::string spec;  // as it was given
};

// "NAME[@SEVERITY][,base=VARIANT][,tile=ROWSxKEYS]", of scans chunk=N in place
// of the tile, and of merges neither; "NAME[@SEVERITY]+NAME[@SEVERITY]..." is
// two bugs in one kernel. Errors: an unknown name (the nearest one is named),
// an unknown variant, a severity without a dial or out of range, no tile or
// chunk, a pair that no kernel has.
Result<Mutant> ParseMutant(std::string_view spec);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MUTANTS_H_
