#include <fmt/format.h>

#include "codegen/describe.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

void print_types(const ir::Program& program) {
  const auto name = [&](ir::ValueId v) {
    const std::string& known = program.info(v).name;
    return known.empty() ? fmt::format("%{}", v.id) : known;
  };
  for (const ir::ValueInfo& v : program.values) {
    if (v.name.empty() || !v.range.known()) continue;
    std::string dims;
    for (const ir::Extent& e : v.type.shape) dims += (dims.empty() ? "" : ", ") + e.to_string(name);
    const std::string place = v.range.file < program.files.size() ? program.files[v.range.file] : program.name;
    fmt::print("{}:{}:{}: {}: {}{}\n", place, v.range.line, v.range.column, v.name, ir::name_of(v.type.scalar),
               dims.empty() ? "" : "[" + dims + "]");
  }
}

}  // namespace

int check(const CommandLine& line) {
  Front front;
  try {
    compile_front(line, {!line.json, true}, front);
    static_cast<void>(lower(front, !line.json));
  } catch (const ProgramErrors&) {
    if (line.json) fmt::print("{}", frontend::render_json(front.sink, front.sources));
    throw;
  }
  if (line.json) fmt::print("{}", frontend::render_json(front.sink, front.sources));
  if (line.types) print_types(front.graph);
  return 0;
}

}  // namespace tdsl::tools
