#include "tools/tdslc/explain/relations_plan.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/relations/imposed_relations.h"
#include "runtime/check.h"
#include "runtime/io/text_file.h"
#include "tools/tdslc/explain/plan_output.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/streams.h"

namespace tdsl::tools {

namespace {

constexpr std::string_view kOption = "--use-plan";

/// The argument of a program that names its plan file, and where the name begins in it; nothing if there is none.
std::optional<std::pair<std::size_t, std::size_t>> plan_argument(const std::vector<std::string>& arguments) {
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const std::string_view text = arguments[k];
    if (text == kOption && k + 1 < arguments.size()) return std::pair(k + 1, std::size_t{0});
    if (text.starts_with(kOption) && text.substr(kOption.size()).starts_with("="))
      return std::pair(k, kOption.size() + 1);
  }
  return std::nullopt;
}

/// The file of --use-plan, an option of `explain` and of programs; empty if there is none.
std::string plan_file_of(const CommandLine& line) {
  if (!line.use_plan.empty()) return line.use_plan;
  const auto argument = plan_argument(line.program_arguments);
  return argument ? line.program_arguments[argument->first].substr(argument->second) : "";
}

/// False for files that cannot be read, which is reported when they are.
bool has_relations(const CommandLine& line) {
  const std::string file = plan_file_of(line);
  if (file.empty()) return false;
  try {
    return codegen::is_relations(rt::read_text_file(file));
  } catch (const rt::RunError&) { return false; }
}

}  // namespace

bool is_about_relations(const CommandLine& line) {
  return line.stage == "algebra" || line.stage == "rules" || has_relations(line);
}

void translate_plan(const codegen::OperationProgram& operations, ReportRequest& request) {
  if (!request.plan.use || !codegen::is_relations(request.plan.use->text)) return;
  const plan::PlanFile file = *request.plan.use;
  codegen::Bodies bodies;
  const plan::Region region = codegen::survey_with_bodies(operations, request.walk, bodies);
  try {
    request.plan.use = codegen::plan_of_relations(region, bodies, file, request.plan.program, request.inputs.ranks);
  } catch (const std::runtime_error& error) {
    throw rt::RunError("--use-plan " + file.path + ": " + error.what(), rt::ExitCode::kUsage);
  }
}

std::optional<std::string> translated_plan(const CommandLine& line) {
  if (!has_relations(line)) return std::nullopt;
  Front front;
  compile_front(line, {.print = false}, front);
  const codegen::OperationProgram operations = lower(front, false);
  const ReportRequest request = request_of(line, front, operations, options_of(line, front.graph));
  codegen::Bodies bodies;
  const plan::Region region = codegen::survey_with_bodies(operations, request.walk, bodies);
  std::vector<std::string> warnings;
  (void)plan::plan_of_file(*request.plan.use, request.plan.program, region, request.inputs, warnings);
  return request.plan.use->text;
}

void replace_plan(std::vector<std::string>& arguments, const std::string& file) {
  if (const auto argument = plan_argument(arguments))
    arguments[argument->first].replace(argument->second, std::string::npos, file);
}

}  // namespace tdsl::tools
