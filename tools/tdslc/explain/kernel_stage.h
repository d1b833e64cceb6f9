#pragma once

#include <string>

#include "tools/tdslc/explain/plan_report.h"

namespace tdsl::tools {

/// The emitted kernels used for these sizes: what each computes, including every operator of a nest, and its reads,
/// writes and flops per execution, summed over ranks. Then the program's variants with their predicted seconds.
[[nodiscard]] std::string kernels_text(const codegen::FamilyProgram& families, const ReportRequest& request);

}  // namespace tdsl::tools
