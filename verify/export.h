// A case as files, for tools that are not ours: inputs.safetensors and
// expected.safetensors. Names, types and shapes: docs/cases.md, "Files".
#ifndef LOCKSTEP_VERIFY_EXPORT_H_
#define LOCKSTEP_VERIFY_EXPORT_H_

#include <string>

#include "reference/contract/status.h"
#include "verify/case.h"
#include "verify/inputs.h"

namespace lockstep::verify {

// Writes both files into `directory`, which is made if absent (not its
// parents). Expected outputs are the reference's. On error neither file has
// changed or a message says which one has.
Status ExportCase(const Case& c, const std::string& directory,
                  const MaterialiseOptions& options);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EXPORT_H_
