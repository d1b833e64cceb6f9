#pragma once

#include <string>

#include "tools/tdslc/explain/plan_report.h"

namespace tdsl::tools {

/// The program as tensor relations (ir/algebra/README.md), then with the layouts of its chosen plan and the data each
/// operation moves.
[[nodiscard]] std::string algebra_text(const codegen::FamilyProgram& families, const ReportRequest& request);

}  // namespace tdsl::tools
