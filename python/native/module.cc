// The extension module lockstep._native: what the package's Python calls. Its
// functions are typed in python/lockstep/_native.pyi.
#include <nanobind/nanobind.h>

#include "python/native/operators.h"

NB_MODULE(_native, module) {
  lockstep::python::AddOperators(&module);
  lockstep::python::AddCases(&module);
}
