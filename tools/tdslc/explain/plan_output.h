#pragma once

#include <string>

#include "tools/tdslc/command_line.h"
#include "tools/tdslc/explain/plan_report.h"
#include "tools/tdslc/front.h"

// What `explain` prints of a report: text, JSON, and a graph for Graphviz.

namespace tdsl::tools {

[[nodiscard]] std::string text_of(const PlanReport& report, const CommandLine& line, const Front& front);
[[nodiscard]] std::string json_of(const PlanReport& report, const Front& front);
/// Sites and what they read, in Graphviz's language; what is read from a kept copy is dashed.
[[nodiscard]] std::string dot_of(const PlanReport& report, const Front& front);

}  // namespace tdsl::tools
