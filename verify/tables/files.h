// Block tables in safetensors files, dialect by dialect: what files:DIR brings
// to a block_plan case, and what export writes. Tensor names: docs/plans.md.
#ifndef LOCKSTEP_VERIFY_TABLES_FILES_H_
#define LOCKSTEP_VERIFY_TABLES_FILES_H_

#include <string>

#include "optimized/tile_plan.h"
#include "reference/contract/status.h"
#include "verify/base/io/safetensors.h"
#include "verify/case/block_plan.h"
#include "verify/case/case.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

// The tables of a file as the visits of a kernel. Integers of 1 to 8 bytes are
// taken, leading extents of 1 may be there or not. Errors: a tensor that is
// missing, of another shape or type than the dialect's, or that contradicts the
// case; never what only an invariant can say.
Result<PlanTrace> ReadTables(const BlockPlanCase& c,
                             const SafetensorsFile& file);

// The tables of a plan in the case's dialect as a whole file, each in the
// narrowest integers. Errors: what the dialect cannot say.
Result<std::string> FormatTables(const BlockPlanCase& c,
                                 const optimized::TilePlan& plan,
                                 const std::string& line);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_TABLES_FILES_H_
