// The catalogue of known bugs, in one table: it serves the candidates
// `mutant:NAME`, hypothesis replay, `lockstep list mutants` and
// docs/mutants.md.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MUTANTS_H_
#define LOCKSTEP_VERIFY_EMULATOR_MUTANTS_H_

#include <span>
#include <string>
#include <string_view>

#include "reference/contract/status.h"
#include "verify/emulator/attention_forward/faults.h"
#include "verify/emulator/attention_forward/variant.h"
#include "verify/emulator/mamba3_scan/faults.h"
#include "verify/emulator/mamba3_scan/kernel.h"

namespace lockstep::verify {

struct MutantInfo {
  const char* name;
  const char* op;
  const char* family;  // softcap mask layout tiles softmax numeric cheat
  Fault fault;
  const char* base;  // variant of the zoo that is broken
  const char* dial;  // what @SEVERITY counts; null: no dial
  double severity;   // without @
  const char* breaks;
  // The smallest case that shows it in tiles of 4x4; `A ;; B` is a sequence.
  const char* pattern;
  ScanFault scan_fault = ScanFault::kNone;  // of the other ops

  bool attention() const { return scan_fault == ScanFault::kNone; }
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
  FaultDial dial;
  AttentionVariant variant;
  // Of scans, in place of dial and variant.
  ScanDial scan_dial;
  ScanVariant scan;
  std::string spec;  // "NAME@SEVERITY,base=VARIANT", only what was given
};

// "NAME[@SEVERITY][,base=VARIANT]". Errors: an unknown name (the nearest is
// named), a severity without a dial or out of range, an unknown variant.
Result<Mutant> ParseMutant(std::string_view spec);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MUTANTS_H_
