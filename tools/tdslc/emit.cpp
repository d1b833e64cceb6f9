#include <fmt/format.h>

#include <fstream>

#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

int emit(const CommandLine& line) {
  if (!line.project.empty()) throw UsageError("--project is not supported yet");
  Front front;
  compile_front(line, {}, front);
  const std::string text = emitted(line, front, lower(front), line.line_directives);
  if (line.output.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  std::ofstream out(line.output, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw UsageError("cannot write " + line.output);
  return 0;
}

}  // namespace tdsl::tools
