#include "tools/tdslc/build_program.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/tdslc/commands.h"
#include "tools/tdslc/depfile.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

std::string executable_name(const CommandLine& line) {
  return line.output.empty() ? program_name(line.program) : line.output;
}

/// The number of compilers that may run at the same time: -j, else CI_JOBS, else the cores that this process may use.
int jobs_of(const CommandLine& line) {
  constexpr int kMost = 4;
  if (line.jobs > 0) return line.jobs;
  if (const char* const text = std::getenv("CI_JOBS"); text != nullptr && std::atoi(text) > 0)
    return std::min(std::atoi(text), kMost);
  cpu_set_t cores;
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::min(CPU_COUNT(&cores), kMost) : 1;
}

/// Program options for `run`; empty if invalid, which the executable reports.
std::optional<rt::AppOptions> run_options(const CommandLine& line, const ir::Program& program) {
  try {
    return rt::parse_options(declaration_of(program), line.program_arguments);
  } catch (const rt::RunError&) { return std::nullopt; }
}

/// Throws rt::RunError (usage) if an output, i.e. the executable or a file of its run, would overwrite an input.
void check_files(const CommandLine& line, const Front& front) {
  rt::RunFiles files = kept_files(front);
  if (!line.depfile.empty()) files.write_text("--depfile", line.depfile);
  if (line.command == Command::kBuild) return files.write("-o", executable_name(line));
  if (const std::optional<rt::AppOptions> options = run_options(line, front.graph)) files.add(*options);
}

}  // namespace

codegen::CompiledProgram build_program(const CommandLine& line, const codegen::Toolchain& toolchain,
                                       BuildTimes* times) {
  Front front;
  BuildTimes unused;
  BuildTimes& parts = times != nullptr ? *times : unused;
  const bool at_once = line.command != Command::kRun;
  const auto operations = [&] {
    try {
      const auto add = [&](std::string_view pass, double seconds) { parts.add(pass, seconds); };
      parts.time("front", [&] {
        compile_front(line, {.print = at_once, .after_pass = add}, front);
        check_files(line, front);
        return true;
      });
      return parts.time("lower", [&] { return lower(front, at_once); });
    } catch (const ProgramErrors&) {
      print_diagnostics(front);
      throw;
    }
  }();
  codegen::CompiledProgram program = compile_lowered(
      line, toolchain, front, operations, [&] { print_diagnostics(front); }, times);
  write_depfile(line, front, toolchain, executable_name(line));
  return program;
}

codegen::CompiledProgram compile_lowered(const CommandLine& line, const codegen::Toolchain& toolchain,
                                         const Front& front, const codegen::OperationProgram& operations,
                                         std::function<void()> before, BuildTimes* times) {
  BuildTimes unused;
  BuildTimes& parts = times != nullptr ? *times : unused;
  codegen::CompileRequest request;
  request.units =
      parts.time("emit", [&] { return emitted_units(line, front, operations, jobs_of(line), &parts.counts); });
  request.source = std::move(request.units.front());
  request.units.erase(request.units.begin());
  request.name = program_name(line.program);
  request.native = line.native || toolchain.native;
  request.use_cache = !line.no_cache;
  request.include_folder = include_folder(line, front);
  request.headers = front.headers;
  request.before = std::move(before);
  request.record = &parts.record();
  const codegen::CompiledProgram program =
      parts.time("cache", [&] { return codegen::compile_program(toolchain, request); });
  parts.cached = program.cached;
  return program;
}

int build(const CommandLine& line) {
  if (!line.program_arguments.empty()) throw UsageError("build takes no program options: give them to the executable");
  const codegen::Toolchain toolchain = codegen::read_toolchain(codegen::find_prefix());
  if (line.library) {
    if (!line.time_build.empty()) throw UsageError("--time-passes is for executables, not for --library");
    build_library(line, toolchain);
    return 0;
  }
  BuildTimes times;
  const codegen::CompiledProgram program = build_program(line, toolchain, &times);
  codegen::install_executable(program.path, executable_name(line));
  if (!line.time_build.empty()) fmt::print("{}", times.text(line.time_build == "json"));
  return 0;
}

}  // namespace tdsl::tools
