// What the extension module has, by file.
#ifndef LOCKSTEP_PYTHON_NATIVE_OPERATORS_H_
#define LOCKSTEP_PYTHON_NATIVE_OPERATORS_H_

#include <nanobind/nanobind.h>

namespace lockstep::python {

// attention_forward, mamba3, block_plan.
void AddOperators(nanobind::module_* module);
// Case, and the lines of case files.
void AddCases(nanobind::module_* module);

}  // namespace lockstep::python

#endif  // LOCKSTEP_PYTHON_NATIVE_OPERATORS_H_
