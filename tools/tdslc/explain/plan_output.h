#pragma once

#include <string>

#include "tools/tdslc/command_line.h"
#include "tools/tdslc/explain/plan_report.h"
#include "tools/tdslc/front.h"

// Output formats of `explain`: text, JSON, and Graphviz.

namespace tdsl::tools {

[[nodiscard]] std::string text_of(const PlanReport& report, const CommandLine& line, const Front& front);
[[nodiscard]] std::string json_of(const PlanReport& report, const Front& front);
/// Sites and their operands as a Graphviz graph; reads of retained copies are dashed.
[[nodiscard]] std::string dot_of(const PlanReport& report, const Front& front);

}  // namespace tdsl::tools
