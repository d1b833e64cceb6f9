#include <fmt/format.h>

#include "tools/tdslc/build_program.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

codegen::CompiledProgram build_program(const CommandLine& line, const codegen::Toolchain& toolchain) {
  Front front;
  compile_front(line, {}, front);
  const codegen::FamilyProgram families = lower(front);
  codegen::CompileRequest request;
  request.source = emitted(line, front, families, true);
  request.name = program_name(line.program);
  request.native = line.native || toolchain.native;
  request.use_cache = !line.no_cache;
  return codegen::compile_program(toolchain, request);
}

int build(const CommandLine& line) {
  if (!line.program_arguments.empty()) throw UsageError("build takes no program options: give them to the executable");
  const codegen::Toolchain toolchain = codegen::read_toolchain(codegen::find_prefix());
  const codegen::CompiledProgram program = build_program(line, toolchain);
  try {
    codegen::install_executable(program.path, line.output.empty() ? program_name(line.program) : line.output);
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
  return 0;
}

}  // namespace tdsl::tools
