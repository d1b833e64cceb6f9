#pragma once

#include "runtime/app/options/options.h"
#include "tools/tdslc/explain/plan_report.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

/// Parses the planning options with the executable's own parser.
[[nodiscard]] rt::AppOptions options_of(const CommandLine& line, const ir::Program& program);
/// The report request of `explain`; sizes come from the given input files.
[[nodiscard]] ReportRequest request_of(const CommandLine& line, const Front& front,
                                       const codegen::FamilyProgram& families, const rt::AppOptions& options);

}  // namespace tdsl::tools
