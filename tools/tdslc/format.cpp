#include "frontend/format/format.h"

#include <fmt/format.h>

#include <iostream>
#include <sstream>

#include "tools/build/output_file.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

std::string read_standard_input() {
  std::stringstream text;
  text << std::cin.rdbuf();
  return text.str();
}

}  // namespace

int format(const CommandLine& line) {
  bool errors = false;
  bool changes = false;
  for (const std::string& path : line.files) {
    Front front;
    const bool is_stream = path == "-";
    const std::string text = is_stream ? read_standard_input() : read_program(path);
    const std::uint32_t file = front.sources.add(is_stream ? "<stdin>" : path, text);
    const std::optional<std::string> result = frontend::format(front.sources, file, front.sink);
    print_diagnostics(front);
    if (!result) {
      errors = true;
    } else if (line.check_only) {
      if (*result != text) fmt::print("{}\n", is_stream ? "<stdin>" : path);
      changes = changes || *result != text;
    } else if (is_stream) {
      fmt::print("{}", *result);
    } else if (*result != text) {
      codegen::write_text(path, *result);
    }
  }
  return errors || changes ? 1 : 0;
}

}  // namespace tdsl::tools
