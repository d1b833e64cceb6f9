#pragma once

#include <memory>
#include <string>

#include "codegen/relations/relations.h"
#include "tools/tdslc/explain/plan_report.h"

namespace tdsl::tools {

/// The operations of a program with their computations, and the plan that the stages `algebra` and `rules` show.
struct AlgebraPlan {
  plan::Region region;
  codegen::Bodies bodies;
  std::shared_ptr<const plan::PlanValue> plan;  ///< null: there is none of the whole program
  std::string schedule;                         ///< that made it
  std::string chosen;  ///< the chosen schedule, if that one plans operations individually; otherwise empty
};
[[nodiscard]] AlgebraPlan algebra_plan(const codegen::OperationProgram& operations, const ReportRequest& request);

/// Comments: the end of the region, opaque operations with their reasons, and padded dimensions.
[[nodiscard]] std::string notes_text(const codegen::Relations& relations, const plan::Region& region);

}  // namespace tdsl::tools
