#pragma once

#include "runtime/app/options/options.h"
#include "tools/tdslc/explain/plan_report.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

/// The planning options as the executable's own: one parser for both.
[[nodiscard]] rt::AppOptions options_of(const CommandLine& line, const ir::Program& program);
/// What `explain` is asked; sizes are those of the input files given.
[[nodiscard]] ReportRequest request_of(const CommandLine& line, const Front& front,
                                       const codegen::FamilyProgram& families, const rt::AppOptions& options);

}  // namespace tdsl::tools
