// What the extension module has, by file. The exact operators are asked by a
// case line, whose keys and errors are those of docs/cases.md; tensors come by
// name (docs/wire.md). The interpreter's lock is not held while they compute.
#ifndef LOCKSTEP_PYTHON_NATIVE_OPERATORS_H_
#define LOCKSTEP_PYTHON_NATIVE_OPERATORS_H_

#include <nanobind/nanobind.h>

#include <string>

#include "verify/case/case.h"

namespace lockstep::python {

// Errors, as Python's ValueError: those of ParseCase and ValidateCase.
verify::Case Ask(const std::string& line);
// Whether this CPU has what the SIMD path was compiled for.
bool AnyTarget();

// attention_forward, attention_backward, attention_merge, mamba3,
// mamba3_backward, ssd, block_plan.
void AddOperators(nanobind::module_* module);
void AddAttention(nanobind::module_* module);
void AddMerge(nanobind::module_* module);
// Case, and the lines of case files.
void AddCases(nanobind::module_* module);

}  // namespace lockstep::python

#endif  // LOCKSTEP_PYTHON_NATIVE_OPERATORS_H_
