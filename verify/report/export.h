// A case as files, for other tools: inputs.safetensors and, on request,
// expected.safetensors. Names, types and shapes: docs/cases.md, "Files".
#ifndef LOCKSTEP_VERIFY_REPORT_EXPORT_H_
#define LOCKSTEP_VERIFY_REPORT_EXPORT_H_

#include <string>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/inputs/materialise.h"
#include "verify/tables/scene.h"

namespace lockstep::verify {

// Writes the inputs and, where `expected`, the reference's outputs into
// `directory`, which is made if absent (not its parents). On error neither file
// has changed or a message says which one has.
Status ExportCase(const Case& c, const std::string& directory, bool expected,
                  const MaterialiseOptions& options);

// Our own tables of the mask, as a safetensors file. Errors: the dialect cannot
// say it.
Result<std::string> ExpectedTables(const BlockPlanScene& scene,
                                   const std::string& case_line);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_EXPORT_H_
