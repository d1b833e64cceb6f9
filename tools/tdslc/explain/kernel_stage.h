#pragma once

#include <string>

#include "tools/tdslc/explain/plan_report.h"

namespace tdsl::tools {

/// The emitted kernels that run with these sizes: what each computes, and of a nest every operator; what it reads,
/// writes and computes, in bytes and floating-point operations of one run of the operation, all ranks together. Then
/// the program's forms with the seconds predicted of each.
[[nodiscard]] std::string kernels_text(const codegen::FamilyProgram& families, const ReportRequest& request);

}  // namespace tdsl::tools
