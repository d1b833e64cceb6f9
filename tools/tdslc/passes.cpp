#include <fmt/format.h>

#include <set>

#include "codegen/loops/program_nests.h"
#include "codegen/nest/text.h"
#include "codegen/operations/text.h"
#include "ir/text/print.h"
#include "passes/pipeline.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

/// What `--dump-after` calls the step from the index graph to the operation program.
constexpr std::string_view kLower = "lower";

void list_passes() {
  for (const passes::Pass& p : passes::pipeline()) fmt::print("{:<24}{} (level {})\n", p.name, p.description, p.level);
}

/// The operation program and its nests.
void dump_lowered(Front& front) {
  const codegen::OperationProgram operations = lower(front);
  fmt::print("after {}:\n{}\n", kLower, codegen::print(operations));
  for (const nest::Nest& nest : codegen::nests_of(operations)) fmt::print("{}\n", nest::print(nest));
}

}  // namespace

int passes(const CommandLine& line) {
  if (line.program.empty()) {
    list_passes();
    return 0;
  }
  const std::set<std::string, std::less<>> dumps(line.dump_after.begin(), line.dump_after.end());
  for (const std::string& name : dumps) {
    if (name != "all" && name != kLower && !passes::is_pass(name))
      throw UsageError("there is no pass `" + name + "`; see `tdslc passes`");
  }
  Front front;
  compile_front(line, {true, false}, front);
  passes::PipelineOptions options = pipeline_options(line);
  options.after_pass = [&](const passes::Pass& pass, const ir::Program&, const ir::Program& after, double seconds) {
    if (line.time_passes || dumps.empty()) fmt::print("{:<24}{:8.3f} ms\n", pass.name, seconds * 1e3);
    if (dumps.contains("all") || dumps.contains(pass.name)) fmt::print("after {}:\n{}\n", pass.name, ir::print(after));
  };
  front.optimised = run_passes(front, options);
  for (const passes::Remark& r : front.context.remarks()) {
    const std::string place = r.range.known() ? front.sources.place(r.range) + ": " : "";
    fmt::print("{}{}: {}: {}\n", place, r.pass, r.decision == passes::Decision::kApplied ? "applied" : "not applied",
               r.reason);
  }
  add_pass_warnings(front);
  print_diagnostics(front);
  if (dumps.contains(kLower)) dump_lowered(front);
  return 0;
}

}  // namespace tdsl::tools
