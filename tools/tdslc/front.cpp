#include "tools/tdslc/front.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "codegen/lower/program.h"
#include "frontend/allowed_warnings.h"
#include "ir/graph/check.h"
#include "passes/passes.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/open_stream.h"
#include "tools/build/toolchain.h"
#include "tools/tdslc/explain/relations_plan.h"
#include "tools/tdslc/streams.h"

namespace tdsl::tools {

passes::PipelineOptions pipeline_options(const CommandLine& line) {
  passes::PipelineOptions options;
  options.level = line.level;
  using enum passes::FusionPolicy;
  options.fusion = line.fusion == "all"             ? kAll
                   : line.fusion == "no-redundancy" ? kNoRedundancy
                   : line.fusion == "none"          ? kNone
                                                    : kCost;
  if (is_about_relations(line))
    options.disabled.insert({"compose_reads", "epilogues", "fuse_rows", "fusion", "merge_rows", "shared_maps"});
  for (const std::string& name : line.disabled_passes) {
    if (!passes::is_pass(name)) {
      std::vector<std::string> names;
      for (const passes::Pass& p : passes::pipeline()) names.emplace_back(p.name);
      throw UsageError(fmt::format("there is no pass `{}`{}", name, frontend::did_you_mean(name, names)));
    }
    if (passes::is_needed(name))
      throw UsageError(fmt::format("the pass `{}` cannot be left out: code generation needs its result", name));
    options.disabled.insert(name);
  }
  return options;
}

namespace {

/// Warnings of passes and lowering have their id as text.
frontend::DiagnosticId known_id(const std::string& text) {
  const auto id = frontend::id_named(text);
  TDSL_CHECK(id.has_value(), "the warning [" + text + "] stands in diagnostics.def");
  return *id;
}

/// Applies -Wno-ID. Throws UsageError if ID is not a warning.
void allow_by_options(const CommandLine& line, frontend::DiagnosticSink& sink) {
  constexpr std::string_view kNo = "no-";
  for (const std::string& option : line.warnings) {
    if (!option.starts_with(kNo)) throw UsageError(fmt::format("-W{}: warnings are left out by -Wno-ID", option));
    try {
      sink.allowed().everywhere(frontend::warning_named(std::string_view(option).substr(kNo.size())));
    } catch (const std::runtime_error& error) { throw UsageError(fmt::format("-W{}: {}", option, error.what())); }
  }
}

}  // namespace

std::string read_program(const std::string& path) {
  if (const auto objection = frontend::objection_to_name(path))
    throw UsageError("cannot read the program: " + *objection);
  struct stat status {};
  const bool found = ::stat(path.c_str(), &status) == 0;
  // Opening a pipe blocks until it has a writer, except for inherited streams.
  if (found && !S_ISREG(status.st_mode) && (S_ISDIR(status.st_mode) || !rt::is_open_stream(path)))
    throw UsageError(
        fmt::format("cannot read {}: it is {}, not a regular file", path, rt::file_kind_name(status.st_mode)));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::stringstream text;
  text << in.rdbuf();
  if (in.bad()) throw UsageError(fmt::format("cannot read {}", path));
  return text.str();
}

std::string program_name(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  if (name.ends_with(".tdsl")) name.resize(name.size() - 5);
  return name;
}

void compile_front(const CommandLine& line, const FrontOptions& options, Front& front) {
  allow_by_options(line, front.sink);
  const auto replaced = [&](const std::string& path) { return options.text ? options.text(path) : std::nullopt; };
  const auto text = replaced(line.program);
  const std::uint32_t file = front.sources.add(line.program, text ? *text : read_program(line.program));
  frontend::CompileOptions compile;
  compile.program_name = program_name(line.program);
  if (compile.program_name.find_first_not_of('.') == std::string::npos) {
    throw UsageError(fmt::format("{}: the program has no name; rename the file", line.program));
  }
  compile.library_directory = codegen::find_prefix() + "/share/tdsl/stdlib";
  compile.declared = options.declared;
  compile.replaced = replaced;
  compile.parsed = options.parsed;
  compile.foreign = [&](const ir::ForeignRef& f) { front.foreigns.push_back(f); };
  compile.read_header = header_reader_for(front);
  std::optional<ir::Program> graph = frontend::compile(front.sources, file, front.sink, compile);
  if (options.print) print_diagnostics(front);
  if (!graph || front.sink.has_errors()) throw ProgramErrors{};
  front.graph = std::move(*graph);
  front.optimised = front.graph;
  if (!options.run_passes) return;
  passes::PipelineOptions pipeline = pipeline_options(line);
  pipeline.verify_each = options.verify_each;
  if (options.after_pass) {
    pipeline.after_pass = [&](const passes::Pass& pass, const ir::Program&, const ir::Program&, double seconds) {
      options.after_pass(pass.name, seconds);
    };
  }
  front.optimised = run_passes(front, pipeline, options.print);
  add_pass_warnings(front);
  if (options.print) print_diagnostics(front);
}

namespace {

/// Throws ProgramErrors if a pass has failed.
void require_success(Front& front, bool print) {
  for (const passes::PassFailure& f : front.context.failures())
    front.sink.unsupported(frontend::DiagnosticId::kNotSupported, f.range, f.message, {{f.note_range, f.note}});
  if (!front.context.failed()) return;
  if (print) print_diagnostics(front);
  throw ProgramErrors{};
}

}  // namespace

ir::Program run_passes(Front& front, const passes::PipelineOptions& options, bool print) {
  ir::Program result = passes::run_pipeline(front.graph, options, front.context);
  require_success(front, print);
  return result;
}

ir::Program differentiated(Front& front) {
  const ir::Program result = passes::differentiate(front.graph, front.context);
  require_success(front, true);
  return passes::absence(result, front.context);
}

namespace {

/// Lines whose gather warnings are suppressed at run time: permitted by the program, or already reported.
void silence(const frontend::DiagnosticSink& sink, const codegen::Steps& steps, codegen::OperationProgram& operations) {
  using frontend::DiagnosticId;
  for (const codegen::Step& step : steps) {
    codegen::for_each_list(step, [&](const codegen::Steps& inner) { silence(sink, inner, operations); });
    if (!std::holds_alternative<codegen::GathersStep>(step.op) &&
        !std::holds_alternative<codegen::RoutineStep>(step.op))
      continue;
    const bool said = std::ranges::any_of(sink.diagnostics(), [&](const frontend::Diagnostic& d) {
      return d.id == DiagnosticId::kGathered && d.range.file == step.range.file && d.range.line == step.range.line;
    });
    if (said || sink.allowed().covers(DiagnosticId::kGathered, step.range))
      operations.silent.emplace(step.range.file, step.range.line);
  }
}

}  // namespace

codegen::OperationProgram lower(Front& front, bool print) {
  try {
    codegen::OperationProgram operations = codegen::lower(front.optimised);
    for (const codegen::RunWarning& w : operations.warnings) front.sink.warning(known_id(w.id), w.range, w.message);
    silence(front.sink, operations.steps, operations);
    if (print) print_diagnostics(front);
    return operations;
  } catch (const codegen::NotSupported& e) {
    front.sink.unsupported(frontend::DiagnosticId::kNotSupported, e.range(), e.what());
    if (print) print_diagnostics(front);
    throw ProgramErrors{};
  }
}

void add_pass_warnings(Front& front) {
  for (const passes::PassWarning& w : front.context.warnings()) front.sink.warning(known_id(w.id), w.range, w.message);
}

void print_diagnostics(Front& front) {
  frontend::DiagnosticSink fresh;
  if (front.shown == front.sink.diagnostics().size()) return;
  fresh.add_all(front.sink, front.shown);
  front.shown = front.sink.diagnostics().size();
  print_error(frontend::render_all(fresh, front.sources, {frontend::wants_colour(2)}));
}

namespace {

codegen::EmitOptions emit_options(const CommandLine& line, const Front& front) {
  codegen::EmitOptions options;
  options.source_line = [&](std::uint32_t file, std::uint32_t number) {
    return file < front.sources.file_count() ? std::string(front.sources.line(file, number)) : std::string();
  };
  options.version = std::string("tdslc ") + TDSL_VERSION;
  options.output_name = program_name(line.program) + ".cpp";
  return options;
}

}  // namespace

std::string emitted(const CommandLine& line, const Front& front, const codegen::OperationProgram& operations,
                    bool line_directives, const std::string& library, codegen::EmitCounts* counts) {
  codegen::EmitOptions options = emit_options(line, front);
  options.line_directives = line_directives;
  options.library = library;
  return codegen::emit(operations, options, counts);
}

std::vector<std::string> emitted_units(const CommandLine& line, const Front& front,
                                       const codegen::OperationProgram& operations, int jobs,
                                       codegen::EmitCounts* counts) {
  codegen::EmitOptions options = emit_options(line, front);
  options.line_directives = true;
  return codegen::emit_units(operations, options, jobs, counts);
}

rt::RunFiles kept_files(const Front& front) {
  rt::RunFiles files(rt::read_environment());
  for (std::uint32_t file = 0; file < front.sources.file_count(); ++file) {
    files.keep(front.sources.name(file), file == 0 ? "the program itself" : "a file that the program imports");
  }
  for (const std::string& header : front.headers) files.keep(header, "a header that the program takes functions from");
  return files;
}

std::string human_count(double count) {
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t unit = 0;
  while (count >= 1000 && unit + 1 < std::size(kUnits)) {
    count /= 1000;
    ++unit;
  }
  if (unit == 0 && count == static_cast<double>(static_cast<std::int64_t>(count)))
    return fmt::format("{}", static_cast<std::int64_t>(count));
  return fmt::format("{:.3g}{}{}", count, unit == 0 ? "" : " ", kUnits[unit]);
}

std::string human_bytes(double bytes) {
  const std::string count = human_count(bytes);
  return count.find(' ') == std::string::npos ? count + " B" : count + "B";
}

}  // namespace tdsl::tools
