#include "passes/pipeline.h"

#include <fmt/format.h>

#include <set>

#include "ir/text/print.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

void list_passes() {
  for (const passes::Pass& p : passes::pipeline()) fmt::print("{:<24}{} (level {})\n", p.name, p.description, p.level);
}

}  // namespace

int passes(const CommandLine& line) {
  if (line.program.empty()) {
    list_passes();
    return 0;
  }
  const std::set<std::string, std::less<>> dumps(line.dump_after.begin(), line.dump_after.end());
  for (const std::string& name : dumps) {
    if (name != "all" && !passes::is_pass(name))
      throw UsageError("there is no pass `" + name + "`; see `tdslc passes`");
  }
  Front front;
  compile_front(line, {true, false}, front);
  passes::PipelineOptions options = pipeline_options(line);
  options.after_pass = [&](const passes::Pass& pass, const ir::Program&, const ir::Program& after, double seconds) {
    if (line.time_passes || dumps.empty()) fmt::print("{:<24}{:8.3f} ms\n", pass.name, seconds * 1e3);
    if (dumps.contains("all") || dumps.contains(pass.name)) fmt::print("after {}:\n{}\n", pass.name, ir::print(after));
  };
  static_cast<void>(run_passes(front, options));
  for (const passes::Remark& r : front.context.remarks()) {
    const std::string place = r.range.known() ? front.sources.place(r.range) + ": " : "";
    fmt::print("{}{}: {}: {}\n", place, r.pass, r.decision == passes::Decision::kApplied ? "applied" : "not applied",
               r.reason);
  }
  add_pass_warnings(front);
  print_diagnostics(front);
  return 0;
}

}  // namespace tdsl::tools
