#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/tdslc/command_line.h"
#include "tools/tdslc/explain/plan_report.h"

namespace tdsl::tools {

/// True if the command shows the program as tensor relations, or --use-plan names a file of them. Such commands compile
/// the program with one operation per named expression: without the passes that merge or split them.
[[nodiscard]] bool is_about_relations(const CommandLine& line);

/// Translates the plan of the request if it is one of tensor relations (codegen/relations/imposed_relations.h). Throws
/// rt::RunError (usage) with the file's line.
void translate_plan(const codegen::OperationProgram& operations, ReportRequest& request);

/// For `run`: the text of the plan that the executable takes in place of a file of tensor relations, which fits the
/// program; nothing for other files.
[[nodiscard]] std::optional<std::string> translated_plan(const CommandLine& line);

/// The arguments with another file for --use-plan.
void replace_plan(std::vector<std::string>& arguments, const std::string& file);

}  // namespace tdsl::tools
