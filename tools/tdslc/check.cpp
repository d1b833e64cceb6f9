#include <fmt/format.h>

#include <set>
#include <tuple>

#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

/// `file:line:column: name: f64[n, m]` for every declared name, in source order. A function called with several types
/// has several lines.
void print_types(const Front& front, const std::vector<frontend::DeclaredName>& names) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::string>> lines;
  for (const frontend::DeclaredName& d : names) {
    lines.emplace(d.range.file, d.range.line, d.range.column,
                  fmt::format("{}: {}: {}", front.sources.place(d.range), d.name, d.type));
  }
  for (const auto& line : lines) fmt::print("{}\n", std::get<3>(line));
}

}  // namespace

int check(const CommandLine& line) {
  Front front;
  std::vector<frontend::DeclaredName> names;
  const auto declared = [&](const frontend::DeclaredName& d) { names.push_back(d); };
  try {
    compile_front(line, {!line.json, true, declared}, front);
    static_cast<void>(lower(front, !line.json));
  } catch (const ProgramErrors&) {
    if (line.json) fmt::print("{}", frontend::render_json(front.sink, front.sources));
    throw;
  }
  if (line.json) fmt::print("{}", frontend::render_json(front.sink, front.sources));
  if (line.types) print_types(front, names);
  return 0;
}

}  // namespace tdsl::tools
