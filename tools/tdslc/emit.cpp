#include <fmt/format.h>

#include "codegen/output_file.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

int emit(const CommandLine& line) {
  if (!line.project.empty()) throw UsageError("--project is not supported yet");
  Front front;
  compile_front(line, {}, front);
  keep_sources(front, {line.output});
  const std::string text = emitted(line, front, lower(front), line.line_directives);
  if (line.output.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  codegen::write_text(line.output, text);
  return 0;
}

}  // namespace tdsl::tools
