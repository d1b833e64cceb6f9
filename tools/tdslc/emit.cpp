#include <fmt/format.h>

#include "tools/build/output_file.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/project.h"

namespace tdsl::tools {

int emit(const CommandLine& line) {
  Front front;
  compile_front(line, {}, front);
  rt::RunFiles files = kept_files(front);
  if (!line.output.empty()) files.write_text("-o", line.output);
  if (!line.project.empty() && !line.output.empty()) throw UsageError("emit: -o and --project exclude each other");
  const std::string text = emitted(line, front, lower(front), line.line_directives);
  if (!line.project.empty()) {
    write_project(line, front, text, codegen::read_toolchain(codegen::find_prefix()));
    return 0;
  }
  if (line.output.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  codegen::write_text(line.output, text);
  return 0;
}

}  // namespace tdsl::tools
