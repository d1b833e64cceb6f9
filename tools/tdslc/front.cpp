#include "tools/tdslc/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codegen/emit.h"
#include "codegen/toolchain.h"
#include "frontend/frontend.h"
#include "passes/pipeline.h"

namespace tdsl::tools {

namespace {

std::string read_program(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw UsageError(fmt::format("cannot read {}: it is a directory", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::stringstream text;
  text << in.rdbuf();
  if (in.bad()) throw UsageError(fmt::format("cannot read {}", path));
  return text.str();
}

passes::PipelineOptions pipeline_options(const CommandLine& line) {
  passes::PipelineOptions options;
  options.level = line.level;
  for (const std::string& name : line.disabled_passes) {
    if (!passes::is_pass(name)) {
      std::vector<std::string> names;
      for (const passes::Pass& p : passes::pipeline()) names.emplace_back(p.name);
      throw UsageError(fmt::format("there is no pass '{}'{}", name, frontend::did_you_mean(name, names)));
    }
    options.disabled.insert(name);
  }
  return options;
}

}  // namespace

std::string program_name(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  if (name.ends_with(".tdsl")) name.resize(name.size() - 5);
  return name;
}

void compile_front(const CommandLine& line, const FrontOptions& options, Front& front) {
  const std::uint32_t file = front.sources.add(line.program, read_program(line.program));
  frontend::CompileOptions compile;
  compile.program_name = program_name(line.program);
  compile.library_directory = codegen::find_prefix() + "/share/tdsl/stdlib";
  std::optional<ir::Program> graph = frontend::compile(front.sources, file, front.sink, compile);
  if (options.warnings || front.sink.has_errors()) {
    fmt::print(stderr, "{}", frontend::render_all(front.sink, front.sources, {frontend::wants_colour(2)}));
  }
  if (!graph || front.sink.has_errors()) throw ProgramErrors{};
  front.graph = std::move(*graph);
  front.optimised = front.graph;
  if (!options.run_passes) return;
  front.optimised = passes::run_pipeline(front.graph, pipeline_options(line), front.context);
  if (!options.warnings) return;
  for (const passes::PassWarning& w : front.context.warnings()) print_message(front.sources, w.range, "warning", w.message, w.id);
}

codegen::FamilyProgram lower(const Front& front, bool warnings) {
  try {
    codegen::FamilyProgram families = codegen::lower(front.optimised);
    for (const codegen::FamilyWarning& w : families.warnings) {
      if (warnings) print_message(front.sources, w.range, "warning", w.message, w.id);
    }
    return families;
  } catch (const codegen::NotSupported& e) {
    print_message(front.sources, e.range(), "error", e.what(), "not-supported");
    throw ProgramErrors{};
  }
}

void print_message(const frontend::SourceManager& sources, const ir::SourceRange& range, std::string_view severity,
                   const std::string& message, const std::string& id) {
  const std::string place = range.known() ? sources.place(range) + ": " : "";
  fmt::print(stderr, "{}{}: {} [{}]\n", place, severity, message, id);
  if (!range.known()) return;
  const std::string_view text = sources.line(range.file, range.line);
  std::string caret;
  for (std::uint32_t c = 1; c < range.column; ++c) caret += c - 1 < text.size() && text[c - 1] == '\t' ? '\t' : ' ';
  const bool one_line = range.end_line == range.line && range.end_column > range.column;
  caret += '^';
  if (one_line) caret.append(range.end_column - range.column - 1, '~');
  fmt::print(stderr, "  {}\n  {}\n", text, caret);
}

std::string emitted(const CommandLine& line, const Front& front, const codegen::FamilyProgram& families, bool line_directives) {
  codegen::EmitOptions options;
  options.source_line = [&](std::uint32_t file, std::uint32_t number) {
    return file < front.sources.file_count() ? std::string(front.sources.line(file, number)) : std::string();
  };
  options.version = std::string("tdslc ") + TDSL_VERSION;
  options.line_directives = line_directives;
  options.output_name = program_name(line.program) + ".cpp";
  return codegen::emit(families, options);
}

std::string human_count(double count) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t unit = 0;
  while (count >= 1000 && unit + 1 < std::size(kUnits)) {
    count /= 1000;
    ++unit;
  }
  if (unit == 0 && count == static_cast<double>(static_cast<std::int64_t>(count))) return fmt::format("{}", static_cast<std::int64_t>(count));
  return fmt::format("{:.3g}{}{}", count, unit == 0 ? "" : " ", kUnits[unit]);
}

std::string human_bytes(double bytes) {
  const std::string count = human_count(bytes);
  return count.find(' ') == std::string::npos ? count + " B" : count + "B";
}

}  // namespace tdsl::tools
