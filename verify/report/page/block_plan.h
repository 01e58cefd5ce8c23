// A plan as a page: the numbers, and its map, to be looked at as large as one
// likes.
#ifndef LOCKSTEP_VERIFY_REPORT_PAGE_BLOCK_PLAN_H_
#define LOCKSTEP_VERIFY_REPORT_PAGE_BLOCK_PLAN_H_

#include <string>

#include "verify/report/block_plan.h"

namespace lockstep::verify {

// Rules for PlanFigure, with its legend.
extern const char* const kPlanFigureStyle;
// What the classes of tiles look like; `marked`: with the guilty ones.
std::string PlanLegend(bool marked);

std::string PlanPage(const PlanReport& report, const PlanView& view);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_PAGE_BLOCK_PLAN_H_
