#pragma once

#include <string>

#include "runtime/app/options/options.h"
#include "tools/tdslc/command_line.h"
#include "tools/tdslc/explain/plan_report.h"
#include "tools/tdslc/front.h"

// Output formats of `explain`: text, JSON, and Graphviz.

namespace tdsl::tools {

/// Parses the planning options with the executable's own parser.
[[nodiscard]] rt::AppOptions options_of(const CommandLine& line, const ir::Program& program);
/// The report request of `explain`; sizes come from the given input files.
[[nodiscard]] ReportRequest request_of(const CommandLine& line, const Front& front,
                                       const codegen::OperationProgram& operations, const rt::AppOptions& options);

[[nodiscard]] std::string text_of(const PlanReport& report, const CommandLine& line, const Front& front);
[[nodiscard]] std::string json_of(const PlanReport& report, const Front& front);
/// Sites and their operands as a Graphviz graph; reads of retained copies are dashed.
[[nodiscard]] std::string dot_of(const PlanReport& report, const Front& front);

/// The program as tensor relations (ir/algebra/README.md), then with the layouts of its chosen plan and the data each
/// operation moves.
[[nodiscard]] std::string algebra_text(const codegen::OperationProgram& operations, const ReportRequest& request);

/// The derivation of a plan by the rules of the tensor relational algebra: the program's relations, their compilation
/// by Table 1 with the inputs as the chosen plan places them, each applied rule, and the cheapest plan they reach.
[[nodiscard]] std::string rules_text(const codegen::OperationProgram& operations, const ReportRequest& request);

/// The emitted kernels used for these sizes: what each computes, including every operator of a nest, and its reads,
/// writes and flops per execution, summed over ranks. Then the program's variants with their predicted seconds.
[[nodiscard]] std::string kernels_text(const codegen::OperationProgram& operations, const ReportRequest& request);

}  // namespace tdsl::tools
